"""Filters that corruptions are made of, on batches: blurs, magnification, reading at displaced places.

Every sum over pixels is a multiplication and an addition each, in a fixed order, so that the results do not
depend on the batch size or on the number of threads.
"""

import math
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import grid_sample


def shifted(values: Tensor, dim: int, radius: int, mode: str) -> list[Tensor]:
    """The 2 radius + 1 shifted views of `values` along `dim`; the outside as NumPy's `pad` modes have it."""
    n = values.shape[dim]
    index = np.pad(np.arange(n), radius, mode=mode)  # type: ignore[call-overload]
    padded = values.index_select(dim, torch.from_numpy(index))
    return [padded.narrow(dim, start, n) for start in range(2 * radius + 1)]


def weighted_sum(terms: Iterable[tuple[float, Tensor]]) -> Tensor:
    """Sum of weight * values, in order; a multiplication and an addition each, and so the same everywhere."""
    total: Tensor | None = None
    for weight, values in terms:
        total = values * weight if total is None else total.add_(values * weight)
    assert total is not None
    return total


def gaussian(values: Tensor, sigma: float, mode: str = "edge", truncate: float = 4) -> Tensor:
    """Gaussian blur of float32 (b, c, h, w) by a sampled kernel of radius `truncate` * sigma, as SciPy's."""
    radius = int(truncate * sigma + 0.5)
    if not radius:
        return values
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    for dim in (2, 3):
        values = weighted_sum(zip(weights.tolist(), shifted(values, dim, radius, mode), strict=True))
    return values


def motion_blur(images: Tensor, radius: float, sigma: float, degrees: NDArray[np.float64]) -> Tensor:
    """Blur uint8 (b, c, h, w) along a half-line of 2 radius + 1 pixels, each image in its own direction
    (b,), with half-Gaussian weights; places are rounded to pixels and outside is the edge, as ImageMagick's
    motion blur. Returns float32 of the same shape.
    """
    b, c, h, w = images.shape
    steps = np.arange(2 * int(radius) + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    radians = np.deg2rad(degrees)[:, None]
    rows, columns = np.arange(h), np.arange(w)
    flat = images.flatten(2)

    def read(step: int) -> Tensor:
        y = np.clip(rows + np.ceil(step * np.sin(radians) - 0.5), 0, h - 1)
        x = np.clip(columns + np.ceil(step * np.cos(radians) - 0.5), 0, w - 1)
        index = torch.from_numpy((y[:, :, None] * w + x[:, None, :]).astype(np.int64)).view(b, 1, h * w)
        return flat.gather(2, index.expand(b, c, h * w)).float()

    return weighted_sum((weight, read(step)) for step, weight in enumerate(weights.tolist())).view(b, c, h, w)


def zoom(values: Tensor, factor: float) -> Tensor:
    """Magnify the middle of float32 (b, c, h, w) by `factor` >= 1, bilinear, keeping the size."""
    for dim in (2, 3):
        n = values.shape[dim]
        crop = math.ceil(n / factor)
        full = max(round(crop * factor), n)
        places = (np.arange(n) + (full - n) // 2) * ((crop - 1) / max(full - 1, 1)) + (n - crop) // 2
        low = np.minimum(places.astype(np.int64), n - 1)
        share = torch.from_numpy((places - low).astype(np.float32)).view(-1, *[1] * (3 - dim))
        near = values.index_select(dim, torch.from_numpy(low))
        far = values.index_select(dim, torch.from_numpy(np.minimum(low + 1, n - 1)))
        values = far.sub_(near).mul_(share).add_(near)
    return values


def read_at(values: Tensor, x: Tensor, y: Tensor, corners: bool) -> Tensor:
    """Bilinear reading of float32 (b, c, h, w) at pixel places x, y (b, h, w); outside it is reflected at the
    outermost pixels' centres (`corners`) or at their edges.
    """
    h, w = values.shape[2:]
    if corners:
        grid = torch.stack([x * (2 / max(w - 1, 1)) - 1, y * (2 / max(h - 1, 1)) - 1], 3)
    else:
        grid = torch.stack([(x + 0.5) * (2 / w) - 1, (y + 0.5) * (2 / h) - 1], 3)
    return grid_sample(values, grid, padding_mode="reflection", align_corners=corners)
