"""How well a detector does as a shift grows: correlation and sensitivity (Long et al., NeurIPS 2024)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starter.detectors.metrics import DETECTION_METRICS

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Trend:
    """A detection metric at ordered levels of a shift, the smallest first.

    Attributes:
        values: float64 (n,); nan where a level has too few images to tell.
    """

    values: FloatArray

    @property
    def correlation(self) -> float:
        """Pearson's correlation of the values with their levels 1..n (eq. 5); nan where it is undefined."""
        levels, values = self._centred()
        scale = math.sqrt(float(levels @ levels) * float(values @ values))
        return float(np.clip(levels @ values / scale, -1, 1)) if scale else math.nan

    @property
    def sensitivity(self) -> float:
        """|slope| of the line through the values by least squares: the change with a level (eq. 6).

        nan for fewer than two levels.
        """
        levels, values = self._centred()
        return abs(float(levels @ values / (levels @ levels))) if levels.any() else math.nan

    def _centred(self) -> tuple[FloatArray, FloatArray]:
        """Levels and values less their means, levels without a value left out."""
        told = np.flatnonzero(~np.isnan(self.values))
        if not len(told):
            return np.zeros(1), np.zeros(1)
        values = self.values[told]
        flat = bool(np.ptp(values) == 0)
        return told - told.mean(), np.zeros(len(told)) if flat else values - values.mean()


def trend(ind: ArrayLike, levels: Sequence[ArrayLike], metric: str = "auroc", least: int = 10) -> Trend:
    """A detector's metric at each level of any ordered severity.

    Args:
        ind: scores of IND images (n,), higher = more OOD.
        levels: scores of the shifted images of each level (m_i,), the smallest shift first.
        metric: a name in DETECTION_METRICS.
        least: levels of fewer images are nan.

    Raises:
        ValueError: an unknown metric; the message lists those there are.
    """
    if metric not in DETECTION_METRICS:
        raise ValueError(f"metric must be one of {', '.join(DETECTION_METRICS)}, got {metric!r}")
    measure = DETECTION_METRICS[metric]
    return Trend(np.array([measure(ind, level) if np.size(level) >= least else math.nan for level in levels]))
