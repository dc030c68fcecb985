"""Intervals: by CV+ with a fold per family of meta-train sets, and of estimates from logits alone.

Paper: Barber, Candes, Ramdas & Tibshirani, "Predictive Inference with the Jackknife+", Annals of Statistics
2021. Residuals are scaled up for sets that are far from the meta-train sets. Without such sets the interval
rests on constants that hold over families of shifts (decision 0107).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import norm

from baselines.contract.families import Fold
from starter.observing.observation import ScoredMix, Seen
from submission.arrays import FloatArray

USUAL, FAR = 0.9, 2.0
"""Share of left-out sets, or parts, whose distance from the others counts as usual; and how many times this
distance is far."""


@dataclass(frozen=True)
class Remoteness:
    """The distance of a set from the nearest meta-train set, relative to the distance between operations.

    Two descriptions of a set need no labels: the mean of its softmax outputs, which depends on its classes,
    and its mean confidence, which depends on the strength of a shift.
    """

    known: tuple[FloatArray, FloatArray]  # both descriptions of the m meta-train sets, (m, k) and (m, 1)
    usual: tuple[float, float]  # within which a share `USUAL` of the left-out sets are

    @property
    def sets(self) -> int:
        """The number of the meta-train sets."""
        return len(self.known[0])

    @classmethod
    def of(cls, sets: Sequence[Seen], parts: Sequence[Fold]) -> "Remoteness":
        """Returns the distances of these meta-train sets and folds, each of which leaves an operation out."""
        classes, confidence = (np.array(each) for each in zip(*map(descriptions, sets), strict=True))
        usual = [
            float(np.quantile(np.concatenate([nearest(each[p.test], each[p.train]) for p in parts]), USUAL))
            for each in (classes, confidence)
        ]
        return cls((classes, confidence), (usual[0], usual[1]))

    def distance(self, observation: Seen) -> float:
        """Returns distance / usual by the description in which it is larger; 0 where a meta-train set is."""
        pairs = zip(descriptions(observation), self.known, strict=True)
        apart = np.array([nearest(mine[None], known)[0] for mine, known in pairs])
        return float(np.divide(apart, self.usual, out=np.zeros(2), where=np.array(self.usual) > 0).max())


def descriptions(seen: Seen) -> tuple[FloatArray, FloatArray]:
    """Returns the mean softmax outputs (k,), and the mean confidence (1,)."""
    observation = seen.observation if isinstance(seen, ScoredMix) else seen
    outputs = softmax(observation.logits.astype(np.float64), axis=1)
    return outputs.mean(axis=0), outputs.max(axis=1).mean(keepdims=True)


def nearest(rows: FloatArray, known: FloatArray) -> FloatArray:
    """Returns the Euclidean distance (n,) of each of the rows (n, k) from the nearest of `known` (m, k)."""
    return cdist(rows, known).min(axis=1)


@dataclass(frozen=True)
class CrossConformal:
    """Intervals from a method's errors on left-out operations."""

    predict: Callable[[Seen], FloatArray]  # predictions (J,) for a set of the models of all J folds
    residuals: Sequence[FloatArray]  # of each fold, |prediction - accuracy|
    remoteness: Remoteness  # factor for the residuals of a set that is far from all of these

    def interval(self, observation: Seen, level: float) -> tuple[float, float]:
        """Returns the low and the high end of the interval for one set; they may be outside [0, 1].

        Every residual R of fold j's model f_j gives the candidates f_j(x) - c R and f_j(x) + c R, where c is
        the set's distance (`Remoteness`), at least 1; low and high are their lower and upper quantile at
        `level`. Every fold has the same weight. If there are too few residuals for the level, an end is
        infinite.
        """
        centres = self.predict(observation)
        factor = max(self.remoteness.distance(observation), 1.0)
        pairs = [(centre, factor * each) for centre, each in zip(centres, self.residuals, strict=True)]
        weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in self.residuals])
        high = _quantile(np.concatenate([centre + each for centre, each in pairs]), weights, level)
        low = -_quantile(np.concatenate([each - centre for centre, each in pairs]), weights, level)
        return low, high


def _quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """Returns the smallest value that reaches `level` of the weight, with one more value at infinity."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    place = int(np.searchsorted(share, level * (1 + 1 / len(values)) - 1e-9))
    return float(values[order][place]) if place < len(values) else np.inf


POWER = 6
"""How sharply the weight turns towards COTT under the source's prior."""


class Constants(NamedTuple):
    """Numbers that minimise the interval score over families of shifts."""

    turn: float  # distance at which COTT under the source's prior has half of the weight
    floor: float  # standard deviation of the error, a fraction, where nothing else tells of one
    apart: float  # factor of the distance of the confidences
    turning: float  # factor of the gap between the two readings, where both have half of the weight
    moved: float  # factor of the distance of the features


CONSTANTS = Constants(turn=0.56, floor=0.004, apart=0.16, turning=0.46, moved=0.07)
WITH_META_TRAIN = CONSTANTS._replace(apart=0.08)
"""Those of an estimate that has learnt from meta-train sets, whose errors are half as large."""

LEAST = 0.5
"""Number of standard deviations from the estimate to the bound that "no" and possible alarms go by."""
WIDER = 1.1
"""How many times as far from the estimate as an interval's the ends of a range lie."""
NEARER = 0.6
"""The same for the upper end of a far set, which alarms need near."""


class Signs(NamedTuple):
    """What the interval of a set is made of; all are fractions but the distances."""

    mean: float  # of the methods that read the set as one with other class shares
    gap: float  # how far below this COTT under the source's prior lies, at least 0
    spread: float  # standard deviation between the methods
    sampling: float  # standard deviation of both accuracies by the numbers of images
    distance: float  # of confidences (`Shift`)
    moved: float  # distance of features (`Shift`)
    label_shift: float  # the accuracy if nothing but class shares has shifted; no set lies surely below


def judged(signs: Signs, constants: Constants = CONSTANTS) -> tuple[FloatArray, FloatArray]:
    """Returns the estimate and the standard deviation of its error; of arrays in `signs`, elementwise.

    Where only class shares have shifted, the methods' mean holds, and COTT under the source's prior is far
    too low. Where labelled images with the set's class shares do not explain its confidences, COTT is nearer:
    it does not take a collapse of the classifier for few classes. Without a shift both are nearly equal.
    """
    weight = 1 - 1 / (1 + (np.asarray(signs.distance) / constants.turn) ** POWER)
    turning = 2 * np.sqrt(weight * (1 - weight)) * signs.gap
    parts: list[Any] = [signs.sampling, signs.spread, constants.floor, constants.apart * signs.distance]
    parts += [constants.turning * turning, constants.moved * signs.moved]
    return signs.mean - weight * signs.gap, np.sqrt(np.square(np.broadcast_arrays(*parts)).sum(axis=0))


def interval(
    readings: Sequence[Signs], level: float, constants: Constants, promised: bool, far: bool
) -> tuple[float, float, float]:
    """Returns estimate, low and high of a set: the mean of its readings, and the interval that spans all.

    If none is promised it is a range. Its upper end is never below what label shift alone would leave.
    """
    signs = Signs(*np.array(readings).T)
    middle, error = judged(signs, constants)
    reach = norm.ppf((1 + level) / 2)
    below = above = (1.0 if promised else WIDER) * reach * error
    if far:  # neither features nor the gap between the suppositions count: they tell of falls
        above = NEARER * reach * judged(signs, constants._replace(turning=0.0, moved=0.0))[1]
    highest = np.maximum(middle + above, signs.label_shift).max()
    low, high = np.clip([(middle - below).min(), highest], 0, 1).tolist()
    return float(middle.mean()), low, high


def least_of(readings: Sequence[Signs], constants: Constants) -> float:
    """Returns the accuracy that a set's is held to lie above, for verdicts and alarms."""
    middle, error = judged(Signs(*np.array(readings).T), constants)
    return float(max((middle - LEAST * error).min(), 0.0))
