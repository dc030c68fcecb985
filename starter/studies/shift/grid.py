"""Shift grids: the distance of images from the ID images in meaning and in style, and detectors over them.

Source: Long et al., NeurIPS 2024, section 3. A degree is the cosine distance to the k-th nearest ID image in
one half of the decomposed features (eq. 4 and appendix C, with k = 10 instead of 1). A map is an array
[covariate level, semantic level], the smallest shift first; nan means N/A. Correlation and sensitivity
describe the trend of a detector as a shift grows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import normalize

from starter.observing.detectors.metrics import DETECTION_METRICS
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput

NEIGHBOUR = 10
LEVELS = 8
PROMPTS_FILE = "prompts.csv"
"""Name of the file by which a folder of `unseen shift generate` is known."""
LEAST = 10
"""Smallest number of images of a measured cell; others are N/A."""
METRICS = ("auroc", "fpr95", "aupr-in")
"""Names of the paper's three metrics; IND is the positive class."""
AXES = ("semantic", "covariate")
"""Names of the axes of a map's columns and rows."""
_BLOCK = 1 << 25
"""Number of similarities computed at a time, 128 MiB."""


def kth_distance(
    queries: FloatArray, reference: FloatArray, k: int = NEIGHBOUR, device: str = "cpu"
) -> FloatArray:
    """Returns the exact cosine distance (of zeros 1) of queries (n, l) to the k-th nearest (m, l): (n,)."""
    if not 1 <= k <= len(reference):
        raise UnusableInput(f"the distance to ID image {k} needs that many ID images, got {len(reference)}")
    known, found = _unit(reference, device), np.empty(len(queries), np.float32)
    rows = min(256, -(-_BLOCK // len(reference)))
    for start in range(0, len(queries), rows):
        similar = _unit(queries[start : start + rows], device) @ known.T
        found[start : start + rows] = 1 - similar.topk(k, sorted=False).values.amin(1).cpu().numpy()
    return found.clip(0, 2)


def _unit(rows: FloatArray, device: str) -> torch.Tensor:
    return normalize(torch.from_numpy(np.ascontiguousarray(rows, np.float32)).to(device))


def shift_degrees(
    queries: tuple[FloatArray, FloatArray], reference: tuple[FloatArray, FloatArray], device: str = "cpu"
) -> FloatArray:
    """Returns semantic and covariate degrees (2, n), from both halves of images' and ID images' features."""
    halves = zip(queries, reference, strict=True)
    return np.stack([kth_distance(query, known, device=device) for query, known in halves])


@dataclass(frozen=True, eq=False)
class ShiftGrid:
    """Images by semantic and covariate level, int64 (2, n), -1 outside the `edges` (2, LEVELS + 1)."""

    levels: IntArray
    edges: FloatArray

    @classmethod
    def of(cls, degrees: FloatArray) -> "ShiftGrid":
        """Returns the grid of images with these semantic and covariate degrees (2, n)."""
        degrees = degrees.astype(np.float64)
        # Levels are equal intervals, which a few far images do not stretch.
        low, high = np.quantile(degrees, (0.01, 0.99), axis=1)
        edges = np.linspace(low, high, LEVELS + 1, axis=1)
        found = [np.digitize(*axis) - 1 for axis in zip(degrees, edges, strict=True)]
        return cls(np.where(degrees > high[:, None], -1, np.minimum(found, LEVELS - 1)), edges)

    @classmethod
    def of_folders(cls, folders: Sequence[tuple[str, int]]) -> "ShiftGrid":
        """Returns the grid of what `unseen shift generate` wrote, by names and sizes; its edges are nan."""
        cells = [[int(part[1:]) - 1 for part in name.split("_")[:2]] for name, _ in folders]
        levels = np.repeat(np.array(cells).T, [size for _, size in folders], axis=1)
        return cls(levels, np.full((2, LEVELS + 1), np.nan))

    @property
    def counts(self) -> IntArray:
        """Number of images of each cell, int64 (LEVELS, LEVELS), rows covariate, columns semantic."""
        semantic, covariate = self.levels[:, (self.levels >= 0).all(0)]
        return np.bincount(covariate * LEVELS + semantic, minlength=LEVELS**2).reshape(LEVELS, LEVELS)

    def cell(self, semantic: int, covariate: int) -> IntArray:
        """Returns the images of a cell, ascending."""
        return np.flatnonzero((self.levels == [[semantic], [covariate]]).all(0))


def correlation(values: FloatArray) -> float:
    """Returns Pearson's correlation of values (n,), nan left out, with their levels 1..n (eq. 5), or nan."""
    levels = np.flatnonzero(~np.isnan(values))
    if len(levels) < 2 or not np.ptp(values[levels]):
        return math.nan
    return float(np.corrcoef(levels, values[levels])[0, 1])


def sensitivity(values: FloatArray) -> float:
    """Returns the absolute slope of values (n,), nan left out: the change per level (eq. 6)."""
    levels = np.flatnonzero(~np.isnan(values))
    return abs(float(np.polyfit(levels, values[levels], 1)[0])) if len(levels) > 1 else math.nan


def along(grid: FloatArray, axis: str) -> FloatArray:
    """Returns the mean over the other axis at each level of `axis`, of the cells that are not nan, (count,).

    >>> along(np.array([[1, 3], [np.nan, 5]]), "semantic")
    array([1., 4.])
    """
    return pd.DataFrame(grid).mean(axis=AXES.index(axis)).to_numpy()


def cell_table(
    ind: Mapping[str, FloatArray], scores: Mapping[str, FloatArray], shift: ShiftGrid
) -> pd.DataFrame:
    """Returns each detector's metrics of each cell: its scores (n,) against all IND scores (m,)."""
    rows = []
    for name, found in scores.items():
        for covariate, semantic in np.ndindex(LEVELS, LEVELS):
            cell = found[shift.cell(semantic, covariate)]
            measured = (
                DETECTION_METRICS[metric](ind[name], cell) if len(cell) >= LEAST else math.nan
                for metric in METRICS
            )
            rows.append((name, semantic + 1, covariate + 1, len(cell), *measured))
    return pd.DataFrame(rows, columns=["detector", *AXES, "images", *METRICS])


def maps(cells: pd.DataFrame, column: str) -> dict[str, FloatArray]:
    """Returns a column of `cell_table` as a map (LEVELS, LEVELS) of each detector."""
    return {
        str(name): part[column].to_numpy(np.float64).reshape(LEVELS, LEVELS)
        for name, part in cells.groupby("detector", sort=False)
    }


def trend_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns correlation and sensitivity (points a level) along either axis (eqs. 5, 6)."""
    rows = []
    for metric in METRICS:
        for name, found in maps(cells, metric).items():
            row: dict[str, str | float] = {"detector": name}
            for axis in AXES:
                values = along(found, axis)
                row[f"{axis}_correlation"] = correlation(values)
                row[f"{axis}_sensitivity"] = 100 * sensitivity(values)
            rows.append(row | {"metric": metric})
    return pd.DataFrame(rows)


def edge_table(shift: ShiftGrid) -> pd.DataFrame:
    """Returns the ends of every level of either axis, with the number of its images."""
    levels = range(1, LEVELS + 1)
    tables = [
        {"axis": axis, "level": levels, "low": ends[:-1], "high": ends[1:], "images": images}
        for axis, ends, images in zip(AXES, shift.edges, map(shift.counts.sum, (0, 1)), strict=True)
    ]
    return pd.concat(map(pd.DataFrame, tables))
