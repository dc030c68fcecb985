"""The commands of a participant, and `demo`."""

from pathlib import Path
from typing import Annotated

from typer import Exit, Option, echo

from submission.files import require_writable
from submission.tracks import require_track
from unseen.cli import options
from unseen.cli.options import Contest, Predictions, Track, argument

DEMO_SETTINGS: dict[str, dict[str, object]] = {
    "accuracy": {"ops_per_set": (1, 3), "referees": ("embedded",), "set_size": 250, "val_sets": 8}
}
"""Settings of the demo that differ from the defaults of a build; small sets keep it short."""
DEMO_ORACLE = {"iterations": 1000, "batch_size": 500}
"""Parameters of ORA-A in the demo: enough for 30,000 images, and trained in seconds."""


def demo(
    folder: Annotated[Path, argument("DIR", "A new folder, or an earlier demo's.")] = Path("unseen-demo"),
    *,
    track: Track = "accuracy",
) -> None:
    """Build, predict and score a small embedded competition.

    Example: unseen demo
    """
    require_track(track)
    require_writable(folder)
    settings = DEMO_SETTINGS.get(track, {})
    echo(f"A competition from images that come with the kit, in {folder}: this takes about two minutes.")
    if "referees" in settings:
        echo("It has a referee: a second network, whose answers methods compare with the classifier's.")

    from sklearn.base import clone

    from baselines.run.predict import predict as run
    from leaderboard.publish import organizer_table, publish
    from starter.contest.build import build as make
    from starter.contest.cluster import use_one_thread
    from starter.contest.named_settings import settings_of
    from unseen.api.methods import DEFAULT, methods_of

    use_one_thread()
    chosen = {name: clone(methods_of(track)[name]) for name in DEFAULT[track]}
    reads = {field for method in chosen.values() for field in method.reads}
    competition = make(folder, settings_of(track, dict(settings)), reads=sorted(reads))
    if "ora-a" in chosen:
        chosen["ora-a"].set_params(**DEMO_ORACLE)
    echo(f"Fits {len(chosen)} methods, and predicts the sets with each.")
    run(competition, chosen)
    test_sets = f"on the {len(competition.sets('test'))} test sets, whose labels this demo has in private/"
    echo(f"{competition.describe()}\n\nThe methods {test_sets}:\n{organizer_table(competition)}")
    if "ora-a" in chosen:
        echo(f"In this demo ora-a was trained for {DEMO_ORACLE['iterations']:,} iterations only.")
    echo(f"\nThe leaderboard: {publish(competition).html.resolve()}")
    options.tell_next("new-method", "my_method", *options.of_track(track))


def methods(*, track: Track = "accuracy") -> None:
    """List the methods with their inputs and parameters.

    Example: unseen methods
    """
    from baselines.run.choose import listing
    from unseen.api.methods import methods_of, runs

    echo(listing(methods_of(track), runs(track)))


def new_method(
    name: Annotated[str, argument("NAME", "A module name in lower case, such as my_method.")],
    *,
    track: Track = "accuracy",
    sklearn: Annotated[bool, Option("--sklearn", help="Write a scikit-learn pipeline instead.")] = False,
) -> None:
    """Write NAME.py, a complete method for you to change.

    Example: unseen new-method my_method
    """
    from baselines.run.choose import class_name
    from unseen.templates import new_method as write

    echo(write(name, Path.cwd(), track, sklearn))
    method = "model" if sklearn else class_name(name)
    options.tell_next("check-method", f"{name}:{method}", *options.of_track(track))


def check_method(
    method: Annotated[str, argument("module:Class|METHOD", "A class of yours, or the kit's.")],
    *,
    changes: options.Changes = [],
    track: Track = "accuracy",
    debug: options.Debug = False,
) -> None:
    """Check on artificial sets that a method keeps the contract.

    The exit code is 1 if it does not.

    Example: unseen check-method fd
    """
    echo(f"Fits {method} to artificial sets, several times.", err=True)

    from baselines.contract.conformance import check_method as check
    from baselines.run.choose import choose
    from unseen.api.methods import methods_of

    violations = []
    for result in check(choose([method], changes, methods_of(track), track)[method], track):
        echo(result)
        if result.problem:
            violations.append(result.error)
    if violations:
        raise Exit(1) from next(filter(None, violations), None)
    options.tell_next("predict", "DIR", method, *options.repeated("--set", changes))


def predict(
    competition: Contest,
    names: options.Methods = [],
    *,
    everything: options.All = False,
    changes: options.Changes = [],
    device: options.Device = "cpu",
    cluster: options.Cluster = None,
    cache: options.Cache = "",
    called: options.Called = [],
    note: options.Note = "",
    debug: options.Debug = False,
    network: options.Network = [],
) -> None:
    """Fit methods and write predictions.

    Methods are fitted on the meta-train sets; the predictions are written to submissions/ and validation/.
    Without names, a choice of the kit's methods runs (`unseen methods` says which). `unseen runs` lists all
    runs.

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    require_writable(competition.out)
    chosen = options.chosen_for(competition, names, changes, called, everything, device)
    echo(f"Observes the sets of {competition.name} where they were not, then fits and predicts.", err=True)

    from baselines.run.predict import predict as run
    from leaderboard.standings import validation_report
    from starter.contest.cluster import connected
    from starter.observing.cache import place_cache
    from submission.scoring import validate as check

    if cache:
        place_cache(competition.root, cache)
    with connected(cluster) as workers:
        written = run(competition, chosen, device, cluster=workers, note=note)
    for paths in written.values():
        echo("  ".join(map(str, paths.values())))
    if "val" in paths:
        methods = {name: check(competition, files["val"], "val") for name, files in written.items()}
        echo(f"\n{validation_report(competition, methods)}")
    options.tell_next("validate", competition.root, paths["test"])


def report(
    competition: Contest,
    names: options.Methods = [],
    *,
    everything: options.All = False,
    changes: options.Changes = [],
    intervals: Annotated[bool, Option("--intervals", help="Intervals also for slow methods.")] = False,
    device: options.Device = "cpu",
    called: options.Called = [],
    note: options.Note = "",
    debug: options.Debug = False,
    network: options.Network = [],
) -> None:
    """Fit methods and compare them on the validation sets.

    Writes report.html (tables and figures) and report.csv to DIR. Without names, a choice of the kit's
    methods runs (`unseen methods` says which).

    Example: unseen report contest constant atc fd
    """
    require_writable(competition.out)
    chosen = options.chosen_for(competition, names, changes, called, everything, device)

    from baselines.report.page import write_report
    from leaderboard.standings import validation_report
    from unseen.api.methods import compared

    found = compared(competition, chosen, device, note, intervals=intervals)
    paths = write_report(found, competition.out)
    echo("\n".join([f"{validation_report(competition, found.predictions)}\n", *map(str, paths)]))


def runs(competition: Contest) -> None:
    """List your runs with their scores, the best first.

    These are the runs of `unseen predict` and `unseen report`, in Python of `evaluate` and `predict`;
    DIR/runs.csv has them in full. The score is the RMSE in points on all validation sets; `set` has the
    parameters of yours that are not the defaults, `wrote` the submission that the run left.

    Example: unseen runs contest
    """
    from submission.predictions import runs_table

    echo(runs_table(competition.out))


def validate(competition: Contest, file: Predictions) -> None:
    """Check a submission.

    Prints "valid" and the range, or problems with line numbers. Check a file before you hand it in: invalid
    ones may count. The exit code is 1 if there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    from submission.scoring import validate as check

    found = check(competition, file)
    low, high = min(found.values()), max(found.values())
    echo(f"valid: {len(found)} of {len(found)} predictions, {low:.2f} to {high:.2f}")
    if competition.private.exists():
        options.tell_next("score", competition.root, file, "--team", "NAME")
