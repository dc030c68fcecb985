"""Functions that validate and score a file of predictions, the same for participants and organizers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.ids import split_id
from submission.metrics import Score, score
from submission.parser import parse
from submission.predictions import read_bytes, read_predictions
from submission.solution import SolutionRow, solution_of

SCORER = "rmse-points/1"
"""Name and version of the scoring; every change that alters a score gets a new number."""


@dataclass(frozen=True)
class SubmissionScore:
    """The score of a submission on the public part, the private part and all of the test sets."""

    public: Score
    private: Score
    overall: Score


def validate(competition: Competition, path: Path, part: str = "test") -> dict[str, float]:
    """Returns the predictions in a file for the sets of `part`, in the order of the ids.

    The file is a CSV, or an ``answer.txt`` in the format of the DataCV challenges; either may be the only
    member of a zip. ``private/`` is not needed.
    """
    return parse_submission(competition, read_bytes(path, competition.ids(part)), path, part)


def parse_submission(
    competition: Competition, data: bytes, path: Path, part: str = "test"
) -> dict[str, float]:
    """Returns the predictions in the bytes of the file `path`, as :func:`validate` does."""
    return parse(data, competition.ids(part), str(path))


def read_targets(competition: Competition, part: str) -> dict[str, float]:
    """Returns the targets of the "train" or "val" sets, {id: fraction}, in the order of the ids."""
    path = competition.file(f"{part}/targets.csv")
    try:
        return read_predictions(path, competition.ids(part), column="target")
    except InvalidSubmission as error:
        raise UnusableInput(f"{path} does not fit public/competition.json: {error.problems[0]}") from error


def score_submission(competition: Competition, path: Path) -> SubmissionScore:
    """Returns the score of a submission against the hidden labels; only the organizer can compute it.

    The hidden labels are read only after the file was found valid.
    """
    competition.require_private()
    predictions = validate(competition, path)
    return score_against(predictions, solution_of(competition))


def score_against(predictions: Mapping[str, float], solution: Sequence[SolutionRow]) -> SubmissionScore:
    """Returns the score of valid predictions, {id: fraction}, on a solution with public and private rows."""
    public = [row for row in solution if row.usage == "Public"]
    private = [row for row in solution if row.usage == "Private"]
    return SubmissionScore(*(score_rows(predictions, rows) for rows in (public, private, solution)))


def score_rows(predictions: Mapping[str, float], rows: Sequence[SolutionRow]) -> Score:
    """Returns the score of valid predictions, {id: fraction}, on one or more rows of a solution."""
    return score(predictions, {row.id: row.prediction for row in rows}, _subject)


def _subject(name: str) -> str:
    return split_id(name)[0]
