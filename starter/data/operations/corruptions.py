"""The 19 corruptions of CIFAR-10-C at severities 1 to 5, vectorised over the batch.

Paper: Hendrycks & Dietterich, Benchmarking Neural Network Robustness to Common Corruptions and Perturbations,
ICLR 2019; the constants, and that fractions are cut off at the end, are those of the authors' `make_cifar_c`.
`brighten` and `low_contrast` are its brightness and contrast, names that the default group uses for its own
operations. Frost is a drawn texture, where the authors use photographs.
"""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeVar

import cv2
import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from starter.data.operations import filters
from starter.data.operations.default import luma
from starter.data.operations.kernels import stretch_saturation
from starter.data.operations.operation import (
    Magnitudes,
    Operation,
    Parameter,
    compiled,
    operation,
    per_image,
    to_uint8,
    uniform,
)

T = TypeVar("T")

#: CIFAR-10-C's corruptions by name.
CORRUPTIONS: dict[str, Operation] = {}

_corruption = partial(operation, CORRUPTIONS, parameters={"severity": Parameter(int, 1, 5)})


def _at_severity(drawn: Magnitudes, constants: Sequence[T]) -> T:
    """Returns the constant, or the tuple of constants, for the severity in `drawn`, of those for 1 to 5."""
    return constants[drawn["severity"] - 1]


def _cut(values: Tensor) -> Tensor:
    """Convert to uint8 and cut fractions off, after undoing float32's rounding of whole numbers."""
    return to_uint8(values, 2e-4)


def _normal(noise: Generator, shape: Iterable[int]) -> Tensor:
    # NumPy draws the noise: Numba's own draws from the same generator are not always the same.
    return torch.from_numpy(noise.standard_normal(tuple(shape), np.float32))


@_corruption()
def _gaussian_noise(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    scale = _at_severity(drawn, [0.04, 0.06, 0.08, 0.09, 0.10])
    return to_uint8(_normal(noise, images.shape).mul_(255 * scale).add_(images))


@_corruption()
def _shot_noise(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    photons = _at_severity(drawn, [500, 250, 100, 75, 50])
    counts = noise.poisson(images.numpy() * (photons / 255))
    return _cut(torch.from_numpy((counts * (255 / photons)).astype(np.float32)))


@_corruption()
def _impulse_noise(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Set random values to 0 or 255, each with half of the probability."""
    amount = _at_severity(drawn, [0.01, 0.02, 0.03, 0.05, 0.07])
    chance = noise.random(images.shape, dtype=np.float32)
    result = images.numpy().copy()
    result[chance < amount] = 0
    result[chance < amount / 2] = 255
    return torch.from_numpy(result)


@_corruption()
def _speckle_noise(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    scale = _at_severity(drawn, [0.06, 0.1, 0.12, 0.16, 0.2])
    return to_uint8(_normal(noise, images.shape).mul_(scale).mul_(images).add_(images))


@_corruption()
def _defocus_blur(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Blur with a disk whose edge is softened."""
    radius, soft = _at_severity(drawn, [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)])
    reach = math.ceil(radius) + 1
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disk = (x**2 + y**2 <= radius**2).astype(np.float32)
    disk = cv2.GaussianBlur(disk / disk.sum(), (3, 3), soft)
    h, w = images.shape[2:]
    wide = torch.from_numpy(filters.padded(images, reach))
    terms = ((float(disk[i, j]), wide[:, :, i : i + h, j : j + w]) for i, j in np.argwhere(disk))
    return _cut(filters.weighted_sum(terms))


@_corruption()
def _glass_blur(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Replace random pixels by a neighbour's, between two Gaussian blurs.

    The authors' code means to swap pixels, and copies views: each pixel becomes itself or the one above it,
    to its left, or both, independently.
    """
    sigma, rounds = _at_severity(drawn, [(0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)])
    result = _cut(filters.gaussian(images.float(), sigma))
    for _ in range(rounds):
        inner = [result[:, :, 2 - dy :, 2 - dx :] for dy in (0, 1) for dx in (0, 1)]
        b, _, h, w = inner[0].shape
        place = [item[:, :, :h, :w] for item in inner]
        up, left = torch.from_numpy(noise.integers(0, 2, (b, 2, 1, h, w), dtype=np.uint8) > 0).unbind(1)
        moved = torch.where(up, torch.where(left, place[3], place[2]), torch.where(left, place[1], place[0]))
        result = result.clone()
        result[:, :, 2:, 2:] = moved
    return _cut(filters.gaussian(result.float(), sigma))


@_corruption(uniform(degrees=(-45, 45)))
def _motion_blur(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    radius, sigma = _at_severity(drawn, [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)])
    return to_uint8(filters.motion_blur(images, radius, sigma, drawn["degrees"]).add_(0.5))


@_corruption()
def _zoom_blur(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Average the image and its magnifications by 1, 1.01, ... up to the severity's factor."""
    factors = np.arange(1, _at_severity(drawn, [1.06, 1.11, 1.16, 1.21, 1.26]), 0.01)
    values = images.float()
    total = values.clone()
    for factor in factors:
        total.add_(filters.zoom(values, float(factor)))
    return _cut(total.div_(len(factors) + 1))


@_corruption()
def _gaussian_blur(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    return _cut(filters.gaussian(images.float(), _at_severity(drawn, [0.4, 0.6, 0.7, 0.8, 1.0])))


@_corruption(uniform(degrees=(-135, -45)))
def _snow(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    mean, scale, factor, floor, radius, sigma, share = _at_severity(
        drawn,
        [
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ],
    )
    b, _, h, w = images.shape
    flakes = filters.zoom(_normal(noise, (b, 1, h, w)).mul_(scale).add_(mean), factor)
    flakes = to_uint8(flakes.mul_(flakes >= floor).mul_(255))
    flakes = filters.motion_blur(flakes, radius, sigma, drawn["degrees"]).add_(0.5).floor_()
    values = images.float()
    pale = torch.maximum(values, luma(values).mul_(1.5).add_(127.5)).mul_(1 - share)
    return _cut(pale.add_(values.mul_(share)).add_(flakes).add_(flakes.flip(2, 3)))


@_corruption()
def _frost(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    share, frost = _at_severity(drawn, [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)])
    b, _, h, w = images.shape
    texture = filters.ice(noise, b, max(h, w))[:, :, :h, :w]
    return _cut((texture * frost).add_(images.float().mul_(share)))


@_corruption()
def _fog(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    amount, decay = _at_severity(drawn, [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)])
    b, _, h, w = images.shape
    clouds = torch.from_numpy(filters.plasma(noise, b, max(h, w), decay)[:, None, :h, :w]).float()
    brightest = images.flatten(1).amax(1).view(b, 1, 1, 1).float()
    return _cut(clouds.mul_(255 * amount).add(images).mul_(brightest / (brightest + 255 * amount)))


@_corruption()
def _brighten(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Raise V of HSV: all three channels grow by the same factor, and black becomes grey."""
    values = images.float()
    top = values.amax(1, keepdim=True)
    raised = (top + 255 * _at_severity(drawn, [0.05, 0.1, 0.15, 0.2, 0.3])).clamp_(max=255)
    return _cut(values.add_(top == 0).mul_(raised / top.clamp(min=1)))


@_corruption()
def _low_contrast(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Scale the distances from each channel's mean by a factor below 1."""
    b, c, h, w = images.shape
    means = (images.flatten(2).sum(2).double() / (h * w)).float().view(b, c, 1, 1)
    return _cut((images - means).mul_(_at_severity(drawn, [0.75, 0.5, 0.4, 0.3, 0.15])).add_(means))


@_corruption(lambda rng, n: {"corners": rng.uniform(-1, 1, (n, 3, 2))})
def _elastic_transform(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Apply an affine map that moves three points at random, then a smooth random displacement; bilinear."""
    strength, sigma, shake = _at_severity(
        drawn, [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)]
    )
    b, _, h, w = images.shape
    side = min(h, w)
    values = _points_moved(images.float(), side * shake * drawn["corners"])
    if not strength:
        return _cut(values)
    field = torch.from_numpy(noise.uniform(-1, 1, (b, 2, h, w)).astype(np.float32))
    field = filters.gaussian(field, side * sigma, mode="symmetric", truncate=3).mul_(side * strength)
    y, x = _grid(h, w)
    return _cut(filters.read_at(values, field[:, 0] + x, field[:, 1] + y, "reflect"))


def _points_moved(values: Tensor, moves: NDArray[np.float64]) -> Tensor:
    """Returns images under the affine maps that move three points about the centre by (b, 3, 2) pixels."""
    h, w = values.shape[2:]
    points = np.array([w // 2, h // 2]) + min(h, w) // 3 * np.array([[1, 1], [1, -1], [-1, -1]])
    moved = np.concatenate([points + moves, np.ones((len(moves), 3, 1))], 2)
    back = torch.from_numpy(np.linalg.solve(moved, np.broadcast_to(points, (len(moves), 3, 2)))).float()
    (ax, ay), (bx, by), (cx, cy) = back.permute(1, 2, 0)[..., None, None]
    y, x = _grid(h, w)
    return filters.read_at(values, ax * x + (bx * y + cx), ay * x + (by * y + cy), "mirror")


def _grid(h: int, w: int) -> tuple[Tensor, Tensor]:
    """Returns the rows (1, h, 1) and the columns (1, 1, w) of an image's pixels."""
    return torch.arange(h).float().view(1, h, 1), torch.arange(w).float().view(1, 1, w)


@_corruption()
def _pixelate(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Shrink and enlarge with a box filter, as Pillow does: whole pixels, rounded after each direction."""
    share = _at_severity(drawn, [0.95, 0.9, 0.85, 0.75, 0.65])
    values = images.float()
    for dim in (3, 2):
        n = values.shape[dim]
        small = max(int(n * share), 1)
        low = (np.arange(small) * n / small + 0.5).astype(np.int64)
        size = ((np.arange(1, small + 1)) * n / small + 0.5).astype(np.int64) - low
        back = ((np.arange(n) + 0.5) * small / n).astype(np.int64)
        terms = []
        for k in range(size.max()):
            weight = torch.from_numpy(((k < size) / size)[back].astype(np.float32)).view(-1, *[1] * (3 - dim))
            terms.append((weight, filters.take(values, dim, np.minimum(low + k, n - 1)[back])))
        values = filters.weighted_sum(terms).add_(0.5).floor_()
    return to_uint8(values)


@_corruption()
def _jpeg_compression(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    return filters.jpeg(images, [_at_severity(drawn, [80, 65, 58, 50, 40])] * len(images))


@_corruption()
def _spatter(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Draw drops of water (severities 1 to 3) or mud (4 and 5) where smoothed noise exceeds a threshold."""
    mean, scale, sigma, floor, strength, mud = _at_severity(
        drawn,
        [
            (0.62, 0.1, 0.7, 0.7, 0.5, 0),
            (0.65, 0.1, 0.8, 0.7, 0.5, 0),
            (0.65, 0.3, 1, 0.69, 0.5, 0),
            (0.65, 0.1, 0.7, 0.69, 0.6, 1),
            (0.65, 0.1, 0.5, 0.68, 0.6, 1),
        ],
    )
    b, _, h, w = images.shape
    liquid = filters.gaussian(_normal(noise, (b, 1, h, w)).mul_(scale).add_(mean), sigma)
    liquid.mul_(liquid >= floor)
    values = images.float()
    if mud:
        mask = filters.gaussian((liquid > floor).float(), strength)
        mask.mul_(mask >= 0.8)
        return _cut(values.mul_(1 - mask).add_(mask * per_image(np.array([[63, 42, 20]]))))
    drops = torch.from_numpy(filters.water(liquid[:, 0].numpy())[:, None])
    return _cut(values.add_(drops.mul_(strength) * per_image(np.array([[175, 238, 238]]))))


@_corruption()
def _saturate(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    factor, offset = _at_severity(drawn, [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)])
    return compiled(stretch_saturation, images, factor, np.full(len(images), offset, np.float32), 2e-4)
