"""The commands of a participant: methods, and files of predictions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, echo

from submission.competition import Competition
from submission.errors import InvalidSubmission
from submission.scoring import validate as check_submission
from unseen.cli import options
from unseen.cli.options import Many

if TYPE_CHECKING:
    from baselines import Estimator


def methods(track: options.TrackName = "accuracy") -> None:
    """List the methods with their inputs and parameters.

    Example: unseen methods
    """
    from baselines.run.choose import listing
    from unseen.api.methods import EXPENSIVE, methods_of

    echo(listing(methods_of(track), EXPENSIVE))


def new_method(
    name: Annotated[str, Argument(metavar="NAME", help="A module name in lower case, such as my_method.")],
    track: options.TrackName = "accuracy",
    sklearn: Annotated[bool, Option("--sklearn", help="Write a scikit-learn pipeline instead.")] = False,
) -> None:
    """Write NAME.py, a complete method for you to change.

    Example: unseen new-method my_method
    """
    from baselines.run import user_method

    echo(user_method.new_method(name, Path.cwd(), track, sklearn))
    method = user_method.MODEL if sklearn else user_method.class_name(name)
    options.tell_next("check-method", f"{name}:{method}", *options.of_track(track))


def check_method(
    method: Annotated[str, Argument(metavar="module:Class|METHOD", help="A class of yours, or the kit's.")],
    settings: options.Changes = None,
    track: options.TrackName = "accuracy",
) -> None:
    """Check on artificial sets that a method keeps the contract.

    The exit code is 1 if it does not.

    Example: unseen check-method fd
    """
    from baselines.contract.conformance import check_method as check
    from baselines.run.choose import choose
    from unseen.api.methods import methods_of

    checks = check(choose([method], settings or [], methods_of(track), track)[method], track)
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
    called: options.Called = None,
    note: options.Note = "",
) -> None:
    """Fit methods and write predictions.

    Methods are fitted on the meta-train sets; the predictions are written to submissions/ and validation/.
    Without names, every method of the kit runs, except those that take long (`unseen methods` marks them).

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    competition, chosen = opened(folder, names, settings, network, called)

    from baselines.run.predict import predict as run
    from starter.competition.cluster import connected
    from starter.observing.cache import place_cache

    if cache:
        place_cache(folder, cache)
    with connected(cluster) as workers:
        written = run(competition, chosen, device, cluster=workers, note=note)
    for paths in written.values():
        echo("  ".join(map(str, paths.values())))
    if "val" in paths:
        options.tell_next("score", folder, paths["val"], "--val")
    else:
        options.tell_next("validate", folder, paths["test"])


def report(
    folder: options.Folder,
    names: options.Names = None,
    settings: options.Changes = None,
    network: options.Network = None,
    intervals: Annotated[bool, Option(help="Intervals also for slow methods.")] = False,
    device: options.Device = "cpu",
    called: options.Called = None,
    note: options.Note = "",
) -> None:
    """Fit methods and compare them on the validation sets.

    Writes report.html (tables and figures) and report.csv to DIR. Without names, every method of the kit
    runs, except those that take long.

    Example: unseen report contest constant atc fd
    """
    competition, chosen = opened(folder, names, settings, network, called)

    from baselines.report.page import write_report
    from unseen.api.methods import compared

    found = compared(competition, chosen, device, note, intervals=intervals)
    echo("\n".join(map(str, write_report(found, folder))))


def opened(
    folder: Path, names: Many, settings: Many, networks: Many, called: Many = None
) -> "tuple[Competition, dict[str, Estimator]]":
    """Returns the competition and the methods to run; prints those that are left out, with the reason."""
    competition = Competition.open(folder)

    from baselines.run.choose import choose_for
    from unseen.api.methods import EXPENSIVE, methods_of

    options.use_networks(networks)
    kit = methods_of(competition.track)
    chosen, left_out = choose_for(competition, names or [], settings or [], kit, EXPENSIVE, called or [])
    for reason in dict.fromkeys(left_out.values()):
        alike = ", ".join(name for name, other in left_out.items() if other == reason)
        echo(f"not run: {alike}: {reason}", err=True)
    return competition, chosen


def validate(folder: options.Folder, file: options.Predictions, as_json: options.AsJson = False) -> None:
    """Check a submission.

    Prints "valid", or every problem with its line number. The exit code is 1 if there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    competition, problems = Competition.open(folder), list[str]()
    try:
        check_submission(competition, file)
    except InvalidSubmission as error:
        if not as_json:
            raise
        problems = list(error.problems)
    echo(json.dumps({"valid": not problems, "problems": problems}) if as_json else "valid")
    if problems:
        raise Exit(1)
    if competition.private.exists() and not as_json:
        options.tell_next("score", folder, file, "--team", "NAME")
