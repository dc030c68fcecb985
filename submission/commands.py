"""The commands `validate` and `pack`."""

import json
from pathlib import Path
from typing import Annotated

from typer import Exit, Option, echo

import submission
from submission import Competition, InvalidSubmission
from submission.options import AsJson, Folder, Predictions, Quiet, tell_next


def validate(folder: Folder, file: Predictions, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Check a submission.

    Prints "valid", or every problem with its line number. The exit code is 1 if there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    competition = Competition.open(folder)
    if as_json:
        problems = _problems(competition, file)
        echo(json.dumps({"valid": not problems, "problems": problems}))
        raise Exit(bool(problems))
    submission.validate(competition, file)
    echo("valid")
    if competition.private.exists() and not quiet:
        tell_next("score", folder, file, "--team", "NAME")


def _problems(competition: Competition, file: Path) -> list[str]:
    """Returns every problem of a submission; an empty list if it is valid."""
    try:
        submission.validate(competition, file)
    except InvalidSubmission as error:
        return list(error.problems)
    return []


def pack(
    folder: Folder,
    out: Annotated[Path | None, Option(help="The zip to write. [DIR.zip beside DIR]")] = None,
) -> None:
    """Make the archive for participants from public/ alone.

    Example: unseen pack contest
    """
    competition = Competition.open(folder)
    echo(submission.pack(competition, out or Path(f"{folder.resolve()}.zip")))
    if competition.private.exists():
        tell_next("score", folder, "FILE", "--team", "NAME")
