"""The commands of a participant: methods, and files of predictions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit, echo

from submission.errors import InvalidSubmission
from unseen.cli.options import Many, chosen_for, of_track, repeated, tell_next

if TYPE_CHECKING:
    from submission.competition import Competition


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
    from baselines.run import user_method

    echo(user_method.new_method(name, Path.cwd(), track, sklearn))
    method = user_method.MODEL if sklearn else user_method.class_name(name)
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
        raise Exit(1)
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
    from starter.competition.cluster import connected
    from starter.observing.cache import place_cache

    if cache:
        place_cache(competition.root, cache)
    with connected(cluster) as workers:
        written = run(competition, chosen, device, cluster=workers, note=note)
    for paths in written.values():
        echo("  ".join(map(str, paths.values())))
    if "val" in paths:
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
    from unseen.api.methods import compared

    found = compared(competition, chosen, device, note, intervals=intervals)
    echo("\n".join(map(str, write_report(found, competition.root))))


def validate(competition: "Competition", file: Path, *, as_json: bool = False) -> None:
    """Check a submission.

    Prints "valid", or every problem with its line number. The exit code is 1 if there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    from submission.scoring import validate as check

    problems = list[str]()
    try:
        check(competition, file)
    except InvalidSubmission as error:
        if not as_json:
            raise
        problems = list(error.problems)
    echo(json.dumps({"valid": not problems, "problems": problems}) if as_json else "valid")
    if problems:
        raise Exit(1)
    if competition.private.exists() and not as_json:
        tell_next("score", competition.root, file, "--team", "NAME")
