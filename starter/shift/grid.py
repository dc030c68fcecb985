"""Detectors over a grid of shifts: semantic level by covariate level (Long et al., NeurIPS 2024, section 3).

A grid is an array [covariate level, semantic level], the smallest shift first; nan means N/A. Correlation and
sensitivity describe the trend of a detector as a shift grows.
"""

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from starter.detectors.metrics import DETECTION_METRICS
from starter.shift.degrees import LEAST, ShiftGrid
from submission.arrays import FloatArray


@dataclass(frozen=True)
class Trend:
    """A detection metric at ordered levels of a shift, the smallest first.

    Attributes:
        values: Values of the metric, float64 (n,); nan for a level with too few images.
    """

    values: FloatArray

    @property
    def correlation(self) -> float:
        """Pearson's correlation of the values with their levels 1..n (eq. 5); nan if it is undefined."""
        levels, values = self._centred()
        scale = math.sqrt(float(levels @ levels) * float(values @ values))
        return float(np.clip(levels @ values / scale, -1, 1)) if scale else math.nan

    @property
    def sensitivity(self) -> float:
        """Absolute slope of the least-squares line through the values, the change per level (eq. 6).

        nan for fewer than two levels.
        """
        levels, values = self._centred()
        return abs(float(levels @ values / (levels @ levels))) if levels.any() else math.nan

    def _centred(self) -> tuple[FloatArray, FloatArray]:
        """Returns levels and values minus their means, without levels that have no value."""
        told = np.flatnonzero(~np.isnan(self.values))
        if not len(told):
            return np.zeros(1), np.zeros(1)
        values = self.values[told]
        flat = bool(np.ptp(values) == 0)
        return told - told.mean(), np.zeros(len(told)) if flat else values - values.mean()


METRICS = ("auroc", "fpr95", "aupr-in")
"""Names of the paper's three metrics; IND is the positive class."""
AXES = ("semantic", "covariate")
"""Names of the axes of a grid's columns and rows."""

_CELL = re.compile(r"s([1-9]\d*)c([1-9]\d*)")


def cell_name(semantic: int, covariate: int) -> str:
    """Returns the name of a cell, with its levels counted from 1 as in the paper.

    >>> cell_name(0, 7)
    's1c8'
    """
    return f"s{semantic + 1}c{covariate + 1}"


def cell_of(name: str) -> tuple[int, int] | None:
    """Returns the levels of a cell, from 0, by its name; None if the name is not a cell's.

    >>> cell_of("s1c8"), cell_of("frost")
    ((0, 7), None)
    """
    found = _CELL.fullmatch(name)
    return (int(found[1]) - 1, int(found[2]) - 1) if found else None


def over_cells(
    ind: ArrayLike, scores: FloatArray, shift: ShiftGrid, metric: str, least: int = LEAST
) -> FloatArray:
    """Returns a detection metric on every cell, all IND images against the cell's, float64 (count, count).

    Args:
        ind: Scores of a detector on IND images (m,), higher = more OOD.
        scores: Scores of the detector on the shifted images (n,).
        shift: Cells of these n images.
        metric: Name of the metric in DETECTION_METRICS.
        least: Smallest number of images of a measured cell; others are nan.
    """
    found = np.full((shift.count, shift.count), np.nan)
    for covariate, semantic in zip(*np.nonzero(shift.told(least)), strict=True):
        rows = shift.cell(semantic, covariate)
        found[covariate, semantic] = DETECTION_METRICS[metric](ind, scores[rows])
    return found


def along(grid: FloatArray, axis: str) -> FloatArray:
    """Returns the mean over the other axis at each level of `axis`, of the cells that are not nan, (count,).

    >>> along(np.array([[1, 3], [np.nan, 5]]), "semantic")
    array([1., 4.])
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        return np.nanmean(grid, axis=AXES.index(axis))


def effects(grid: FloatArray, axis: str) -> FloatArray:
    """Returns the levels of `axis` by a least-squares fit of row plus column effects, (count,).

    Without nan cells, these are the means of `along`. With nan cells, means over the other axis compare
    levels on different cells; the effects do not. A level without a cell is nan, and all are nan if the
    measured cells do not link the levels.

    >>> effects(np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]]), "semantic")
    array([2., 3., 4.])
    """
    rows = grid if axis == AXES[0] else grid.T
    other, own = np.nonzero(~np.isnan(rows))
    found = np.full(rows.shape[1], np.nan)
    if not len(own):
        return found
    (here, column), (there, row) = (np.unique(each, return_inverse=True) for each in (own, other))
    design = np.hstack([np.eye(len(here))[column], np.eye(len(there))[row]])
    if np.linalg.matrix_rank(design) < len(here) + len(there) - 1:
        return found
    fitted = np.linalg.lstsq(design, rows[other, own], rcond=None)[0]
    found[here] = fitted[: len(here)] + fitted[len(here) :].mean()
    return found


@dataclass(frozen=True)
class Grid:
    """The detection metrics of every cell.

    Attributes:
        counts: Number of images of each cell, int64 (count, count).
        values: Values on the cells, float64 (count, count), by detector and metric.
    """

    counts: NDArray[np.int64]
    values: Mapping[str, Mapping[str, FloatArray]]

    def cells(self) -> pd.DataFrame:
        """Returns a row for each detector and cell: its levels from 1, its images, each metric."""
        covariate, semantic = (found.ravel() + 1 for found in np.indices(self.counts.shape))
        frames = [
            pd.DataFrame(
                {
                    "detector": name,
                    "semantic": semantic,
                    "covariate": covariate,
                    "images": self.counts.ravel(),
                    **{metric: found.ravel() for metric, found in metrics.items()},
                }
            )
            for name, metrics in self.values.items()
        ]
        return pd.concat(frames, ignore_index=True)

    def curves(self) -> pd.DataFrame:
        """Returns a row for each detector, metric, axis and level (from 1): the mean over the other axis."""
        rows = [
            (name, metric, axis, level, value)
            for name, metrics in self.values.items()
            for metric, found in metrics.items()
            for axis in AXES
            for level, value in enumerate(along(found, axis), start=1)
        ]
        return pd.DataFrame(rows, columns=["detector", "metric", "axis", "level", "value"])

    def trends(self, metric: str) -> pd.DataFrame:
        """Returns the correlation and the sensitivity (points per level) of each detector along either axis.

        This is the paper's table for this metric (1, 2 and 4 to 7; eqs. 5 and 6). Columns that end in
        "_fitted" have the same numbers for `effects`. High semantic and low covariate sensitivity is usually
        desirable.
        """
        rows = []
        for name, metrics in self.values.items():
            row: dict[str, str | float] = {"detector": name}
            for ending, levels in (("", along), ("_fitted", effects)):
                for axis in AXES:
                    found = Trend(levels(metrics[metric], axis))
                    row[f"{axis}_correlation{ending}"] = found.correlation
                    row[f"{axis}_sensitivity{ending}"] = 100 * found.sensitivity
            rows.append(row)
        return pd.DataFrame(rows)


def measure(
    ind: Mapping[str, FloatArray], scores: Mapping[str, FloatArray], shift: ShiftGrid, least: int = LEAST
) -> Grid:
    """Returns every metric of METRICS of every detector on every cell.

    Args:
        ind: Scores of IND images (m,) by detector, higher = more OOD.
        scores: Scores of the shifted images (n,) by detector.
        shift: Cells of these n images.
        least: Smallest number of images of a measured cell; others are nan.
    """
    values = {
        name: {metric: over_cells(ind[name], found, shift, metric, least) for metric in METRICS}
        for name, found in scores.items()
    }
    return Grid(shift.counts, values)
