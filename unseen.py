"""The command line: where every command stands, the kit's methods, and what needs them all.

A command is imported when it is called or its own help is asked for: a scoring host loads next to nothing.
"""

import os
from datetime import timezone
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, echo

from submission import Competition, UnusableInput, options
from submission.command_line import command_line
from submission.exits import run as run_to_exit

if TYPE_CHECKING:
    from baselines import Estimator

COMMANDS = {
    "demo": ("unseen", "Build, predict and score a small embedded competition."),
    "build": ("starter.build.commands", "Build a competition, or finish an interrupted build."),
    "train": ("starter.build.commands", "Train a classifier for build's --classifier."),
    "show": ("starter.competition.commands", "Draw sets, and the distribution of accuracies, as PNGs."),
    "materialize": ("starter.competition.commands", "Write sets as files; run again to go on."),
    "methods": ("unseen", "List the methods, what they read, their parameters."),
    "new-method": ("baselines.run.commands", "Write NAME.py, a method of your own that runs as it is."),
    "check-method": ("unseen", "Check that a method keeps the contract, on made-up sets."),
    "predict": ("unseen", "Fit methods and write predictions."),
    "report": ("unseen", "Fit methods and compare them on the validation sets."),
    "ablate": ("oracle.commands", "Reproduce a table of the SYP or the Gscore paper."),
    "validate": ("submission.commands", "Check a submission."),
    "score": ("leaderboard.commands", "Score predictions: --val, or a team's (organizers)."),
    "select": ("leaderboard.commands", "Choose a team's submissions that count (organizers)."),
    "history": ("leaderboard.commands", "List every submission with its scores (organizers)."),
    "leaderboard": ("leaderboard.commands", "Write leaderboard.csv, .html and .md."),
    "rescore": ("leaderboard.commands", "Correct labels or void test sets (organizers)."),
    "verify": ("leaderboard.commands", "Check that the ledger is what it was (organizers)."),
    "backup": ("leaderboard.commands", "Write all that only the organizer has to one file."),
    "verify-entry": ("unseen", "Run a method again and compare with a submitted file."),
    "audit": ("unseen", "List what could reveal a hidden label."),
    "pack": ("submission.commands", "Make the participants' archive from public/ alone."),
    "export": ("unseen", "Write the competition for another platform."),
    "classes similarity": ("starter.meaning.commands", "Assign by the distance to the nearest ID class."),
    "classes pruning": ("starter.meaning.commands", "Drop the classes that an ID class may be taken for."),
    "classes halves": ("starter.meaning.commands", "Draw validation and test halves from a class manifest."),
    "classes graph": ("starter.studies.commands", "Draw what a manifest's classes are taken for."),
    "shift encoder": ("starter.encoders.commands", "Train a small encoder of photographs for shift laid."),
    "shift laid": ("starter.studies.commands", "Part an encoder's features into meaning and style."),
    "shift measure": ("starter.studies.commands", "Measure each image's shift in meaning and in style."),
    "shift grid": ("starter.studies.commands", "Show how OOD detectors do as shifts grow."),
    "shift generate": ("starter.synis.commands", "Generate images whose shift grows step by step (Syn-IS)."),
    "detectors failure": ("starter.studies.commands", "Tell whether detectors find new classes or errors."),
    "detectors sanity": ("starter.studies.commands", "Run OOD detectors on random networks."),
}
"""In the order of the work: a command, the module of its function, that function's first line."""
GROUPS = {
    "classes": "Assign classes to ID or OOD by meaning, with WordNet.",
    "shift": "Part shifts in meaning from shifts in style.",
    "detectors": "Tell what OOD detectors detect.",
}
"""What commands of two words begin with, and what they are about."""
PUBLIC = {
    "submission": ("Competition", "Score"),
    "starter.images.imageset": ("ImageSet",),
    "starter.sets.recipe": ("Recipe",),
    "starter.classifiers": ("Classifier",),
    "starter.observing": ("MetaTrain", "Observation", "Source"),
    "baselines": ("Estimator",),
}
"""The kit's public names beside METHODS, by where they stand; imported when they are asked for."""
EXPENSIVE = {
    "ora-a": "trains for minutes per classifier",
    "ora-b": "trains for half an hour per classifier",
    "syp": "trains for half an hour per classifier",
    "unseen-best": "takes some minutes per classifier",
    "projnorm": "trains a network on every set, for hours per classifier",
}
"""Methods that `predict` runs only by name, and why."""
DEMO_SETTINGS: dict[str, dict[str, object]] = {"accuracy": {"ops_per_set": (1, 3)}}
DEMO_ORACLE = {"iterations": 2000, "batch_size": 1000}
"""ORA-A in the demo: enough for 60,000 images, in seconds."""


def demo(folder: options.DemoFolder = Path("unseen-demo"), track: options.TrackName = "accuracy") -> None:
    """Build, predict and score a small embedded competition.

    Example: unseen demo
    """
    from sklearn.base import clone

    from baselines.run.choose import impossible
    from baselines.run.predict import predict as run
    from leaderboard import publish, tables
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
        echo(f"ora-a is cut to {DEMO_ORACLE['iterations']:,} iterations here.")
    echo(f"\nThe leaderboard: {publish(competition).html.resolve()}")
    options.tell_next("new-method", "my_method", *options.of_track(track))


def methods(track: options.TrackName = "accuracy") -> None:
    """List the methods, what they read, their parameters.

    Example: unseen methods
    """
    from baselines.run.choose import listing

    echo(listing(methods_of(track), EXPENSIVE))


def check_method(
    method: Annotated[str, Argument(metavar="module:Class|METHOD", help="A class of yours, or the kit's.")],
    settings: options.Changes = None,
    track: options.TrackName = "accuracy",
) -> None:
    """Check that a method keeps the contract, on made-up sets.

    Exit code 1 where it does not.

    Example: unseen check-method fd
    """
    from baselines.contract.conformance import check_method as check
    from baselines.run.choose import choose

    checks = check(choose([method], settings or [], methods_of(track))[method], track)
    echo("\n".join(map(str, checks)))
    if any(result.problem for result in checks):
        raise Exit(1)
    options.tell_next("predict", "DIR", method, *options.repeated("--set", settings))


def predict(
    folder: options.Folder,
    names: options.Names = None,
    settings: options.Changes = None,
    network: options.Network = None,
    device: options.Device = "cpu",
    cluster: options.Workers = None,
    cache: options.CachePlace = "",
) -> None:
    """Fit methods and write predictions.

    They are fitted on the meta-train sets; see submissions/ and validation/. Without names every method of
    the kit runs but those that take long (`unseen methods`).

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    competition, chosen = _opened(folder, names, settings, network)

    from baselines.run.predict import predict as run
    from starter.competition.cluster import connected
    from starter.observing.cache import keep_elsewhere

    if cache:
        keep_elsewhere(folder, cache)
    with connected(cluster) as workers:
        written = run(competition, chosen, device, cluster=workers)
    for paths in written.values():
        echo("  ".join(map(str, paths.values())))
    checked = ("score", "val", "--val") if "val" in paths else ("validate", "test")
    options.tell_next(checked[0], folder, paths[checked[1]], *checked[2:])


def report(
    folder: options.Folder,
    names: options.Names = None,
    settings: options.Changes = None,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Fit methods and compare them on the validation sets.

    Written: report.html (tables and figures) and report.csv in DIR. Without names every method of the kit
    runs but those that take long.

    Example: unseen report contest constant atc fd
    """
    competition, chosen = _opened(folder, names, settings, network)

    from baselines.report.html import write_report
    from baselines.report.report import run_report

    html, table = write_report(run_report(competition, chosen, device), folder)
    echo(f"{html}\n{table}")


def verify_entry(
    folder: options.Folder,
    file: options.Predictions,
    method: Annotated[str, Option(metavar="module:Class|METHOD", help="What the team hands over.")],
    settings: options.Changes = None,
    tolerance: Annotated[float, Option(help="Difference of fractions that counts as none.")] = 1e-4,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Run a method again and compare with a submitted file.

    Exit code 1 where they differ. Its code runs here: use a participant's copy (unseen pack), which has no
    labels.

    Example: unseen verify-entry contest contest/submissions/atc.csv --method atc
    """
    from baselines.run.verify_entry import verify_entry as verify

    if ":" in method and (folder / "private").exists():
        echo(f"warning: {method} can read {folder / 'private'}: verify on a participant's copy", err=True)
    competition, chosen = _opened(folder, [method], settings, network)
    found = verify(competition, file, method, chosen[method], tolerance, device)
    echo(found)
    if found.differing:
        raise Exit(1)


def audit(folder: options.Folder, network: options.Network = None, device: options.Device = "cpu") -> None:
    """List what could reveal a hidden label.

    Errors are to mend before anybody gets the competition; then there are warnings, and what was told about
    the public rows, and can be. Exit code 1 where there is an error.

    Example: unseen audit contest
    """
    from leaderboard.board.audit import audit_board
    from starter.classifiers import use_network
    from starter.competition.audit import audit as run

    for spec in network or ():
        use_network(spec)
    competition = Competition.open(folder)
    found, told = run(competition, device), audit_board(competition, options.now())
    echo("\n".join(map(str, [*found, told])))
    errors = sum(finding.grade == "error" for finding in found) + (not told.sound)
    echo(f"errors: {errors}, warnings: {len(found) + (not told.sound) - errors}")
    if errors:
        raise Exit(1)
    options.tell_next("pack", folder)


def export(
    platform: options.Platform,
    folder: options.Folder,
    out: Annotated[Path, Argument(metavar="OUT", help="A new folder; it will hold hidden labels.")],
    start: options.Start = None,
) -> None:
    """Write the competition for another platform.

    Ready to upload; OUT/README.md says how.

    Example: unseen export codabench contest contest-codabench
    """
    from leaderboard.export import export as write

    competition = Competition.open(folder)
    first = (start or options.now()).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=timezone.utc)
    write(competition, platform, out, first)
    if platform == "datacv":
        from starter.competition.materialize import materialize

        for part in filter(competition.sets, ("train", "val", "test")):
            materialize(competition, out / "participants", "datacv", part)
    echo(out / "README.md")


def _opened(
    folder: Path, names: options.Many, settings: options.Many, networks: options.Many
) -> "tuple[Competition, dict[str, Estimator]]":
    """Returns the competition and the methods to run; those left out are told."""
    competition = Competition.open(folder)

    from baselines.run.choose import choose_for

    for spec in networks or ():
        import_module("starter.classifiers").use_network(spec)
    kit = methods_of(competition.track)
    chosen, left_out = choose_for(competition, names or [], settings or [], kit, EXPENSIVE)
    for name, reason in left_out.items():
        echo(f"not run: {name}: {reason}", err=True)
    return competition, chosen


@cache
def methods_of(track: str) -> "dict[str, Estimator]":
    """Every method of the kit for a track, by name: prototypes, to be cloned."""
    from baselines import BASELINES, OOD_BASELINES
    from oracle import ORACLES

    kit = {"accuracy": {**BASELINES, **ORACLES}, "ood": OOD_BASELINES}
    if track not in kit:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(kit)}")
    return kit[track]


def __getattr__(name: str) -> object:
    """Returns METHODS, those of the accuracy track, or one of the PUBLIC names."""
    if name == "METHODS":
        return methods_of("accuracy")
    for module, names in PUBLIC.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


app = command_line(COMMANDS, GROUPS)


def main() -> None:
    """Run the command line, with threads of torch that sleep while they wait unless told otherwise.

    Spinning, they are several times slower as soon as anything else runs, and hardly faster if nothing does.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    run_to_exit(partial(app, prog_name="unseen"))


if __name__ == "__main__":
    main()
