"""The kit's own methods in a competition: what `unseen predict` wrote to ``submissions/``."""

from dataclasses import dataclass

from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.scoring import validate


@dataclass(frozen=True)
class Methods:
    """The valid files of predictions in ``submissions/``.

    Attributes:
        predictions: {method: {id: fraction}}; a method's name is its file's.
        warnings: one line for every file that was left out, saying why.
    """

    predictions: dict[str, dict[str, float]]
    warnings: tuple[str, ...]


def read_methods(competition: Competition) -> Methods:
    """Every method's predictions for the test sets, sorted by name; unusable files are left out."""
    predictions = {}
    warnings = []
    for path in sorted((competition.root / "submissions").glob("*.csv")):
        try:
            predictions[path.stem] = validate(competition, path)
        except InvalidSubmission as error:
            more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            warnings.append(f"left out {path}: {error.problems[0]}{more}")
        except UnusableInput as error:
            warnings.append(f"left out {error}")
    return Methods(predictions, tuple(warnings))
