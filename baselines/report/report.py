"""Errors of methods on the validation sets, per classifier and group, without any hidden label."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from baselines.contract.estimator import Estimator, Regressed, asked
from baselines.contract.families import FEWEST
from baselines.contract.guard import fitted, guarded, predict_each
from starter.contest.tracks import open_subjects
from starter.observing.observation import Seen
from submission import Competition, UnusableInput, make_id, scoretable
from submission.arrays import FloatArray, IntArray
from submission.page import harmless
from submission.progress import progress
from submission.table import csv_table
from submission.tracks import TRACKS

LEVEL = 0.9
"""Nominal coverage of the prediction intervals."""


@dataclass(frozen=True)
class Run:
    """One method on one subject."""

    method: str
    subject: str
    predicted: FloatArray  # for the validation sets in their order, fractions (v,)
    indicators: FloatArray | None = None  # of a `Regressed`: its indicator and predictions, (m + v, 2)
    intervals: FloatArray | None = None  # at `LEVEL`, fractions (v, 2)


@dataclass(frozen=True)
class Line(scoretable.ScoreLine):
    """Scores of one method on one subject and one group of validation sets, in points."""

    held: float  # fraction of the sets with a truth inside their intervals at `LEVEL`; nan without
    width: float  # mean width of the intervals in points; nan without intervals


@dataclass(frozen=True)
class Report:
    """Runs of methods on the validation sets of a competition."""

    competition: Competition
    train: Mapping[str, FloatArray]  # targets of the meta-train sets, fractions (m,), by subject
    val: Mapping[str, FloatArray]  # targets of the validation sets, fractions (v,), by subject
    groups: tuple[tuple[str, str], ...]  # group and family of each of the v validation sets
    targets: Mapping[str, scoretable.Targets]  # of the validation sets for each metric, the ranking one first
    runs: tuple[Run, ...]

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the table: per subject and group, methods from the best to the worst."""
        lines = []
        for subject, true in self.val.items():
            runs = {run.method: run for run in self.runs if run.subject == subject}
            metric = TRACKS[self.competition.track].metric(subject)
            targets = self.targets[metric].of_subject(subject)
            for line in scoretable.score_lines(targets, self.with_constant, subject):
                held, width = _held(runs.get(line.method), true, self.members(line.group))
                lines.append(Line(**vars(line), held=held, width=width))
        return tuple(lines)

    @cached_property
    def with_constant(self) -> dict[str, dict[str, float]]:
        """The predictions of each method, and of `CONSTANT`, against which skill is measured."""
        names = self.competition.sets("val")
        means = {subject: float(targets.mean()) for subject, targets in self.train.items()}
        constant = {make_id(subject, name): mean for subject, mean in means.items() for name in names}
        return {scoretable.CONSTANT: constant, **self.predictions}

    def csv(self) -> str:
        """Returns the table as CSV; an unknown number is empty."""
        rows = [vars(line).values() for line in self.lines]
        texts = [[harmless(value) if isinstance(value, str) else value for value in row] for row in rows]
        return csv_table([[field.name for field in fields(Line)], *texts], decimals=4)

    def rmse(self, method: str) -> float:
        """Returns the RMSE of a method over all validation sets, in points, for the ranking metric."""
        ranking = self.targets[self.competition.metrics[0]]
        return ranking.score(self.predictions[method]).rmse

    @cached_property
    def predictions(self) -> dict[str, dict[str, float]]:
        """The predictions of each method, fractions by id."""
        found: dict[str, dict[str, float]] = {run.method: {} for run in self.runs}
        for run in self.runs:
            ids = (make_id(run.subject, name) for name in self.competition.sets("val"))
            found[run.method].update(zip(ids, run.predicted.tolist(), strict=True))
        return found

    def members(self, group: str) -> IntArray:
        """Returns the indices of the validation sets in a group."""
        return np.flatnonzero([group in (scoretable.ALL, mine) for mine, _ in self.groups])


def _held(run: Run | None, true: FloatArray, chosen: IntArray) -> tuple[float, float]:
    """Returns the fraction of the chosen sets inside their intervals, and the mean width in points."""
    if run is None or run.intervals is None:
        return math.nan, math.nan
    low, high = run.intervals[chosen].T
    return float(((low <= true[chosen]) & (true[chosen] <= high)).mean()), 100 * float((high - low).mean())


def run_report(
    competition: Competition, methods: Mapping[str, Estimator], device: str = "cpu", intervals: bool = False
) -> Report:
    """Fit every method per classifier, and predict the validation sets; `intervals` also where costly."""
    if not competition.sets("val"):
        raise UnusableInput(f"{competition.root} has no validation sets to report on")
    needs = asked(methods.values(), competition)
    groups = scoretable.validation_groups(competition)
    targets = scoretable.validation_targets(competition, groups)
    true = {name: value for part in targets.values() for name, value in part.by_id().items()}
    train: dict[str, FloatArray] = {}
    val: dict[str, FloatArray] = {}
    runs: list[Run] = []
    for subject, opened in open_subjects(competition, needs, device).items():
        meta = opened.meta_train()
        observed = opened.observations("val")
        train[subject] = np.asarray(meta.targets, np.float64)
        val[subject] = np.array([true[make_id(subject, name)] for name in competition.sets("val")])
        chosen = progress(methods.items(), f"fit for {subject}", unit="methods")
        for name, prototype in chosen:
            method = fitted(name, prototype, subject, meta)
            around = (intervals or not method.refits) and len(meta.sets) > FEWEST
            runs.append(_run(name, method, subject, observed, intervals=around))
    return Report(
        competition=competition,
        train=train,
        val=val,
        groups=tuple(groups.values()),
        targets=targets,
        runs=tuple(runs),
    )


def _run(name: str, method: Estimator, subject: str, observed: Sequence[Seen], intervals: bool) -> Run:
    """Returns what a fitted method says of the observed sets."""
    predicted = np.array(list(predict_each(name, method, subject, observed).values()))
    rows = around = None
    if isinstance(method, Regressed):
        values = np.concatenate([method._table.rows, method._rows(observed)])
        rows = np.column_stack([values, method._estimated(values)])
    if intervals:
        with guarded(name, f"predict intervals for {subject}", method):
            around = method.predict_interval(observed, LEVEL)
    return Run(name, subject, predicted, rows, around)
