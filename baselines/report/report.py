"""Errors of methods on the labelled validation sets, per classifier and group of sets.

The report reads no hidden labels, so a participant's copy gives the same report.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from baselines.contract.estimator import Estimator, Regressed, asked
from baselines.contract.families import FEWEST
from baselines.contract.guard import fitted, guarded, predict_each, unchanged
from starter.competition.sets import read_groups
from starter.competition.subjects import open_subjects
from starter.observing.observation import MetaTrain, Seen
from submission import Competition, UnusableInput, make_id
from submission.arrays import FloatArray
from submission.intervals import rmse_interval
from submission.metrics import RANKED, skill, spearman
from submission.page import harmless
from submission.scoring import noise_floor_of, read_targets
from submission.tracks import TRACKS

CONSTANT = "constant"
"""Name of the reference method for skill."""
ALL = "all"
"""Name of the group of all sets."""
GRID = 100
"""Number of points of a regression's line."""
LEVEL = 0.9
"""Nominal coverage of the prediction intervals."""


@dataclass(frozen=True)
class Curve:
    """An indicator on the meta-train sets (m,) and validation sets (v,), with the regression's line.

    Attributes:
        train, val: Values of the indicator, float64 (m,) and (v,).
        grid: Increasing values of the indicator, float64 (GRID,).
        line: Predictions of the regression at `grid`, fractions (GRID,).
    """

    train: FloatArray
    val: FloatArray
    grid: FloatArray
    line: FloatArray


@dataclass(frozen=True)
class Run:
    """One method on one subject.

    Attributes:
        method: Name of the method.
        subject: Name of the subject.
        predicted: Predictions for the validation sets in their order, fractions (v,).
        curve: Indicator and regression line; None if the method is not a regression on one indicator.
        intervals: Prediction intervals at `LEVEL`, fractions (v, 2); None if they were not computed.
    """

    method: str
    subject: str
    predicted: FloatArray
    curve: Curve | None
    intervals: FloatArray | None = None


@dataclass(frozen=True)
class Line:
    """Errors of one method on one subject and one group of validation sets, in points.

    Attributes:
        method, subject: Names of the method and the subject.
        group: Name of the group; `ALL` has every set.
        sets, families: Number of sets, and of families of sets.
        rmse: Root mean squared error in points; lower is better.
        low, high: 95 % interval of `rmse` over families, in points; nan for fewer than
            `submission.intervals.FEWEST_FAMILIES`.
        skill: 1 - (rmse / rmse of `constant`)^2; nan if that method was not run.
        mae: Mean absolute error in points.
        spearman: Rank correlation of predictions and truths; nan for fewer than `RANKED` sets.
        noise: RMSE due to sampling noise, in points.
        held: Fraction of the sets with a truth inside `predict_interval` at `LEVEL`; nan without intervals.
        width: Mean width of the intervals in points; nan without intervals.
    """

    method: str
    subject: str
    group: str
    sets: int
    families: int
    rmse: float
    low: float
    high: float
    skill: float
    mae: float
    spearman: float
    noise: float
    held: float
    width: float


@dataclass(frozen=True)
class Report:
    """Runs of methods on the validation sets of a competition.

    Attributes:
        competition: Competition with the validation sets.
        groups: Group and family of each of the v validation sets.
        train: Targets of the meta-train sets, fractions (m,), by subject.
        val: Targets of the validation sets, fractions (v,), by subject.
        runs: Runs of every method on every subject.
    """

    competition: Competition
    groups: tuple[tuple[str, str], ...]
    train: Mapping[str, FloatArray]
    val: Mapping[str, FloatArray]
    runs: tuple[Run, ...]

    def lines(self) -> list[Line]:
        """Returns the lines of the table: per subject and group, methods from the best to the worst."""
        names = list(dict.fromkeys(group for group, _ in self.groups))
        lines = []
        for subject in self.val:
            for group in [ALL, *sorted(names)]:
                chosen = [self._line(run, group) for run in self.runs if run.subject == subject]
                lines += sorted(chosen, key=lambda line: line.rmse)
        return lines

    def csv(self) -> str:
        """Returns the table as CSV; an unknown number is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = [field.name for field in fields(Line)]
        writer.writerow(names)
        for line in self.lines():
            values = [getattr(line, name) for name in names]
            writer.writerow([_cell(value) for value in values])
        return text.getvalue()

    def rmse(self, method: str) -> float:
        """Returns the RMSE of a method over all validation sets, in points, for the ranking metric."""
        track, ranks = TRACKS[self.competition.track], self.competition.metrics[0]
        runs = [run for run in self.runs if run.method == method and track.metric(run.subject) == ranks]
        return 100 * math.sqrt(np.mean([(run.predicted - self.val[run.subject]) ** 2 for run in runs]))

    def members(self, group: str) -> NDArray[np.int64]:
        """Returns the indices of the validation sets in a group."""
        return np.flatnonzero([group in (ALL, mine) for mine, _ in self.groups])

    def _line(self, run: Run, group: str) -> Line:
        chosen, true = self.members(group), self.val[run.subject]
        errors = 100 * (run.predicted - true)[chosen]
        families = [self.groups[i] for i in chosen]
        rmse = math.sqrt(np.mean(errors**2))
        names = self.competition.sets("val")
        targets = {make_id(run.subject, names[i]): float(true[i]) for i in chosen}
        return Line(
            run.method,
            run.subject,
            group,
            len(chosen),
            len(set(families)),
            rmse,
            *family_interval(errors, families),
            skill(rmse, self._constant(run.subject, chosen)),
            float(np.abs(errors).mean()),
            spearman(run.predicted[chosen], true[chosen]) if len(chosen) >= RANKED else math.nan,
            noise_floor_of(self.competition, "val", targets),
            *_held(run, true, chosen),
        )

    def _constant(self, subject: str, chosen: NDArray[np.int64]) -> float:
        """Returns the RMSE of `constant` on the chosen sets in points; nan if it was not run."""
        for run in self.runs:
            if run.method == CONSTANT and run.subject == subject:
                errors = 100 * (run.predicted - self.val[subject])[chosen]
                return math.sqrt(np.mean(errors**2))
        return math.nan


def _held(run: Run, true: FloatArray, chosen: NDArray[np.int64]) -> tuple[float, float]:
    """Returns the fraction of the chosen sets inside their intervals, and the mean width in points."""
    if run.intervals is None:
        return math.nan, math.nan
    low, high = run.intervals[chosen].T
    return float(((low <= true[chosen]) & (true[chosen] <= high)).mean()), 100 * float((high - low).mean())


def family_interval(errors: FloatArray, families: Sequence[object]) -> tuple[float, float]:
    """Returns the 95 % interval of the RMSE over families of sets, by `submission.intervals.rmse_interval`.

    Args:
        errors: Error of each set (v,), in points.
        families: Family of each set (v,).

    Returns:
        Low and high in points, at most the 100 that an error of fractions can have; nan for fewer than
        `FEWEST_FAMILIES` families.
    """
    names = list(dict.fromkeys(families))
    member = np.array([names.index(family) for family in families])
    sums, sizes = (np.bincount(member, weights).astype(np.float64) for weights in (errors**2, None))
    low, high = rmse_interval(sums, sizes)
    return float(low), min(float(high), 100.0)


def run_report(
    competition: Competition,
    methods: Mapping[str, Estimator],
    device: str = "cpu",
    progress: bool = True,
    intervals: bool = False,
) -> Report:
    """Fit every method per classifier, and predict the validation sets.

    Args:
        competition: Competition with validation sets.
        methods: Unfitted methods by name; each is cloned before it is fitted.
        device: Device that runs the classifiers.
        progress: True to show progress bars.
        intervals: True to compute intervals also for methods that have to be fitted many times for them.

    Raises:
        UnusableInput: there are no validation sets, or a method fails.
    """
    if not competition.sets("val"):
        raise UnusableInput(f"{competition.root} has no validation sets to report on")
    needs = asked(methods.values(), competition)
    targets = read_targets(competition, "val")
    train, val, runs = {}, {}, []
    for subject, opened in open_subjects(competition, needs, device).items():
        meta, observed = opened.meta_train(progress), opened.observations("val", progress)
        train[subject] = np.asarray(meta.targets, np.float64)
        val[subject] = np.array([targets[make_id(subject, name)] for name in competition.sets("val")])
        runs += [_run(name, method, subject, meta, observed, intervals) for name, method in methods.items()]
    return Report(competition, tuple(read_groups(competition).values()), train, val, tuple(runs))


def _run(
    name: str,
    prototype: Estimator,
    subject: str,
    meta: MetaTrain,
    observed: Sequence[Seen],
    intervals: bool,
) -> Run:
    with unchanged(name, prototype, meta):
        method = fitted(name, prototype, subject, meta)
        predicted = np.array(list(predict_each(name, method, subject, observed).values()))
    around = None
    if (intervals or not method.refits) and len(meta.sets) > FEWEST:
        with guarded(name, f"predict intervals for {subject}", method, "ood" if meta.ood else "accuracy"):
            around = method.predict_interval(observed, LEVEL)
    return Run(name, subject, predicted, _curve(method, meta, observed), around)


def _curve(method: Estimator, meta: MetaTrain, observed: Sequence[Seen]) -> Curve | None:
    """Returns indicator and fitted line of a regression on one indicator; None for other methods."""
    if not isinstance(method, Regressed):
        return None
    train = np.array([method.indicator(observation, meta.source) for observation in meta.sets])
    val = np.array([method.indicator(observation, meta.source) for observation in observed])
    both = np.concatenate([train, val])
    grid = np.linspace(both.min(), both.max(), GRID)
    line = np.asarray(method.regressor_.predict(grid[:, None]), np.float64)
    return Curve(train, val, grid, np.clip(line, 0.0, 1.0))


def _cell(value: object) -> str:
    """Returns a number or a name as a cell of the CSV; groups are named by whoever made the archive."""
    if not isinstance(value, float):
        return harmless(str(value))
    return "" if math.isnan(value) else f"{value:.4f}"
