"""The kit's own methods in a competition: what `unseen predict` wrote to ``submissions/``."""

import os
from dataclasses import dataclass
from pathlib import Path

from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.scoring import validate


@dataclass(frozen=True)
class Methods:
    """The valid files of predictions in ``submissions/``.

    Attributes:
        predictions: {method: {id: fraction}}; a method's name is its file's.
        warnings: one printable line for every file that was left out, saying why.
    """

    predictions: dict[str, dict[str, float]]
    warnings: tuple[str, ...]


def method_files(competition: Competition) -> list[Path]:
    """The files in ``submissions/``, valid or not, sorted by name."""
    return sorted((competition.root / "submissions").glob("*.csv"))


def read_methods(competition: Competition) -> Methods:
    """Every method's predictions for the test sets, sorted by name.

    Left out are files that are not valid or cannot be read, whose name cannot be shown, and links into
    ``private/``.
    """
    predictions = {}
    warnings = []
    private = competition.private.resolve()
    for path in method_files(competition):
        if not path.name.isprintable():
            warnings.append(f"left out {str(path)!r}: its name cannot be shown; rename it")
            continue
        if Path(os.path.realpath(path)).is_relative_to(private):  # resolve() fails on a loop
            warnings.append(f"left out {path}: it leads into {competition.private}")
            continue
        try:
            predictions[path.stem] = validate(competition, path)
        except InvalidSubmission as error:
            more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            warnings.append(f"left out {path}: {error.problems[0]}{more}")
        except UnusableInput as error:
            warnings.append(f"left out {error}")
    return Methods(predictions, tuple(warnings))
