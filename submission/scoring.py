"""Functions that validate and score a file of predictions, the same for participants and organizers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from submission.competition import DESCRIPTION, Competition
from submission.errors import UnusableInput
from submission.metrics import Score, score
from submission.parser import parse
from submission.predictions import read_predictions
from submission.solution import COUNTING, SolutionRow

SCORER = "rmse-points/1"
"""Name and version of the scoring; every change that alters a score gets a new number."""


def validate(competition: Competition, path: Path, part: str = "test") -> dict[str, float]:
    """Returns the predictions in a file for the sets of `part`, in the order of the ids."""
    if not path.exists() and (public := competition.public / path.name).is_file():
        raise UnusableInput(f"{path} is not there; did you mean {public}?")
    check_place(competition, path)
    return read_predictions(path, competition.ids(part))


def check_place(competition: Competition, path: Path) -> None:
    """Refuse a file in the folder of a competition with other test sets: their ids may be the same."""
    folder = next((each for each in path.resolve().parents if (each / DESCRIPTION).is_file()), None)
    others = Competition.open(folder).files if folder else competition.files
    tests = {name: known for name, known in competition.files.items() if name.startswith("test/")}
    if any(others.get(name) != known for name, known in tests.items()):
        raise UnusableInput(
            f"{path} lies in another competition's folder, {folder}, which has other test sets than "
            f"{competition.root}: name the folder that it was made for"
        )


def read_targets(competition: Competition, part: str) -> dict[str, float]:
    """Returns the targets of the "train" or "val" sets, {id: fraction}, in the order of the ids."""
    file = f"{part}/targets.csv"
    path = str(competition.public / file)
    return parse(competition.data(file), competition.ids(part), path, column="target")


def score_parts(predictions: Mapping[str, float], solution: Sequence[SolutionRow]) -> dict[str, float]:
    """Returns the RMSE in points of valid predictions, {id: fraction}, on the "public" and "private" rows."""
    return {
        usage.lower(): score_rows(predictions, [row for row in solution if row.usage == usage]).rmse
        for usage in COUNTING
    }


def score_rows(predictions: Mapping[str, float], rows: Sequence[SolutionRow]) -> Score:
    """Returns the score of valid predictions, {id: fraction}, on one or more rows of a solution."""
    return score(predictions, {row.id: row.prediction for row in rows})
