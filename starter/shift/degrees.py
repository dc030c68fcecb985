"""Shift degrees: the distance of each image from the ID images in meaning and in style, and their levels.

A degree is the cosine distance to the k-th nearest ID image in one half of the decomposed features (Long et
al., NeurIPS 2024, eq. 4 and appendix C, with k = 10 instead of 1).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch.nn.functional import normalize
from tqdm import tqdm

from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput

NEIGHBOUR = 10
LEVELS = 8
LEAST = 10
"""Smallest number of images of a measured cell; others are N/A."""
_ROWS, _COLUMNS = 256, 1 << 17
"""Size of a block of similarities, 128 MiB."""


def kth_distance(
    queries: FloatArray,
    reference: FloatArray,
    k: int = NEIGHBOUR,
    leave_out: NDArray[np.int64] | None = None,
    device: str = "cpu",
    progress: bool = False,
) -> FloatArray:
    """Returns the exact cosine distance of each query to its k-th nearest reference: float32 (n,) in [0, 2].

    A row of zeros has distance 1 from everything, as in scikit-learn.

    Args:
        queries: Features of the images (n, l), of any norm.
        reference: Features of the ID images (m, l).
        k: Rank of the neighbour, 1 for the nearest.
        leave_out: Row of the reference to ignore, since it is the query itself, (n,); -1 for none.
        device: Name of PyTorch's device for the products.
        progress: True to show a progress bar.

    Raises:
        ValueError: shapes do not fit, or a value is not finite.
        UnusableInput: there are fewer than k reference rows.
    """
    left = np.full(len(queries), -1) if leave_out is None else np.asarray(leave_out)
    if queries.ndim != 2 or reference.ndim != 2 or queries.shape[1] != reference.shape[1]:
        raise ValueError(
            f"queries and reference must be (n, l), (m, l); got {queries.shape}, {reference.shape}"
        )
    if left.shape != (len(queries),):
        raise ValueError(f"leave_out must be ({len(queries)},), got {left.shape}")
    if not (np.isfinite(queries).all() and np.isfinite(reference).all()):
        raise ValueError("queries and reference must be finite")
    rows = len(reference) - int((left >= 0).any())
    if not 1 <= k <= rows:
        raise UnusableInput(f"the distance to ID image {k} needs that many ID images, got {rows}")
    known, found = _unit(reference, device), np.empty(len(queries), np.float32)
    starts = range(0, len(queries), _ROWS)
    for start in tqdm(starts, desc="distances", unit="block", disable=None if progress else True):
        block = slice(start, start + _ROWS)
        best = _largest(_unit(queries[block], device), known, left[block], k)
        found[block] = 1 - best.amin(1).cpu().numpy()
    return found.clip(0, 2)


def _unit(rows: FloatArray, device: str) -> torch.Tensor:
    return normalize(torch.from_numpy(np.ascontiguousarray(rows, np.float32)).to(device))


def _largest(queries: torch.Tensor, known: torch.Tensor, left: NDArray[np.int64], k: int) -> torch.Tensor:
    """Returns the k largest similarities (b, k) of unit rows (b, l) and (m, l), in any order."""
    best = queries.new_empty(len(queries), 0)
    for start in range(0, len(known), _COLUMNS):
        similar = queries @ known[start : start + _COLUMNS].T
        here = np.flatnonzero((left >= start) & (left < start + similar.shape[1]))
        similar[torch.from_numpy(here), torch.from_numpy(left[here] - start)] = -3
        best = torch.cat([best, similar.topk(min(k, similar.shape[1]), sorted=False).values], 1)
    return best.topk(k, sorted=False).values


def levels(degrees: ArrayLike, low: float, high: float, count: int = LEVELS) -> IntArray:
    """Returns the level 0..count-1 of each degree (n,) in equal intervals of [low, high]; -1 outside.

    An interval includes its lower end and, except for the last, excludes its upper end.

    Raises:
        UnusableInput: low is not below high, or count is below 1.
    """
    if not low < high or count < 1:
        raise UnusableInput(f"levels: {count} intervals from {low:g} to {high:g} are none")
    values = np.asarray(degrees, np.float64)
    level = np.searchsorted(edges(low, high, count), values, side="right") - 1
    level = np.where(values == high, count - 1, level)
    return np.where((values >= low) & (values <= high), level, -1).astype(np.int64)


def edges(low: float, high: float, count: int = LEVELS) -> NDArray[np.float64]:
    """Returns the ends of the intervals, float64 (count + 1,)."""
    return np.linspace(low, high, count + 1)


def cell_counts(semantic: IntArray, covariate: IntArray, count: int = LEVELS) -> NDArray[np.int64]:
    """Returns the number of images of each cell, int64 (count, count): rows covariate, columns semantic.

    Images outside either range (level -1) are in no cell.
    """
    inside = (semantic >= 0) & (covariate >= 0)
    cells = covariate[inside] * count + semantic[inside]
    return np.bincount(cells, minlength=count * count).reshape(count, count)


@dataclass(frozen=True, eq=False)
class ShiftGrid:
    """Images by level of semantic and of covariate shift.

    Attributes:
        semantic, covariate: Levels of each image, int64 (n,), 0..count-1, or -1 outside the range.
        semantic_edges, covariate_edges: Ends of the levels, float64 (count + 1,).
    """

    semantic: IntArray
    covariate: IntArray
    semantic_edges: NDArray[np.float64]
    covariate_edges: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        semantic: FloatArray,
        covariate: FloatArray,
        semantic_range: tuple[float, float] | None = None,
        covariate_range: tuple[float, float] | None = None,
        count: int = LEVELS,
    ) -> "ShiftGrid":
        """Returns the grid of images with these degrees (n,); a range is `usual_range` unless given."""
        ends = semantic_range or usual_range(semantic), covariate_range or usual_range(covariate)
        first, second = (
            levels(each, *end, count) for each, end in zip((semantic, covariate), ends, strict=True)
        )
        return cls(first, second, edges(*ends[0], count), edges(*ends[1], count))

    @property
    def count(self) -> int:
        """Number of levels per axis."""
        return len(self.semantic_edges) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of images of each cell, int64 (count, count), rows covariate, columns semantic."""
        return cell_counts(self.semantic, self.covariate, self.count)

    def told(self, least: int = LEAST) -> NDArray[np.bool_]:
        """Returns True for cells with enough images to be measured, bool (count, count)."""
        return self.counts >= least

    def cell(self, semantic: int, covariate: int) -> NDArray[np.int64]:
        """Returns the images of a cell, ascending."""
        return np.flatnonzero((self.semantic == semantic) & (self.covariate == covariate))


def usual_range(degrees: FloatArray) -> tuple[float, float]:
    """Returns the 1st and 99th percentile of degrees (n,): a few far images do not stretch the levels."""
    low, high = np.quantile(degrees.astype(np.float64), (0.01, 0.99))
    return float(low), float(high)


def shift_degrees(
    queries: tuple[FloatArray, FloatArray],
    reference: tuple[FloatArray, FloatArray],
    k: int = NEIGHBOUR,
    leave_out: NDArray[np.int64] | None = None,
    device: str = "cpu",
) -> tuple[FloatArray, FloatArray]:
    """Returns semantic and covariate degrees, (n,) each, from decomposed features of images and ID images.

    Args:
        queries: Semantic and covariate halves of the images' features, from `Laid.decompose`.
        reference: Semantic and covariate halves of the ID images' features.
        k: Rank of the neighbour, see `kth_distance`.
        leave_out: Rows of the reference to ignore, see `kth_distance`.
        device: Name of PyTorch's device.
    """
    first, second = (
        kth_distance(query, known, k, leave_out, device)
        for query, known in zip(queries, reference, strict=True)
    )
    return first, second
