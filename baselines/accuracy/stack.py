"""Stack: many indicators at once, weighed by how well they do on operations that they did not learn from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin

from baselines.accuracy.atc import atc
from baselines.accuracy.cbpe import cbpe
from baselines.accuracy.confscore import confscore
from baselines.accuracy.cot import cott_threshold, transport
from baselines.accuracy.ei import invariance
from baselines.accuracy.entropy import entropy
from baselines.accuracy.mano import ORDER
from baselines.accuracy.mde import mde
from baselines.accuracy.nuclear import nuclear
from baselines.accuracy.rotation import rotation
from baselines.accuracy.softmaxcorr import softmaxcorr
from baselines.contract.estimator import Indicator, Measured, Table
from baselines.contract.families import Fold, folds
from baselines.contract.regressors import lightgbm, log_odds, ridge
from starter.observing.observation import MetaTrain, Observation, Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput


def norm(target: Observation, source: Source) -> float:
    """Returns the 4-norm of the softmax, in (0, 1]: MaNo without its change of normaliser, where it jumps."""
    return float((target.probabilities**ORDER).mean() ** (1 / ORDER))


def turned(target: Observation, source: Source) -> float:
    """Returns mean effective invariance to the three rotations, in [0, 1]."""
    assert target.rotations is not None
    return float(np.mean([invariance(target.logits, view) for view in target.rotations.values()]))


def grey(target: Observation, source: Source) -> float:
    """Returns mean effective invariance to the loss of colour, in [0, 1]."""
    assert target.grey is not None
    return float(invariance(target.logits, target.grey).mean())


INDICATORS: dict[str, Indicator] = {
    "confscore": confscore,
    "entropy": entropy,
    "atc": atc,
    "cbpe": cbpe,
    "norm": norm,
    "mde": mde,
    "nuclear": nuclear,
    "softmaxcorr": softmaxcorr,
    "rotation": rotation,
    "turned": turned,
    "grey": grey,
}
"""What stands for a set, beside `cot` and `cott`, which come of one transport plan."""
GROUPS: dict[str, tuple[str, ...]] = {
    "confidence": ("confscore", "entropy", "atc", "cbpe", "norm", "mde"),
    "dispersion": ("nuclear", "softmaxcorr", "cot", "cott"),
    "views": ("rotation", "turned", "grey"),
}
"""Confidence overlooks what the classifier is sure of and wrong about; dispersion sees classes that are
predicted too often, but takes another class prior for that; views rest on neither."""
COLUMNS = tuple(name for names in GROUPS.values() for name in names)
IS_FRACTION = np.array([name not in ("entropy", "mde") for name in COLUMNS])
"""Columns that lie in [0, 1]: they are taken as log-odds, in which those of accuracy run straighter."""
DIRECT = ("atc", "cbpe", "cot", "cott")
"""Accuracies by themselves: they need no regression, so nothing in them is extrapolated."""
ALPHAS = (0.1, 1.0, 10.0, 100.0)
SOURCE = "identity"
"""What the source, as it is, has in the place of an operation."""


class AsItIs(RegressorMixin, BaseEstimator):
    """No regression: the accuracy whose log-odds stand in the only column."""

    def fit(self, rows: FloatArray, targets: FloatArray) -> "AsItIs":
        """Learn nothing."""
        return self

    def predict(self, rows: FloatArray) -> FloatArray:
        """Returns the accuracies (m,)."""
        return expit(rows[:, 0])


@dataclass(frozen=True)
class Candidate:
    """A way to tell accuracy from some of the columns."""

    name: str
    columns: tuple[str, ...]
    make: Callable[[], RegressorMixin]

    def fit(self, rows: FloatArray, targets: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Returns the fitted candidate: rows (m, p) -> accuracies (m,) in [0, 1].

        A set whose column lies further than one standard deviation outside the known ones counts as that far:
        regressions are to extrapolate, but not out of all proportion.
        """
        places = [COLUMNS.index(name) for name in self.columns]
        known = rows[:, places]
        model = self.make().fit(known, targets)
        low, high = known.min(axis=0) - known.std(axis=0), known.max(axis=0) + known.std(axis=0)
        return lambda new: np.clip(model.predict(np.clip(new[:, places], low, high)), 0.0, 1.0)


def candidates() -> list[Candidate]:
    """Returns ridge on every union of groups at every strength, trees on all, and the plain accuracies."""
    found = [Candidate("all lightgbm", COLUMNS, lightgbm)]
    found += [Candidate(name, (name,), AsItIs) for name in DIRECT]
    for size in range(1, len(GROUPS) + 1):
        for groups in combinations(GROUPS, size):
            columns = tuple(name for group in groups for name in GROUPS[group])
            label = "+".join(groups)
            found += [
                Candidate(f"{label} ridge {alpha:g}", columns, partial(ridge, alpha)) for alpha in ALPHAS
            ]
    return found


def convex_weights(
    predictions: Sequence[FloatArray], truth: Sequence[FloatArray], shares: Sequence[float] | None = None
) -> FloatArray:
    """Returns weights (c,), at least 0, of sum 1, with which c candidates together come nearest to the truth.

    Non-negative least squares, then divided by the sum (Breiman, "Stacked regressions", 1996; van der Laan,
    Polley & Hubbard, "Super learner", 2007). `predictions` has (m_j, c) and `truth` (m_j,) for every fold j;
    each fold weighs the same, or as `shares` says.
    """
    weighs = [1.0] * len(truth) if shares is None else shares
    scales = [np.sqrt(share / len(each)) for share, each in zip(weighs, truth, strict=True)]
    left = np.concatenate([each * scale for each, scale in zip(predictions, scales, strict=True)])
    right = np.concatenate([each * scale for each, scale in zip(truth, scales, strict=True)])
    weights = nnls(left, right)[0]
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def fold_shares(parts: Sequence[Fold]) -> list[float]:
    """Returns the weight of each fold: 1, and for the source's that of its sets in an average fold."""
    sizes = [len(fold.test) for fold in parts if fold.operation != SOURCE]
    usual = float(np.mean(sizes)) if sizes else 1.0
    return [min(len(fold.test) / usual, 1.0) if fold.operation == SOURCE else 1.0 for fold in parts]


def other_priors(observation: Observation, rng: np.random.Generator) -> tuple[Observation, NDArray[np.int64]]:
    """Returns half as many images as the set has, drawn so that the predicted classes have other shares.

    What is returned are their rows.

    The shares are uniform on the simplex, the images of a class drawn with replacement. Moments are left out.
    """
    _, members, counts = np.unique(observation.predicted, return_inverse=True, return_counts=True)
    shares = rng.dirichlet(np.ones(len(counts)))
    chances = (shares / counts)[members]
    rows = rng.choice(len(members), (len(members) + 1) // 2, p=chances / chances.sum())
    return replace(observation.take(rows), moments=None), rows


def indicators(observation: Observation, source: Source) -> dict[str, float]:
    """Returns the value of each of the thirteen COLUMNS; COT and COTT share one transport."""
    cost, mass = transport(observation, source)
    values = {name: indicator(observation, source) for name, indicator in INDICATORS.items()}
    return values | {"cot": float(1 - cost @ mass), "cott": float(mass[cost <= cott_threshold(source)].sum())}


class Stack(Measured):
    """Thirteen indicators, regressed on in many ways and combined as cross-validation by family weighs them.

    Each of the `candidates` is fitted without the sets that contain an operation and predicts those, for one
    operation after the other; the weights are those that would have served best there (`convex_weights`).
    Meta-train sets seldom have other class priors or clean images, which natural sets do: so each has a copy
    with another prior (`other_priors`), and the source joins them. Either is a family with a fold of its own,
    but the source's weighs as one set: three of the methods are exact on it.

    Args:
        seed: of the copies.
    """

    needs = ("rotation", "rotations", "grey")

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _prepare(self, source: Source) -> None:
        if self.seed < 0:
            raise UnusableInput(f"stack: seed must be at least 0, got {self.seed}")
        super()._prepare(source)

    def _measure(self, observation: Observation) -> FloatArray:
        values = indicators(observation, self.source_)
        row = np.array([values[name] for name in COLUMNS])
        return np.where(IS_FRACTION, log_odds(row), row)

    def _tabulate(self, meta: MetaTrain) -> Table:
        sets = super()._tabulate(meta)
        rng = np.random.default_rng(self.seed)
        rows, targets = [], []
        for observation, correct in zip(meta.sets, meta.correct, strict=True):
            copy, images = other_priors(observation, rng)
            rows.append(self._finite(copy))
            targets.append(correct[images].mean())
        source = self._finite(meta.source.observation)
        copied = [family | {"class_prior"} for family in sets.families]
        return Table(
            np.array([*sets.rows, *rows, source]),
            np.array([*sets.targets, *targets, meta.source.accuracy]),
            [*sets.families, *copied, frozenset({SOURCE})],
            np.array([*sets.of, *sets.of, -1]),
        )

    def _learn(self, rows: FloatArray, targets: FloatArray, families: Sequence[frozenset[str]]) -> None:
        every, parts = candidates(), folds(families)
        predictions = [
            np.column_stack(
                [each.fit(rows[fold.train], targets[fold.train])(rows[fold.test]) for each in every]
            )
            for fold in parts
        ]
        weights = convex_weights(predictions, [targets[fold.test] for fold in parts], fold_shares(parts))
        chosen = [(float(weight), each) for weight, each in zip(weights, every, strict=True) if weight > 0]
        self.weights_ = {each.name: weight for weight, each in chosen}
        self._members = [(weight, each.fit(rows, targets)) for weight, each in chosen]

    def _estimate(self, rows: FloatArray) -> FloatArray:
        return np.sum([weight * member(rows) for weight, member in self._members], axis=0)
