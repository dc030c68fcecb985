"""The commands that run methods: of a participant, `demo`, and `ablate` for tables of papers."""

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit, echo

from unseen.cli.options import Many, chosen_for, of_track, repeated, tell_next

if TYPE_CHECKING:
    from submission.competition import Competition


DEMO_SETTINGS: dict[str, dict[str, object]] = {
    "accuracy": {"ops_per_set": (1, 3), "referees": ("embedded",), "set_size": 250, "val_sets": 8}
}
"""Settings of the demo that differ from the defaults of a build; small sets keep it short."""
DEMO_ORACLE = {"iterations": 1000, "batch_size": 500}
"""Parameters of ORA-A in the demo: enough for 30,000 images, and trained in seconds."""


def demo(folder: Path = Path("unseen-demo"), *, track: str = "accuracy") -> None:
    """Build, predict and score a small embedded competition.

    Example: unseen demo

    Options:
        folder (DIR): A new folder, or an earlier demo's.
    """
    from sklearn.base import clone

    from baselines.run.predict import predict as run
    from leaderboard.publish import organizer_table, publish
    from starter.contest.build import build as make
    from starter.contest.cluster import use_one_thread
    from starter.contest.named_settings import settings_of
    from submission.tracks import require_track
    from unseen.api.methods import DEFAULT, methods_of

    use_one_thread()
    chosen = {name: clone(methods_of(track)[name]) for name in DEFAULT[require_track(track)]}
    reads = {field for method in chosen.values() for field in method.reads}
    competition = make(folder, settings_of(track, dict(DEMO_SETTINGS.get(track, {}))), reads=sorted(reads))
    if "ora-a" in chosen:
        chosen["ora-a"].set_params(**DEMO_ORACLE)
    run(competition, chosen)
    echo(f"{competition.describe()}\n\n{organizer_table(competition)}")
    if "ora-a" in chosen:
        echo(f"In this demo ora-a was trained for {DEMO_ORACLE['iterations']:,} iterations only.")
    echo(f"\nThe leaderboard: {publish(competition).html.resolve()}")
    tell_next("new-method", "my_method", *of_track(track))


def methods(*, track: str = "accuracy") -> None:
    """List the methods with their inputs and parameters.

    Example: unseen methods
    """
    from baselines.run.choose import listing
    from unseen.api.methods import methods_of, runs

    echo(listing(methods_of(track), runs(track)))


def new_method(name: str, *, track: str = "accuracy", sklearn: bool = False) -> None:
    """Write NAME.py, a complete method for you to change.

    Example: unseen new-method my_method

    Options:
        name: A module name in lower case, such as my_method.
        sklearn: Write a scikit-learn pipeline instead.
    """
    from baselines.run.user_method import class_name
    from unseen.templates.new_method import MODEL
    from unseen.templates.new_method import new_method as write

    echo(write(name, Path.cwd(), track, sklearn))
    method = MODEL if sklearn else class_name(name)
    tell_next("check-method", f"{name}:{method}", *of_track(track))


def check_method(method: str, *, changes: Many = (), track: str = "accuracy") -> None:
    """Check on artificial sets that a method keeps the contract.

    The exit code is 1 if it does not.

    Example: unseen check-method fd

    Options:
        method (module:Class|METHOD): A class of yours, or the kit's.
    """
    from baselines.contract.conformance import check_method as check
    from baselines.run.choose import choose
    from unseen.api.methods import methods_of

    checks = check(choose([method], changes, methods_of(track), track)[method], track)
    echo("\n".join(map(str, checks)))
    if any(result.problem for result in checks):
        raise Exit(1) from next((result.error for result in checks if result.error), None)
    tell_next("predict", "DIR", method, *repeated("--set", changes))


def predict(
    competition: "Competition",
    names: Many = (),
    *,
    everything: bool = False,
    changes: Many = (),
    device: str = "cpu",
    cluster: str | None = None,
    cache: str = "",
    called: Many = (),
    note: str = "",
) -> None:
    """Fit methods and write predictions.

    Methods are fitted on the meta-train sets; the predictions are written to submissions/ and validation/.
    Without names, a choice of the kit's methods runs (`unseen methods` says which).

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    chosen = chosen_for(competition, names, changes, called, everything)

    from baselines.run.predict import predict as run
    from starter.contest.cluster import connected
    from starter.observing.cache import place_cache
    from submission.scoretable import validation_report
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
        tell_next("score", competition.root, paths["val"], "--val")
    else:
        tell_next("validate", competition.root, paths["test"])


def report(
    competition: "Competition",
    names: Many = (),
    *,
    everything: bool = False,
    changes: Many = (),
    intervals: bool = False,
    device: str = "cpu",
    called: Many = (),
    note: str = "",
) -> None:
    """Fit methods and compare them on the validation sets.

    Writes report.html (tables and figures) and report.csv to DIR. Without names, a choice of the kit's
    methods runs (`unseen methods` says which).

    Example: unseen report contest constant atc fd

    Options:
        intervals: Intervals also for slow methods.
    """
    chosen = chosen_for(competition, names, changes, called, everything)

    from baselines.report.page import write_report
    from submission.scoretable import validation_report
    from unseen.api.methods import compared

    found = compared(competition, chosen, device, note, intervals=intervals)
    paths = write_report(found, competition.out)
    echo("\n".join(map(str, (f"{validation_report(competition, found.predictions)}\n", *paths))))


def validate(competition: "Competition", file: Path) -> None:
    """Check a submission.

    Prints "valid" and the range, or problems with line numbers. The exit code is 1 if there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    from submission.scoring import validate as check

    found = check(competition, file)
    low, high = min(found.values()), max(found.values())
    echo(f"valid: {len(found)} of {len(found)} predictions, {low:.2f} to {high:.2f}")
    if competition.private.exists():
        tell_next("score", competition.root, file, "--team", "NAME")


def ablate(
    competition: "Competition",
    *,
    table: str,
    changes: Many = (),
    seeds: int = 1,
    splits: int = 0,
    device: str = "cpu",
    cluster: str | None = None,
    cache: str = "",
) -> None:
    """Reproduce a table of the SYP or the Gscore paper.

    Tables of the SYP paper use the labelled validation sets; those of the Gscore paper, in the OOD track, use
    the meta-train mixes and leave each family out in turn. Writes a CSV and a PNG to DIR/ablation. After an
    interruption the same command continues. --set applies to every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100

    Options:
        table: SYP: 1 to 5, fig10; Gscore: 1, 2, 4, fig3, ...; near-far.
        seeds: Number of seeds with which each oracle is trained.
        splits: OOD track: more random splits (paper: 5).
    """
    from starter.contest.cluster import connected
    from starter.observing.cache import place_cache

    if cache:
        place_cache(competition.root, cache)
    with connected(cluster) as workers:
        if competition.track == "accuracy":
            from baselines import BASELINES
            from baselines.run.choose import choose
            from oracle import ORACLES
            from oracle import ablate as syp_tables

            chosen = choose(syp_tables.METHODS, changes, {**BASELINES, **ORACLES})
            found, paths = syp_tables.ablate(competition, table, chosen, seeds, device, cluster=workers)
            lines = [syp_tables.table_text(found), "", *map(str, paths)]
        else:
            from baselines.report import gscore

            frame, paths = gscore.ablate(competition, table, splits, device, workers)
            lines = [gscore.table_text(table, frame), "", *map(str, paths)]
    echo("\n".join(lines))
