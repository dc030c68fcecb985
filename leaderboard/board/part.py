"""The public or the private part of the solution, ready to score many submissions.

The families of the test sets, from the organizer's record of the build.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaderboard.board.statistics import Families
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import read_head
from submission.metrics import Score, score
from submission.scoring import noise_floor_of
from submission.solution import SolutionRow, solution_of

_LARGEST = 1 << 30


def families_of(competition: Competition, rows: Sequence[SolutionRow]) -> Families:
    """The families of rows of the solution (n,); a set that the record does not name is one of its own.

    Raises:
        UnusableInput: ``private/build.json`` is damaged.
    """
    named = _recorded(competition)
    return Families.of([named.get(row.set, f"set {row.set}") for row in rows], [row.group for row in rows])


def _recorded(competition: Competition) -> dict[str, str]:
    """The family of every test set in ``private/build.json``, by name; none where there is no such file."""
    path = competition.private / "build.json"
    if not path.exists():
        return {}
    try:
        document = json.loads(read_head(path, _LARGEST))
        return {json.loads(test["recipe"])["name"]: str(test["family"]) for test in document.get("test", ())}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableInput(
            f"{path} is damaged ({type(error).__name__}): restore it from a backup"
        ) from error


@dataclass(frozen=True)
class Part:
    """The rows of the solution with one usage.

    Attributes:
        rows: the solution's, n of them.
        columns: where each stands among the ids of the test sets (n,).
        targets: the hidden labels (n,), fractions.
        families: of the rows.
        noise_floor: in points, see :func:`submission.scoring.noise_floor_of`.
        further: the same part of the solution of each metric that does not rank.
    """

    rows: tuple[SolutionRow, ...]
    columns: NDArray[np.int64]
    targets: FloatArray
    families: Families
    noise_floor: float
    further: tuple["Part", ...] = ()

    @classmethod
    def of(cls, competition: Competition, solution: Sequence[SolutionRow], usage: str) -> "Part":
        """The rows of `solution` whose usage is "Public" or "Private", and those of metrics that do not rank.

        Raises:
            UnusableInput: ``private/build.json`` is damaged.
        """
        others = (solution_of(competition, metric) for metric in competition.metrics[1:])
        further = tuple(cls._of(competition, rows, usage) for rows in others)
        return replace(cls._of(competition, solution, usage), further=further)

    @classmethod
    def _of(cls, competition: Competition, solution: Sequence[SolutionRow], usage: str) -> "Part":
        rows = tuple(row for row in solution if row.usage == usage)
        place = {name: column for column, name in enumerate(competition.ids("test"))}
        return cls(
            rows=rows,
            columns=np.array([place[row.id] for row in rows]),
            targets=np.array([row.prediction for row in rows]),
            families=families_of(competition, rows),
            noise_floor=sampling_noise(competition, rows),
        )

    def errors(self, predictions: FloatArray) -> FloatArray:
        """The errors (n,) in points of a submission with these predictions (ids,)."""
        return 100 * (np.asarray(predictions)[self.columns] - self.targets)

    def score(self, predictions: FloatArray) -> Score:
        """The score of a submission with these predictions (ids,)."""
        chosen = np.asarray(predictions)[self.columns].tolist()
        named = {row.id: value for row, value in zip(self.rows, chosen, strict=True)}
        return score(named, self._truth, self._subjects.__getitem__)

    def of_method(self, predictions: Mapping[str, float]) -> tuple[Score, FloatArray]:
        """Score and errors (n,) of predictions by id."""
        values = np.array([predictions[row.id] for row in self.rows])
        found = score(predictions, self._truth, self._subjects.__getitem__)
        return found, 100 * (values - self.targets)

    @cached_property
    def _truth(self) -> dict[str, float]:
        return {row.id: row.prediction for row in self.rows}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        return {row.id: row.subject for row in self.rows}


def sampling_noise(competition: Competition, rows: Sequence[SolutionRow]) -> float:
    """The noise floor of `rows`, in points: see :func:`submission.scoring.noise_floor_of`."""
    return noise_floor_of(competition, "test", {row.id: row.prediction for row in rows})
