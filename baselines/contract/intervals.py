"""Intervals around predictions: CV+ (Barber et al., Annals of Statistics 2021), its folds being families."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from starter.observing.observation import Seen
from submission.arrays import FloatArray


@dataclass(frozen=True)
class CrossFit:
    """A method fitted once for every fold of a cross-validation.

    Attributes:
        held_out: per fold, its model's predictions for the sets that the fold tests, in their order.
        predict: any set -> the predictions (J,) of the J folds' models.
    """

    held_out: Sequence[FloatArray]
    predict: Callable[[Seen], FloatArray]


@dataclass(frozen=True)
class CrossConformal:
    """Intervals from how far off a method was on operations that it had not learnt from.

    Attributes:
        crossed: the method, fitted once a fold.
        residuals: per fold, |prediction - accuracy| of the sets that the fold tests.
    """

    crossed: CrossFit
    residuals: Sequence[FloatArray]

    def interval(self, observation: Seen, level: float) -> tuple[float, float]:
        """Low and high of one set, which may leave [0, 1].

        Every residual R of fold j's model f_j gives the candidates f_j(x) - R and f_j(x) + R; low and high
        are their lower and upper quantile at `level`. Where models disagree the interval is wider. Every fold
        weighs the same, however many sets it tests. With too few residuals for the level an end is infinite.
        """
        centres = self.crossed.predict(observation)
        pairs = list(zip(centres, self.residuals, strict=True))
        weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in self.residuals])
        high = _quantile(np.concatenate([centre + each for centre, each in pairs]), weights, level)
        low = -_quantile(np.concatenate([each - centre for centre, each in pairs]), weights, level)
        return low, high


def _quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """The least value that `level` of the weight does not exceed, where one more value could be infinite."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    place = int(np.searchsorted(share, level * (1 + 1 / len(values)) - 1e-9))
    return float(values[order][place]) if place < len(values) else np.inf
