"""Detectors over a grid of shifts: semantic level by covariate level (Long et al., NeurIPS 2024, section 3).

A grid is an array [semantic level, covariate level], the smallest shift first; nan stands for N/A.
"""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from starter.severity import Trend
from submission.detection import DETECTION_METRICS

LEVELS = 8
"""Levels of either axis."""
LEAST = 10
"""Cells of fewer images are N/A."""
METRICS = ("auroc", "fpr95", "aupr-in")
"""The paper's three; IND is the positive class."""
AXES = ("semantic", "covariate")

FloatArray = NDArray[np.float64]
Levels = NDArray[np.int64]
_CELL = re.compile(r"s([1-9]\d*)c([1-9]\d*)")


def cell_name(semantic: int, covariate: int) -> str:
    """How a cell is called, its levels counted from 1 as in the paper.

    >>> cell_name(0, 7)
    's1c8'
    """
    return f"s{semantic + 1}c{covariate + 1}"


def cell_of(name: str) -> tuple[int, int] | None:
    """The levels, from 0, of a cell's name; None if it is none.

    >>> cell_of("s1c8"), cell_of("frost")
    ((0, 7), None)
    """
    found = _CELL.fullmatch(name)
    return (int(found[1]) - 1, int(found[2]) - 1) if found else None


def members(semantic: Levels, covariate: Levels, levels: int = LEVELS) -> dict[tuple[int, int], Levels]:
    """The images of every cell, int64 (m,), ascending; a level below 0 is out of range and in no cell.

    Args:
        semantic, covariate: int64 (n,), each image's level in 0..levels - 1, or -1.
        levels: of either axis.

    Raises:
        ValueError: they do not fit each other, or a level is too large.
    """
    if semantic.shape != covariate.shape or semantic.ndim != 1:
        raise ValueError(f"levels must be (n,) of either axis, got {semantic.shape} and {covariate.shape}")
    if len(semantic) and max(semantic.max(), covariate.max()) >= levels:
        raise ValueError(f"levels must lie below {levels}, got {max(semantic.max(), covariate.max())}")
    inside = np.flatnonzero((semantic >= 0) & (covariate >= 0))
    place = semantic[inside] * levels + covariate[inside]
    order = np.argsort(place, kind="stable")
    rows = np.split(inside[order], np.searchsorted(place[order], np.arange(1, levels**2)))
    return {divmod(cell, levels): found for cell, found in enumerate(rows)}


def over_cells(
    ind: ArrayLike,
    scores: FloatArray,
    cells: Mapping[tuple[int, int], Levels],
    metric: str,
    least: int = LEAST,
) -> FloatArray:
    """A detection metric on every cell, all IND images against the cell's, float64 (levels, levels).

    Args:
        ind: a detector's scores of IND images (m,), higher = more OOD.
        scores: of the shifted images (n,).
        cells: the images of each cell, as `members` gives them.
        metric: a name in DETECTION_METRICS.
        least: cells of fewer images are nan.
    """
    found = np.full((max(cells)[0] + 1, max(cells)[1] + 1), np.nan)
    for cell, rows in cells.items():
        if len(rows) >= least:
            found[cell] = DETECTION_METRICS[metric](ind, scores[rows])
    return found


def along(grid: FloatArray, axis: str) -> FloatArray:
    """The mean over the other axis at each level of `axis`, of the cells that are not nan, (levels,).

    >>> along(np.array([[1, 3], [np.nan, 5]]), "semantic")
    array([2., 5.])
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        return np.nanmean(grid, axis=1 - AXES.index(axis))


@dataclass(frozen=True)
class Grid:
    """What detectors do on every cell.

    Attributes:
        counts: int64 (levels, levels), images in a cell.
        values: detector -> metric -> float64 (levels, levels).
    """

    counts: Levels
    values: Mapping[str, Mapping[str, FloatArray]]

    def cells(self) -> pd.DataFrame:
        """A row for each detector and cell: its levels from 1, its images, each metric."""
        semantic, covariate = (found.ravel() + 1 for found in np.indices(self.counts.shape))
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
        """A row for each detector, metric, axis and level (from 1): the mean over the other axis."""
        rows = [
            (name, metric, axis, level, value)
            for name, metrics in self.values.items()
            for metric, found in metrics.items()
            for axis in AXES
            for level, value in enumerate(along(found, axis), start=1)
        ]
        return pd.DataFrame(rows, columns=["detector", "metric", "axis", "level", "value"])

    def trends(self, metric: str) -> pd.DataFrame:
        """Correlation, and sensitivity in percentage points a level, of each detector along either axis.

        The table of the paper for this metric (1, 2 and 4 to 7; eqs. 5 and 6). One may want a high semantic
        and a low covariate sensitivity.
        """
        rows = []
        for name, metrics in self.values.items():
            row: dict[str, str | float] = {"detector": name}
            for axis in AXES:
                found = Trend(along(metrics[metric], axis))
                row[f"{axis}_correlation"] = found.correlation
                row[f"{axis}_sensitivity"] = 100 * found.sensitivity
            rows.append(row)
        return pd.DataFrame(rows)


def measure(
    ind: Mapping[str, FloatArray],
    scores: Mapping[str, FloatArray],
    semantic: Levels,
    covariate: Levels,
    levels: int = LEVELS,
    least: int = LEAST,
) -> Grid:
    """Every metric of METRICS of every detector on every cell.

    Args:
        ind: detector -> its scores of IND images (m,), higher = more OOD.
        scores: detector -> its scores of the shifted images (n,).
        semantic, covariate: int64 (n,), each image's levels as in `members`.
        levels: of either axis.
        least: cells of fewer images are nan.

    Raises:
        ValueError: as `members`.
    """
    cells = members(semantic, covariate, levels)
    counts = np.array([len(cells[cell]) for cell in sorted(cells)]).reshape(levels, levels)
    values = {
        name: {metric: over_cells(ind[name], found, cells, metric, least) for metric in METRICS}
        for name, found in scores.items()
    }
    return Grid(counts, values)
