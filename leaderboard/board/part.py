"""The rows of a part of the test sets, or of the validation sets, prepared for scoring many submissions.

The families of the test sets come from the organizer's record of the build.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leaderboard.board.statistics import Families
from submission.arrays import FloatArray, IntArray
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import read_head
from submission.ids import split_id
from submission.metrics import Score, score
from submission.scoring import noise_floor_of, read_targets
from submission.solution import SolutionRow, solution_of

_LARGEST = 1 << 30


def families_of(competition: Competition, rows: Sequence[SolutionRow]) -> Families:
    """Returns the families of rows of the solution (n,); a set that the record lacks is its own family.

    Raises:
        UnusableInput: ``private/build.json`` is damaged.
    """
    named = _recorded(competition)
    return Families.of([named.get(row.set, f"set {row.set}") for row in rows], [row.group for row in rows])


def _recorded(competition: Competition) -> dict[str, str]:
    """Returns the family of every test set in ``private/build.json``, by name; empty without that file."""
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
    """The rows that count in one part.

    Attributes:
        ids: Ids of the rows (n,).
        columns: Places of the rows among the ids of the test or validation sets (n,).
        targets: Targets (n,), fractions.
        families: Families of the rows.
        noise_floor: Noise floor in points, see :func:`submission.scoring.noise_floor_of`.
        further: The same part for each metric that does not rank.
    """

    ids: tuple[str, ...]
    columns: IntArray
    targets: FloatArray
    families: Families
    noise_floor: float
    further: tuple["Part", ...] = ()

    @classmethod
    def of(cls, competition: Competition, solution: Sequence[SolutionRow], usage: str) -> "Part":
        """Returns the rows of `solution` with the usage "Public" or "Private", for all metrics.

        Raises:
            UnusableInput: ``private/build.json`` is damaged.
        """
        others = (solution_of(competition, metric) for metric in competition.metrics[1:])
        further = tuple(cls.of_rows(competition, rows, usage) for rows in others)
        return replace(cls.of_rows(competition, solution, usage), further=further)

    @classmethod
    def of_rows(cls, competition: Competition, solution: Sequence[SolutionRow], usage: str) -> "Part":
        """Returns the rows of `solution` with this usage, without further metrics.

        Raises:
            UnusableInput: ``private/build.json`` is damaged.
        """
        rows = [row for row in solution if row.usage == usage]
        targets = {row.id: row.prediction for row in rows}
        return cls._of(competition, "test", targets, families_of(competition, rows))

    @classmethod
    def of_validation(cls, competition: Competition) -> "Part":
        """Returns the validation sets, each as a family, for all metrics.

        Raises:
            UnusableInput: there are no validation sets, or their targets cannot be read.
        """
        if not competition.sets("val"):
            raise UnusableInput(f"{competition.root} has no validation sets")
        targets, parts = read_targets(competition, "val"), []
        for names in competition.by_metric(targets).values():
            sets = Families.of([competition.set_of(name) for name in names], [""] * len(names))
            parts.append(cls._of(competition, "val", {name: targets[name] for name in names}, sets))
        return replace(parts[0], further=tuple(parts[1:]))

    @classmethod
    def _of(
        cls, competition: Competition, part: str, targets: Mapping[str, float], families: Families
    ) -> "Part":
        place = {name: column for column, name in enumerate(competition.ids(part))}
        return cls(
            ids=tuple(targets),
            columns=np.array([place[name] for name in targets]),
            targets=np.array(list(targets.values())),
            families=families,
            noise_floor=noise_floor_of(competition, part, targets),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def errors(self, predictions: FloatArray) -> FloatArray:
        """Returns the errors (n,) in points of a submission with these predictions (ids,)."""
        return 100 * (np.asarray(predictions)[self.columns] - self.targets)

    def score(self, predictions: FloatArray) -> Score:
        """Returns the score of a submission with these predictions (ids,)."""
        chosen = np.asarray(predictions)[self.columns].tolist()
        return score(dict(zip(self.ids, chosen, strict=True)), self._truth, self._subjects.__getitem__)

    def of_method(self, predictions: Mapping[str, float]) -> tuple[Score, FloatArray]:
        """Returns the score and the errors (n,), in points, of predictions by id."""
        values = np.array([predictions[name] for name in self.ids])
        found = score(predictions, self._truth, self._subjects.__getitem__)
        return found, 100 * (values - self.targets)

    @cached_property
    def _truth(self) -> dict[str, float]:
        return dict(zip(self.ids, self.targets.tolist(), strict=True))

    @cached_property
    def _subjects(self) -> dict[str, str]:
        return {name: split_id(name)[0] for name in self.ids}


def sampling_noise(competition: Competition, rows: Sequence[SolutionRow]) -> float:
    """Returns the noise floor of `rows` in points: see :func:`submission.scoring.noise_floor_of`."""
    return noise_floor_of(competition, "test", {row.id: row.prediction for row in rows})
