"""What a participant hands in, and what participants get."""

from pathlib import Path
from typing import Annotated

from typer import Option, echo

import submission
from submission import Competition
from submission.options import Folder, Predictions, tell_next


def validate(folder: Folder, file: Predictions) -> None:
    """Check a submission.

    "valid", or every problem with its line. Exit code 1 where there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    competition = Competition.open(folder)
    submission.validate(competition, file)
    echo("valid")
    if competition.private.exists():
        tell_next("score", folder, file, "--team", "NAME")


def pack(
    folder: Folder,
    out: Annotated[Path | None, Option(help="The zip to write. [DIR.zip beside DIR]")] = None,
) -> None:
    """Make the participants' archive from public/ alone.

    Example: unseen pack contest
    """
    competition = Competition.open(folder)
    echo(submission.pack(competition, out or Path(f"{folder.resolve()}.zip")))
    if competition.private.exists():
        tell_next("score", folder, "FILE", "--team", "NAME")
