"""Image filters on batches, for the operations: blurs, magnification, displacement, JPEG; and textures.

Sums over pixels are computed as single multiplications and additions in a fixed order, so that results do
not depend on the batch size or on the number of threads.
"""

import math
from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import grid_sample

from starter.data.operations.kernels import blur
from submission.arrays import FloatArray, Pixels

EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])


def take(values: Tensor, dim: int, index: NDArray[np.integer]) -> Tensor:
    """Returns slices of `values` at `index` along `dim`, by NumPy: torch is ten times as slow along rows."""
    return torch.from_numpy(values.numpy().take(index, dim))


def padded(values: Tensor, radius: int, mode: str = "reflect") -> FloatArray:
    """Returns `values` (b, c, h, w) with `radius` more pixels at each side, by NumPy's `pad`; float32."""
    sides = ((0, 0), (0, 0), (radius, radius), (radius, radius))
    return np.pad(values.numpy(), sides, mode).astype(np.float32)  # type: ignore[call-overload]


def weighted_sum(terms: Iterable[tuple[float | Tensor, Tensor]]) -> Tensor:
    """Returns the sum of weight * values, added term by term in order: the same bytes on every machine."""
    total: Tensor | None = None
    for weight, values in terms:
        total = values * weight if total is None else total.add_(values * weight)
    assert total is not None
    return total


def gaussian(values: Tensor, sigma: float, mode: str = "edge", truncate: float = 4) -> Tensor:
    """Blur (b, c, h, w) by a sampled Gaussian of radius `truncate` * sigma pixels, as SciPy does; float32."""
    radius = int(truncate * sigma + 0.5)
    if not radius:
        return values.float()
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights = (weights / weights.sum()).astype(np.float32)
    return _blurred(values, np.tile(weights, (len(values), 1)), mode)


def gaussian_each(values: Tensor, sigmas: Tensor, radii: Tensor) -> Tensor:
    """Blur images (b, c, h, w) by their sigma and whole radius (b,) as OpenCV, borders reflected; float32."""
    radius = int(radii.max())
    steps = torch.arange(-radius, radius + 1)
    weights = torch.exp(-0.5 * (steps / sigmas.double().clamp(min=1e-3)[:, None]) ** 2)
    weights *= steps.abs() <= radii[:, None]
    return _blurred(values, (weights / weights.sum(1, keepdim=True)).float().numpy(), "reflect")


def _blurred(values: Tensor, weights: FloatArray, mode: str) -> Tensor:
    """Blur (b, c, h, w) by weights (b, taps) down and across, padded by NumPy's `pad` in `mode`; float32."""
    result = torch.empty(values.shape)
    blur(padded(values, weights.shape[1] // 2, mode), weights, result.numpy())
    return result


def motion_blur(images: Tensor, radius: float, sigma: float, degrees: FloatArray) -> Tensor:
    """Blur uint8 (b, c, h, w) along half-lines of 2 radius + 1 pixels in directions (b,); float32."""
    # Weights are half a Gaussian, places are rounded to whole pixels, as in ImageMagick; the edge continues.
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
    """Magnify the middle of float32 (b, c, h, w) by `factor` >= 1, bilinear; the size stays the same."""
    for dim in (2, 3):
        n = values.shape[dim]
        crop = math.ceil(n / factor)
        full = max(round(crop * factor), n)
        places = (np.arange(n) + (full - n) // 2) * ((crop - 1) / max(full - 1, 1)) + (n - crop) // 2
        low = np.minimum(places.astype(np.int64), n - 1)
        share = torch.from_numpy((places - low).astype(np.float32)).view(-1, *[1] * (3 - dim))
        near, far = take(values, dim, low), take(values, dim, np.minimum(low + 1, n - 1))
        values = far.sub_(near).mul_(share).add_(near)
    return values


def read_at(values: Tensor, x: Tensor, y: Tensor, outside: str, mode: str = "bilinear") -> Tensor:
    """Returns float32 (b, c, h, w) read at the places x, y (b, h, w), in pixels.

    `mode` is "bilinear" or "bicubic" (OpenCV's, with a = -0.75). `outside` is "black", "mirror" (reflect at
    the outermost pixels' centres) or "reflect" (at their outer edges).
    """
    centres = outside == "mirror"
    grid = torch.empty(*x.shape, 2)
    for axis, (places, n) in enumerate(((x, values.shape[3]), (y, values.shape[2]))):
        scaled = places * (2 / max(n - 1, 1)) if centres else (places + 0.5) * (2 / n)
        torch.sub(scaled, 1, out=grid[..., axis])
    padding = "zeros" if outside == "black" else "reflection"
    return grid_sample(values, grid, mode, padding, align_corners=centres)


def jpeg(images: Tensor, qualities: Iterable[int]) -> Tensor:
    """Compress and decode uint8 (b, 3, h, w) as JPEG, one image at a time: the codec takes no batches."""
    decoded: list[Any] = []
    for image, quality in zip(images.flip(1).permute(0, 2, 3, 1).numpy(), qualities, strict=True):
        encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        decoded.append(cv2.imdecode(encoded, cv2.IMREAD_COLOR))
    return torch.from_numpy(np.stack(decoded)).permute(0, 3, 1, 2).flip(1).contiguous()


def plasma(noise: Generator, n: int, side: int, decay: float) -> FloatArray:
    """Returns n clouds (n, size, size) in [0, 1] by diamond-square on a torus; size is 2^k >= `side`."""
    size = 1 << max(side - 1, 1).bit_length()
    field = np.zeros((n, size, size))
    step, wobble = size, 100.0
    while step >= 2:
        half = step // 2

        def wobbled(total: FloatArray, wobble: float = wobble) -> FloatArray:
            return total / 4 + wobble * noise.uniform(-wobble, wobble, total.shape)

        corners = field[:, ::step, ::step]
        total = corners + np.roll(corners, -1, 1)
        field[:, half::step, half::step] = wobbled(total + np.roll(total, -1, 2))
        centres = field[:, half::step, half::step]
        across = centres + np.roll(centres, 1, 1) + corners + np.roll(corners, -1, 2)
        field[:, ::step, half::step] = wobbled(across)
        down = centres + np.roll(centres, 1, 2) + corners + np.roll(corners, -1, 1)
        field[:, half::step, ::step] = wobbled(down)
        step, wobble = half, wobble / decay
    field -= field.min((1, 2), keepdims=True)
    return field / field.max((1, 2), keepdims=True)


def ice(noise: Generator, n: int, side: int) -> Tensor:
    """Returns textures like frost on a pane: bluish veins on grey, float32 (n, 3, size, size) on 0..255."""
    veins = [1 - np.abs(2 * plasma(noise, n, side, 1.6) - 1) for _ in range(2)]
    film = plasma(noise, n, side, 2.0)
    light = 0.35 + 0.25 * film + 0.4 * np.maximum(*veins) ** 6
    tint = np.array([0.86, 0.95, 1.0]).reshape(1, 3, 1, 1)
    return torch.from_numpy((255 * light[:, None] * tint).astype(np.float32))


def water(liquid: FloatArray) -> FloatArray:
    """Returns the light on drops of liquid, (b, h, w), clipped to [0, 1], where the authors' wraps around."""
    layers = (np.clip(liquid, 0, 1) * 255).astype(np.uint8)
    light = layers * np.stack([_relief(layer) for layer in layers]).astype(np.float32)
    return light / np.maximum(light.max((1, 2), keepdims=True), 1)


def _relief(layer: Pixels) -> NDArray[Any]:
    """Returns the slopes of the smoothed distances from the edges of one image, (h, w)."""
    distance = np.minimum(cv2.distanceTransform(255 - cv2.Canny(layer, 50, 150), cv2.DIST_L2, 5), 20)
    smooth = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))
    return cv2.blur(cv2.filter2D(smooth, cv2.CV_8U, EMBOSS), (3, 3))
