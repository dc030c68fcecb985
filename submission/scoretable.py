"""The table of scores: methods on sets, by group of sets, with intervals over families and the noise floor.

Sets of one family share their operation or their source, and two subjects see the same images, so that their
errors are alike. Intervals and tests therefore draw whole families, never single sets.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from submission.arrays import BoolArray, FloatArray, IntArray
from submission.competition import DEVIATIONS, RECORD, Competition
from submission.errors import UnusableInput
from submission.files import read_text
from submission.ids import split_id
from submission.metrics import INTERVAL_FAMILIES, Score, rmse_interval, score, skill
from submission.parser import parse
from submission.scoring import read_targets, validate
from submission.solution import SolutionRow
from submission.table import cell, text_table
from submission.tracks import TRACKS

CONSTANT = "constant"
"""Name of the method against which skill is measured: the mean of the meta-train sets for every set."""
ALL = "all"
"""Name of the group of all sets."""
GROUPS = {
    "seen": "sets with operations that the meta-train sets have too",
    "new": "sets with operations that no meta-train set has",
    "natural": "unaltered images of another collection than the source, of seven or more classes",
    "natural-few": "such images of fewer classes",
    "mostly-ood": "mixes with an IND share of at most .4",
    "balanced": "mixes with an IND share above .4, up to .6",
    "mostly-ind": "mixes with an IND share above .6",
}
"""Groups that a build makes, in the order of columns, and what is in them; others follow by name."""
NOISE_FLOOR = "noise floor"
BY_GROUP = "by group"
"""Title of the root mean square of the RMSEs of the groups, in which each group counts alike."""
LEGEND = (
    f"RMSE (with a 95 % interval from {INTERVAL_FAMILIES} families of sets on; up to 100: no bound) and "
    f"MAE in percentage points, lower is better; the {NOISE_FLOOR} is the sampling noise of the true values."
)
"""What stands below every table of scores."""
Methods = Mapping[str, Mapping[str, float]]
"""Predictions of methods, {method: {id: fraction}}."""
NOISE = {"val": "val/noise.csv", "test": DEVIATIONS}
"""Files with the standard deviations of the targets: "val" below ``public/``, "test" below the folder."""
VALIDATION_GROUPS = "val/groups.csv"
"""File below ``public/`` with the columns ``set,group,family`` of the validation sets."""


@dataclass(frozen=True)
class Families:
    """The families of the sets that are scored."""

    codes: IntArray  # number of the family of every set (n,), 0 to g - 1

    @classmethod
    def of(cls, families: Sequence[str], groups: Sequence[str]) -> "Families":
        """Returns the families of sets, given the names of each set's family and group (n,).

        A family in two groups counts as two.
        """
        pairs = list(zip(groups, families, strict=True))
        number = {pair: code for code, pair in enumerate(sorted(set(pairs)))}
        return cls(np.array([number[pair] for pair in pairs], dtype=np.int64))

    def __len__(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    def sums(self, values: FloatArray) -> FloatArray:
        """Returns the sums of `values` (..., n) over the sets of each family (..., g)."""
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(len(self)))
        return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))

    @property
    def sizes(self) -> FloatArray:
        """The number of sets of each family (g,)."""
        return np.bincount(self.codes, minlength=len(self)).astype(np.float64)

    def interval(self, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns the 95 % interval (...) of the RMSE of errors (..., n) in points: at most 100."""
        known = 1.0 if len(self) >= INTERVAL_FAMILIES else np.nan
        low, high = rmse_interval(self.sums(errors**2), self.sizes)
        return known * low, known * np.minimum(high, 100.0)


@dataclass(frozen=True)
class Targets:
    """The targets of n ids of test or validation sets, with all that a score of predictions needs."""

    ids: tuple[str, ...]
    values: FloatArray  # fractions (n,)
    variances: FloatArray  # by the sampling of images (n,); nan if unknown
    groups: tuple[str, ...]  # of the sets (n,)
    family_names: tuple[str, ...]  # of the sets (n,)

    @classmethod
    def of_solution(cls, competition: Competition, rows: Iterable[SolutionRow]) -> "Targets":
        """Returns the targets in rows of the solution; a set that the build did not record is a family."""
        rows = list(rows)
        families = _recorded_families(competition)
        kinds = [(row.group, families.get(row.set, f"set {row.set}")) for row in rows]
        return cls.of_values(competition, "test", {row.id: row.prediction for row in rows}, kinds)

    @classmethod
    def of_values(
        cls,
        competition: Competition,
        part: str,
        targets: Mapping[str, float],
        kinds: Sequence[tuple[str, str]],
    ) -> "Targets":
        """Returns the targets of sets of "val" or "test", {id: fraction}, of these groups and families."""
        return cls(
            ids=tuple(targets),
            values=np.array(list(targets.values()), dtype=np.float64),
            variances=_variances(competition, part, targets),
            groups=tuple(group for group, _ in kinds),
            family_names=tuple(family for _, family in kinds),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def subset(self, chosen: BoolArray) -> "Targets":
        """Returns the targets where `chosen` (n,) is True."""
        groups, families = (
            np.array(names, dtype=object)[chosen] for names in (self.groups, self.family_names)
        )
        ids = tuple(np.array(self.ids, dtype=object)[chosen])
        return Targets(ids, self.values[chosen], self.variances[chosen], tuple(groups), tuple(families))

    def of_ids(self, ids: Iterable[str]) -> "Targets":
        """Returns the targets of these ids, in the order of all."""
        chosen = frozenset(ids)
        return self.subset(np.array([name in chosen for name in self.ids], dtype=bool))

    def of_subject(self, subject: str) -> "Targets":
        """Returns the targets of one subject."""
        return self.of_ids(name for name in self.ids if split_id(name)[0] == subject)

    def by_metric(self, competition: Competition) -> dict[str, "Targets"]:
        """Returns the targets of each metric, the ranking one first."""
        return {metric: self.of_ids(ids) for metric, ids in competition.by_metric(self.ids).items()}

    def by_group(self) -> dict[str, "Targets"]:
        """Returns all targets, as `ALL`, and those of each group."""
        others = sorted(set(self.groups) - {ALL, *GROUPS})
        names = [*(name for name in GROUPS if name in self.groups), *others]
        return {ALL: self} | {name: self.subset(np.array(self.groups) == name) for name in names}

    @property
    def noise_floor(self) -> float:
        """The RMSE in points of sampling noise alone; nan if unknown.

        It is no lower bound, since methods see the same images (docs/decisions/0038-noise-floor.md).
        """
        return 100 * math.sqrt(np.mean(self.variances))

    @cached_property
    def families(self) -> Families:
        """The families by number."""
        return Families.of(self.family_names, self.groups)

    def score(self, predictions: Mapping[str, float]) -> Score:
        """Returns the score of predictions, {id: fraction}."""
        return score(predictions, self.by_id())

    def by_id(self) -> dict[str, float]:
        """Returns the targets, {id: fraction}."""
        return dict(zip(self.ids, self.values.tolist(), strict=True))

    def group_scores(self, predictions: Mapping[str, float]) -> dict[str, float]:
        """Returns `BY_GROUP` and the RMSE of each group, in points; {} with fewer than two groups."""
        _, *groups = self.by_group().items()
        found = {name: part.score(predictions).rmse for name, part in groups}
        pooled = {BY_GROUP: math.sqrt(np.mean(np.square([*found.values()])))} if len(found) > 1 else {}
        return pooled and {**pooled, **found}

    def errors(self, predictions: Mapping[str, float]) -> FloatArray:
        """Returns the errors (n,) of predictions, {id: fraction}, in points."""
        return 100 * (np.array([predictions[name] for name in self.ids]) - self.values)


def legend(groups: Iterable[str]) -> str:
    """Returns what stands below a table of scores that has columns for some of these groups."""
    present = set(groups)
    meanings = [f"{name}: {words}" for name, words in GROUPS.items() if name in present]
    columns = f"{BY_GROUP}: each group of sets counts alike; {'; '.join(meanings)}."
    return f"{LEGEND}\n{columns}" if len(present) > 1 and meanings else LEGEND


def validation_targets(
    competition: Competition, groups: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, Targets]:
    """Returns the targets of the validation sets for each metric, the ranking one first."""
    if not competition.sets("val"):
        raise UnusableInput(f"{competition.root} has no validation sets to score against")
    values = read_targets(competition, "val")
    known = validation_groups(competition) if groups is None else groups
    kinds = [known[split_id(name)[1]] for name in values]
    return Targets.of_values(competition, "val", values, kinds).by_metric(competition)


def validation_groups(competition: Competition) -> dict[str, tuple[str, str]]:
    """Returns group and family of each validation set, by its name, in the competition's order."""
    if VALIDATION_GROUPS not in competition.files:
        return {name: (ALL, name) for name in competition.sets("val")}
    rows = csv.DictReader(io.StringIO(competition.text(VALIDATION_GROUPS)))
    return {row["set"]: (row["group"], row["family"]) for row in rows}


def _recorded_families(competition: Competition) -> dict[str, str]:
    """Returns the family of every test set in ``private/build.json``, by name; empty without that file."""
    path = competition.root / RECORD
    if not path.exists():
        return {}
    tests = json.loads(read_text(path)).get("test", ())
    return {json.loads(test["recipe"])["name"]: test["family"] for test in tests}


def _variances(competition: Competition, part: str, targets: Mapping[str, float]) -> FloatArray:
    """Returns the sampling variances (n,) of targets; nan without the file of the test sets' deviations."""
    if not TRACKS[competition.track].deviations:
        shares = np.array(list(targets.values()))
        sizes = np.array([competition.sizes[part][split_id(name)[1]] for name in targets])
        return shares * (1 - shares) / sizes
    if part == "test" and not (competition.root / DEVIATIONS).is_file():
        return np.full(len(targets), np.nan)
    data = competition.data(NOISE["val"]) if part == "val" else competition.sealed(DEVIATIONS)
    deviations = parse(data, competition.ids(part), NOISE[part], column="deviation")
    return np.square([deviations[name] for name in targets])


@dataclass(frozen=True)
class ScoreLine:
    """The scores of one method on one group of sets, in points; nan where unknown or undefined."""

    method: str
    subject: str  # "" for several
    group: str  # `ALL` has every set
    sets: int
    families: int
    rmse: float  # lower is better
    low: float  # 95 % interval of `rmse` over families
    high: float
    skill: float  # 1 - (rmse / rmse of `CONSTANT`)^2
    mae: float
    spearman: float
    r_squared: float
    noise: float  # RMSE by sampling noise alone
    by_group: float  # root mean square of the groups' RMSEs, for `ALL`


def score_lines(targets: Targets, methods: Methods, subject: str = "") -> list[ScoreLine]:
    """Returns a line for each group of sets and each method, best first within a group."""
    lines = []
    for group, part in targets.by_group().items():
        scores = {name: part.score(predictions) for name, predictions in methods.items()}
        constant = scores[CONSTANT].rmse if CONSTANT in scores else math.nan
        for name, found in sorted(scores.items(), key=lambda item: item[1].rmse):
            low, high = part.families.interval(part.errors(methods[name]))
            lines.append(
                ScoreLine(
                    method=name,
                    subject=subject,
                    group=group,
                    sets=len(part),
                    families=len(part.families),
                    rmse=found.rmse,
                    low=float(low),
                    high=float(high),
                    skill=skill(found.rmse, constant),
                    mae=found.mae,
                    spearman=found.spearman,
                    r_squared=found.r_squared,
                    noise=part.noise_floor,
                    by_group=part.group_scores(methods[name]).get(BY_GROUP, math.nan),
                )
            )
    return lines


def score_cells(targets: Targets, methods: Methods) -> list[list[str]]:
    """Returns the cells of a table of methods, best first, then noise, without columns of no number."""
    parts = targets.by_group()
    lines = score_lines(targets, methods)
    rmse = {(line.method, line.group): line.rmse for line in lines}
    _, *groups = parts
    rows = [["method", "RMSE", "interval", "skill", "MAE", "Spearman", BY_GROUP, *groups]]
    for line in lines[: len(methods)]:
        numbers = [line.skill, line.mae, line.spearman, line.by_group]
        numbers += [rmse[line.method, group] for group in groups]
        interval = "" if math.isnan(line.low) else f"{cell(line.low, 1)}–{cell(line.high, 1)}"
        rows.append([line.method, cell(line.rmse), interval, *map(cell, numbers)])
    floors = {group: cell(part.noise_floor) for group, part in parts.items()}
    rows.append([NOISE_FLOOR, floors[ALL], "", "", "", "", "", *(floors[group] for group in groups)])
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    return [list(row) for row in zip(*filled, strict=True)]


def constant_predictions(competition: Competition, part: str) -> dict[str, float]:
    """Returns for every id of `part` the mean target of its subject's meta-train sets: method `CONSTANT`."""
    targets: dict[str, list[float]] = {}
    for name, value in read_targets(competition, "train").items():
        targets.setdefault(split_id(name)[0], []).append(value)
    means = {subject: sum(values) / len(values) for subject, values in targets.items()}
    return {name: means[split_id(name)[0]] for name in competition.ids(part)}


def constant_error(competition: Competition) -> float:
    """Returns the ranking RMSE of `constant_predictions`; without targets that of a guess from 0 to 100."""
    part = "val" if competition.sets("val") else "train"
    try:
        targets = read_targets(competition, part)
        predicted = constant_predictions(competition, part)
    except UnusableInput:
        return 100 / math.sqrt(12)
    ranking = competition.by_metric(targets)[competition.metrics[0]]
    return score(predicted, {name: targets[name] for name in ranking}).rmse


def score_validation(competition: Competition, path: Path) -> Score:
    """Returns the score of a file on the validation sets for the ranking metric."""
    targets = validation_targets(competition)[competition.metrics[0]]
    return targets.score(validate(competition, path, "val"))


def tables_of(
    competition: Competition, targets: Mapping[str, Targets], methods: Methods
) -> dict[str, list[list[str]]]:
    """Returns `score_cells` by title from the targets of the validation sets for each metric."""
    count = len(competition.sets("val"))
    titled = zip(competition.titles, targets.values(), strict=True)
    return {f"{title} on {count} validation sets": score_cells(part, methods) for title, part in titled}


def tables_text(tables: Mapping[str, list[list[str]]], groups: Iterable[str]) -> str:
    """Returns tables of scores by title as text, above what they mean for sets of these groups."""
    return "\n\n".join([*(f"{title}\n{text_table(rows)}" for title, rows in tables.items()), legend(groups)])
