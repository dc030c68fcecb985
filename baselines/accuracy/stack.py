"""Stack: regressions on thirteen indicators, weighted by their errors on held-out operations.

Stacking: Breiman, "Stacked Regressions", Machine Learning 1996; van der Laan, Polley & Hubbard, "Super
Learner", 2007. The choice of indicators was made for this kit.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit
from sklearn.base import RegressorMixin

from baselines.accuracy.atc import atc
from baselines.accuracy.cbpe import cbpe
from baselines.accuracy.confscore import confscore
from baselines.accuracy.cot import cot, cott
from baselines.accuracy.ei import invariance
from baselines.accuracy.entropy import entropy
from baselines.accuracy.mano import mano
from baselines.accuracy.mde import mde
from baselines.accuracy.nuclear import nuclear
from baselines.accuracy.rotation import rotation
from baselines.accuracy.softmaxcorr import softmaxcorr
from baselines.contract.estimator import Indicator, Measured, Table
from baselines.contract.families import Fold, folds
from baselines.contract.regressors import LogOddsRidge, lightgbm, log_odds
from starter.observing.observation import MetaTrain, Observation, Source
from submission.arrays import FloatArray, IntArray


def turned(target: Observation, source: Source) -> float:
    """Returns the mean effective invariance to the three rotations, in [0, 1]."""
    assert target.rotations is not None
    return float(np.mean([invariance(target.logits, view) for view in target.rotations.values()]))


def grey(target: Observation, source: Source) -> float:
    """Returns the mean effective invariance to the loss of colour, in [0, 1]."""
    assert target.grey is not None
    return float(invariance(target.logits, target.grey).mean())


INDICATORS: dict[str, Indicator] = {
    "confscore": confscore,
    "entropy": entropy,
    "atc": atc,
    "cbpe": cbpe,
    "norm": partial(mano, normaliser="softmax"),
    "mde": mde,
    "nuclear": nuclear,
    "softmaxcorr": softmaxcorr,
    "cot": cot,
    "cott": cott,
    "rotation": rotation,
    "turned": turned,
    "grey": grey,
}
GROUPS: dict[str, tuple[str, ...]] = {
    "confidence": ("confscore", "entropy", "atc", "cbpe", "norm", "mde"),
    "dispersion": ("nuclear", "softmaxcorr", "cot", "cott"),
    "views": ("rotation", "turned", "grey"),
}
"""Groups of indicators. Confidence misses errors of which the classifier is sure. Dispersion detects classes
that are predicted too often, but mistakes another class prior for this. Views depend on neither."""
COLUMNS = tuple(name for names in GROUPS.values() for name in names)
IS_FRACTION = np.array([name not in ("entropy", "mde") for name in COLUMNS])
"""True for columns in [0, 1], which are taken as log-odds: their relation to accuracy is closer to linear."""
DIRECT = ("atc", "cbpe", "cot", "cott")
"""Columns that are accuracies: used without a regression, they need no extrapolation."""
ALPHAS = (0.1, 1.0, 10.0, 100.0)
SOURCE = "identity"
"""The "operation" of the unchanged source."""
Candidate = tuple[tuple[str, ...], Callable[[], RegressorMixin] | None]
"""Names of columns, and what makes their regressor; None if the only column is an accuracy in log-odds."""


def candidates() -> dict[str, Candidate]:
    """Returns trees on all columns, `DIRECT`, and ridge on unions of groups with each penalty, by name."""
    every: dict[str, Candidate] = {"all lightgbm": (COLUMNS, lightgbm)}
    every |= {name: ((name,), None) for name in DIRECT}
    for groups in (each for size in (1, 2, 3) for each in combinations(GROUPS, size)):
        columns = tuple(name for group in groups for name in GROUPS[group])
        for alpha in ALPHAS:
            every[f"{'+'.join(groups)} ridge {alpha:g}"] = columns, partial(LogOddsRidge, alpha)
    return every


def fit_candidate(
    candidate: Candidate, rows: FloatArray, targets: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Returns the fitted candidate, a function from rows (m, p) to accuracies (m,) in [0, 1].

    Values that lie more than one standard deviation outside the known range are moved to that limit, so that
    regressions extrapolate a little, but not without bound.
    """
    columns, make = candidate
    places = [COLUMNS.index(name) for name in columns]
    known = rows[:, places]
    low, high = known.min(axis=0) - known.std(axis=0), known.max(axis=0) + known.std(axis=0)
    return partial(_predicted, make and make().fit(known, targets), places, low, high)


def _predicted(
    model: RegressorMixin | None, places: Sequence[int], low: FloatArray, high: FloatArray, rows: FloatArray
) -> FloatArray:
    """Returns accuracies (m,) by a regressor within limits of its columns, or without one by log-odds."""
    values = np.clip(rows[:, places], low, high)
    return expit(values[:, 0]) if model is None else np.clip(model.predict(values), 0.0, 1.0)


def convex_weights(
    predictions: Sequence[FloatArray], truth: Sequence[FloatArray], shares: Sequence[float]
) -> FloatArray:
    """Returns weights (c,), >= 0, of sum 1, of c candidates by least squares; folds count by `shares`."""
    scales = [np.sqrt(share / len(each)) for share, each in zip(shares, truth, strict=True)]
    left, right = (
        np.concatenate([each * scale for each, scale in zip(side, scales, strict=True)])
        for side in (predictions, truth)
    )
    weights = nnls(left, right)[0]
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def fold_shares(parts: Sequence[Fold]) -> list[float]:
    """Returns the weight of each fold: 1, except that the source's fold has the weight of one set."""
    sizes = [len(fold.test) for fold in parts if fold.operation != SOURCE]
    usual = float(np.mean(sizes)) if sizes else 1.0
    return [min(len(fold.test) / usual, 1.0) if fold.operation == SOURCE else 1.0 for fold in parts]


def other_priors(observation: Observation, rng: np.random.Generator) -> tuple[Observation, IntArray]:
    """Returns a set of half as many images, with random shares of predicted classes, and their rows."""
    _, members, counts = np.unique(observation.predicted, return_inverse=True, return_counts=True)
    shares = rng.dirichlet(np.ones(len(counts)))
    chances = (shares / counts)[members]
    rows = rng.choice(len(members), (len(members) + 1) // 2, p=chances / chances.sum())
    return replace(observation.take(rows), moments=None), rows


def indicators(observation: Observation, source: Source) -> dict[str, float]:
    """Returns the value of each of the INDICATORS; COT and COTT read one transport plan."""
    return {name: indicator(observation, source) for name, indicator in INDICATORS.items()}


class Stack(Measured):
    """Weighted mean of regressions on thirteen indicators, with weights by cross-validation.

    For each operation in turn, every candidate (see `candidates`) is fitted without the sets that contain it
    and predicts these sets; the weights are the best ones for these predictions (`convex_weights`).
    Meta-train sets seldom have other class priors or clean images, but natural sets do. Therefore each
    meta-train set gets a copy with another prior (`other_priors`), and the source is added. Copies and source
    are families with a fold each; the source has the weight of one set, since three of the methods are exact
    on it.

    Args:
        seed: Seed of the copies.
    """

    needs = ("rotation", "rotations", "grey")

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _measure(self, observation: Observation) -> FloatArray:
        values = indicators(observation, self.source_)
        row = np.array([values[name] for name in COLUMNS])
        return np.where(IS_FRACTION, log_odds(row), row)

    def _tabulate(self, meta: MetaTrain) -> Table:
        sets = super()._tabulate(meta)
        rng = np.random.default_rng(self.seed)
        drawn = [other_priors(observation, rng) for observation in meta.sets]
        right = [correct[images].mean() for correct, (_, images) in zip(meta.correct, drawn, strict=True)]
        copied = [family | {"class_prior"} for family in sets.families]
        return Table(
            np.array([*sets.rows, *self._rows([*(copy for copy, _ in drawn), meta.source.observation])]),
            np.array([*sets.targets, *right, meta.source.accuracy]),
            [*sets.families, *copied, frozenset({SOURCE})],
            np.array([*sets.of, *sets.of, -1]),
        )

    def _learn(self, table: Table) -> None:
        every, parts = candidates(), folds(table.families)
        predictions = []
        for fold in parts:
            rows, targets = table.rows[fold.train], table.targets[fold.train]
            found = [fit_candidate(each, rows, targets)(table.rows[fold.test]) for each in every.values()]
            predictions.append(np.column_stack(found))
        truth = [table.targets[fold.test] for fold in parts]
        weights = convex_weights(predictions, truth, fold_shares(parts))
        pairs = zip(every, weights.tolist(), strict=True)
        self.weights_ = {name: weight for name, weight in pairs if weight > 0}
        self._members = [
            (weight, fit_candidate(every[name], table.rows, table.targets))
            for name, weight in self.weights_.items()
        ]

    def _estimate(self, rows: FloatArray) -> FloatArray:
        return np.sum([weight * member(rows) for weight, member in self._members], axis=0)
