"""The commands that run the kit's methods, and those that list, check or verify them."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, echo

from submission import Competition, UnusableInput, options
from submission.options import Changes, Device, Folder, Many

if TYPE_CHECKING:
    from baselines import Estimator
    from starter.competition.cluster import Cluster

DEMO_SETTINGS: dict[str, dict[str, object]] = {
    "accuracy": {"ops_per_set": (1, 3), "referees": ("embedded",), "set_size": 300},
}
"""Settings of the demo that differ from the defaults of a build; small sets keep it below two minutes."""
DEMO_ORACLE = {"iterations": 2000, "batch_size": 1000}
"""Parameters of ORA-A in the demo: enough for 36,000 images, and trained in seconds."""


def demo(folder: options.DemoFolder = Path("unseen-demo"), track: options.TrackName = "accuracy") -> None:
    """Build, predict and score a small embedded competition.

    Example: unseen demo
    """
    from sklearn.base import clone

    from baselines.run.choose import impossible
    from baselines.run.predict import predict as run
    from leaderboard import publish, tables
    from oracle.api.kit import EXPENSIVE, methods_of
    from starter.build.build import build as make
    from starter.build.settings import settings_of

    competition = make(folder, settings_of(track, dict(DEMO_SETTINGS.get(track, {}))))
    kit = methods_of(track)
    left_out = {*EXPENSIVE, *impossible(competition, kit)} - {"ora-a"}
    chosen = {name: clone(method) for name, method in kit.items() if name not in left_out}
    if "ora-a" in chosen:
        chosen["ora-a"].set_params(**DEMO_ORACLE)
    run(competition, chosen)
    echo(f"{competition.describe()}\n\n{tables(competition)}")
    if "ora-a" in chosen:
        echo(f"In this demo ora-a was trained for {DEMO_ORACLE['iterations']:,} iterations only.")
    echo(f"\nThe leaderboard: {publish(competition).html.resolve()}")
    options.tell_next("new-method", "my_method", *options.of_track(track))


def methods(track: options.TrackName = "accuracy") -> None:
    """List the methods with their inputs and parameters.

    Example: unseen methods
    """
    from baselines.run.choose import listing
    from oracle.api.kit import EXPENSIVE, methods_of

    echo(listing(methods_of(track), EXPENSIVE))


def check_method(
    method: Annotated[
        str, Argument(metavar="module:Class|METHOD", help="A class of yours, or a method of the kit.")
    ],
    settings: Changes = None,
    track: options.TrackName = "accuracy",
) -> None:
    """Check on artificial sets that a method keeps the contract.

    The exit code is 1 if it does not.

    Example: unseen check-method fd
    """
    from baselines.contract.conformance import check_method as check
    from baselines.run.choose import choose
    from oracle.api.kit import methods_of

    checks = check(choose([method], settings or [], methods_of(track), track)[method], track)
    echo("\n".join(map(str, checks)))
    if any(result.problem for result in checks):
        raise Exit(1)
    options.tell_next("predict", "DIR", method, *options.repeated("--set", settings))


def predict(
    folder: Folder,
    names: options.Names = None,
    settings: Changes = None,
    network: options.Network = None,
    device: Device = "cpu",
    cluster: options.Workers = None,
    cache: options.CachePlace = "",
    called: options.Called = None,
    note: options.Note = "",
) -> None:
    """Fit methods and write predictions.

    Methods are fitted on the meta-train sets; the predictions are written to submissions/ and validation/.
    Without names, every method of the kit runs, except those that take long (`unseen methods` marks them).

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    competition, chosen = _opened(folder, names, settings, network, called)

    from baselines.run.predict import predict as run
    from starter.competition.cluster import connected
    from starter.observing.cache import keep_elsewhere

    if cache:
        keep_elsewhere(folder, cache)
    with connected(cluster) as workers:
        written = run(competition, chosen, device, cluster=workers, note=note)
    for paths in written.values():
        echo("  ".join(map(str, paths.values())))
    checked = ("score", "val", "--val") if "val" in paths else ("validate", "test")
    options.tell_next(checked[0], folder, paths[checked[1]], *checked[2:])


def report(
    folder: Folder,
    names: options.Names = None,
    settings: Changes = None,
    network: options.Network = None,
    intervals: Annotated[
        bool,
        Option(help="Compute the coverage of intervals also for methods that must be fitted many times."),
    ] = False,
    device: Device = "cpu",
    called: options.Called = None,
    note: options.Note = "",
) -> None:
    """Fit methods and compare them on the validation sets.

    Writes report.html (tables and figures) and report.csv to DIR. Without names, every method of the kit
    runs, except those that take long.

    Example: unseen report contest constant atc fd
    """
    competition, chosen = _opened(folder, names, settings, network, called)

    from baselines.report.html import write_report
    from baselines.report.report import run_report
    from baselines.run.log import log_run

    found = run_report(competition, chosen, device, intervals=intervals)
    for name, method in chosen.items():
        log_run(competition, name, method, found.rmse(name), note)
    html, table = write_report(found, folder)
    echo(f"{html}\n{table}")


def verify_entry(
    folder: Folder,
    file: options.Predictions,
    method: Annotated[
        str, Option(metavar="module:Class|METHOD", help="The team's method, or a method of the kit.")
    ],
    settings: Changes = None,
    tolerance: Annotated[
        float, Option(help="Largest difference between two predictions, as fractions, that counts as equal.")
    ] = 1e-4,
    network: options.Network = None,
    device: Device = "cpu",
) -> None:
    """Run a method again and compare with a submitted file.

    The exit code is 1 if they differ. The command runs the team's code: use a participant's copy (`unseen
    pack`), which has no hidden labels.

    Example: unseen verify-entry contest contest/submissions/atc.csv --method atc
    """
    from baselines.run.verify_entry import verify_entry as verify

    if ":" in method and (folder / "private").exists():
        echo(
            f"warning: {method} can read the labels in {folder / 'private'}: use a participant's copy",
            err=True,
        )
    competition, chosen = _opened(folder, [method], settings, network)
    found = verify(competition, file, method, chosen[method], tolerance, device)
    echo(found)
    if found.differing:
        raise Exit(1)


def _opened(
    folder: Path, names: Many, settings: Many, networks: Many, called: Many = None
) -> "tuple[Competition, dict[str, Estimator]]":
    """Returns the competition and the methods to run; prints those that are left out, with the reason."""
    competition = Competition.open(folder)

    from baselines.run.choose import choose_for
    from oracle.api.kit import EXPENSIVE, methods_of

    for spec in networks or ():
        import_module("starter.classifiers").use_network(spec)
    kit = methods_of(competition.track)
    chosen, left_out = choose_for(competition, names or [], settings or [], kit, EXPENSIVE, called or [])
    for reason in dict.fromkeys(left_out.values()):
        alike = ", ".join(name for name, other in left_out.items() if other == reason)
        echo(f"not run: {alike}: {reason}", err=True)
    return competition, chosen


def ablate(
    folder: Folder,
    table: Annotated[
        str,
        Option(
            help="SYP paper: 1 to 5 or fig10; OOD track: 1, 2, 4, fig3, ... of the Gscore paper, or near-far."
        ),
    ],
    settings: Changes = None,
    seeds: Annotated[int, Option(help="Number of seeds with which each oracle is trained.")] = 1,
    splits: Annotated[
        int,
        Option(
            min=0,
            max=100,
            help="OOD track, tables 1, 2, 4: number of additional random splits (the paper has 5).",
        ),
    ] = 0,
    subject: Annotated[Many, Option(help="OOD track: only this subject. Repeatable. [all]")] = None,
    device: Device = "cpu",
    cluster: options.Workers = None,
    cache: options.CachePlace = "",
) -> None:
    """Reproduce a table of the SYP or the Gscore paper.

    Tables of the SYP paper use the labelled validation sets. Tables of the Gscore paper, in the OOD track,
    use the meta-train mixes and leave each family out in turn. Writes a CSV and a PNG to DIR/ablation. SYP's
    tables train many oracles; after an interruption the same command continues. --set applies to every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100
    """
    from starter.competition.cluster import connected
    from starter.observing.cache import keep_elsewhere

    competition = Competition.open(folder)
    if cache:
        keep_elsewhere(folder, cache)
    with connected(cluster) as workers:
        make = PAPERS[competition.track]
        echo(make(competition, table, settings, seeds, splits, subject or [], device, workers))


def _syp_table(
    competition: Competition,
    table: str,
    settings: Many,
    seeds: int,
    splits: int,
    subjects: list[str],
    device: str,
    workers: "Cluster | None",
) -> str:
    """Returns the text of a table of the SYP paper, with the paths of its files."""
    from baselines import BASELINES
    from baselines.run.choose import choose
    from oracle import ORACLES
    from oracle.ablate import METHODS, ablate

    if subjects:
        raise UnusableInput("--subject is for the OOD track: this competition is of the accuracy track")
    if splits:
        raise UnusableInput(
            "--splits is for the Gscore paper's tables: this competition is of the accuracy track"
        )
    chosen = choose(METHODS, settings or [], {**BASELINES, **ORACLES})
    found = ablate(competition, table, chosen, seeds, device, cluster=workers)
    return f"{found}\n\n{found.table}\n{found.plot}"


def _gscore_table(
    competition: Competition,
    table: str,
    settings: Many,
    seeds: int,
    splits: int,
    subjects: list[str],
    device: str,
    workers: "Cluster | None",
) -> str:
    """Returns the text of a table of the Gscore paper, with the paths of its files."""
    from baselines.report.gscore import ablate, table_text

    if settings or seeds != 1:
        raise UnusableInput(
            "--set and --seeds are for the SYP paper's tables: this competition is of the OOD track"
        )
    frame, paths = ablate(competition, table, splits, device, subjects, workers)
    return "\n".join([table_text(table, frame), "", *map(str, paths)])


PAPERS = {"accuracy": _syp_table, "ood": _gscore_table}
"""The function that makes a paper's tables, by track."""
