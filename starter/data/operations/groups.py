"""Deng & Zheng's groups A and B: more operations of their code, vectorised over the batch.

Paper: Are Labels Always Necessary for Classifier Accuracy Evaluation?, CVPR 2021. Ranges of magnitudes are
those of the authors' `synthesize_set_cifar.py` or, where it gives none, the defaults of imgaug 0.4. An
operation of the default group or the corruptions with other magnitudes is a variant of it. Hue and saturation
are real numbers here, 8-bit ones in imgaug. Rain is always light grey.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy.fft
import torch
from numpy.random import Generator
from torch import Tensor
from torch.nn.functional import interpolate

from starter.data.operations import kernels
from starter.data.operations.default import per_channel
from starter.data.operations.filters import gaussian_each, jpeg, padded, read_at, weighted_sum
from starter.data.operations.operation import (
    Magnitudes,
    Operation,
    by_tiles,
    compiled,
    operation,
    per_image,
    to_uint8,
    uniform,
)
from submission.arrays import FloatArray

#: Group A by name.
GROUP_A: dict[str, Operation] = {}
_group_a = partial(operation, GROUP_A)
#: Group B by name.
GROUP_B: dict[str, Operation] = {}
_group_b = partial(operation, GROUP_B)


@_group_a(uniform(alpha=(0, 0.5)), neutral={"alpha": 0}, variant_of="color")
def _grayscale(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    return compiled(kernels.blend_with_grey, images, (1 - drawn["alpha"]).astype(np.float32), 0.5)


@_group_a(uniform(reach=(0.5, 2.5), sigma=(0.25, 0.5)), neutral={"reach": 0}, variant_of="elastic_transform")
def _elastic(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Read pixels up to `reach` away, bicubic, black outside; the noise is blurred by `sigma` over 5 x 5."""
    b, _, h, w = images.shape
    field = torch.from_numpy(noise.random((b, 2, h + 4, w + 4), dtype=np.float32))
    sigma = torch.from_numpy(drawn["sigma"])
    return by_tiles(_displaced, images, field, sigma, per_image(drawn["reach"]))


def _displaced(images: Tensor, field: Tensor, sigma: Tensor, reach: Tensor) -> Tensor:
    b, _, h, w = images.shape
    blurred = gaussian_each(field * 2 - 1, sigma, torch.full((b,), 2))
    dx, dy = (blurred[:, :, 2:-2, 2:-2] * reach).unbind(1)
    x, y = torch.arange(w).float(), torch.arange(h).float().view(h, 1)
    return read_at(images.float(), x - dx, y - dy, "black", "bicubic").add_(0.5)


def _draw_piecewise_affine(rng: Generator, n: int) -> Magnitudes:
    scale = rng.uniform(0.01, 0.05, (n, 1, 1, 1))
    points = rng.integers(2, 4, (n, 2), endpoint=True)
    return {"points": points, "jitter": scale * rng.standard_normal((n, 2, 4, 4))}


@_group_a(_draw_piecewise_affine, neutral={"jitter": 0})
def _piecewise_affine(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Move the corners of a regular grid of `points` (rows, columns) at random, and the pixels with them.

    The grid reaches from the first pixel to one past the last. `jitter` (y, x; row; column) moves its corners
    by shares of the height and width, but not out of the image. Each cell is two triangles, read bilinearly.
    """
    cells = drawn["points"] - 1
    nodes, size = [], images.shape[2:]
    for axis, n in enumerate(size):
        grid = np.expand_dims(np.arange(4) / cells[:, axis, None], 2 - axis)
        nodes.append(np.clip(n * (grid + drawn["jitter"][:, axis]), 0, n - 1))
    return by_tiles(_triangles, images, torch.from_numpy(cells), torch.from_numpy(np.stack(nodes, 3)).float())


def _triangles(images: Tensor, cells: Tensor, nodes: Tensor) -> Tensor:
    """Returns images read at pixels between the nodes (b, row, column, 2) of grids of cells (b, 2)."""
    h, w = images.shape[2:]
    v, u = (torch.arange(n).double() / n * cells[:, axis, None] for axis, n in enumerate((h, w)))
    v, u = v.float()[:, :, None], u.float()[:, None, :]
    corners = [(nodes[:, i, j, :, None, None], _hat(v - i, u - j)) for i, j in np.ndindex(4, 4)]
    y, x = (weighted_sum((node[:, axis], hat) for node, hat in corners) for axis in (0, 1))
    return read_at(images.float(), x, y, "black").add_(0.5)


def _hat(s: Tensor, t: Tensor) -> Tensor:
    """Returns 1 at a grid point, 0 at the others, linear on triangles between, s rows and t columns away."""
    # Cells are cut along the diagonal between the corners with the largest s and the largest t.
    return (1 - torch.maximum(torch.maximum(s.abs(), t.abs()), (s + t).abs())).clamp_(min=0)


@_group_a(lambda rng, n: {"applied": rng.random((n, 3)) < 0.05})
def _invert(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Replace values by 255 minus the value, in the channels with `applied` true."""
    return images ^ torch.from_numpy(drawn["applied"].astype(np.uint8) * 255).view(-1, 3, 1, 1)


@_group_a()
def _blur(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Average the 16 pixels two steps away, as Pillow's `ImageFilter.BLUR`; two rows at each border stay."""
    h, w = images.shape[2:]
    result = images.clone()
    if min(h, w) < 5:
        return result
    rows = [images[:, :, i : h - 4 + i].to(torch.int16) for i in range(5)]
    inner = rows[1] + rows[2] + rows[3]
    outer = inner + rows[0] + rows[4]
    square = sum(outer[..., j : w - 4 + j] for j in range(5))
    inside = sum(inner[..., j : w - 4 + j] for j in (1, 2, 3))
    result[:, :, 2:-2, 2:-2] = (square - inside + 8) >> 4
    return result


@_group_a(uniform(factor=(0.5, 1.5)), neutral={"factor": 1}, variant_of="brightness")
def _exposure(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Multiply values by `factor` and cut fractions off, as Pillow's `ImageEnhance.Brightness`."""
    return by_tiles(lambda x, factor: x.float().mul_(factor), images, per_image(drawn["factor"]))


def _draw_haze(rng: Generator, n: int) -> Magnitudes:
    return {
        "floor": rng.uniform(0.7, 0.9, n),
        "density": rng.uniform(0.4, 0.9, n),
        "light": rng.uniform(220, 255, n),
        "exponents": np.stack([rng.uniform(-4, -2, n), rng.uniform(-2, -1.5, n)], 1),
    }


@_group_a(_draw_haze, neutral={"density": 0}, variant_of="fog")
def _haze(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Add a bright veil, nearly even: one texture varies its density, another its brightness."""
    size = images.shape[2:]
    veil, clouds = (_texture(noise, exponents, size) for exponents in drawn["exponents"].T)
    floor, density, bright = (drawn[name][:, None, None, None] for name in ("floor", "density", "light"))
    share = torch.from_numpy(np.minimum((floor + 0.3 * veil) ** 0.9 * density, 1)).float()
    light = torch.from_numpy(np.minimum(bright * (0.8 + 0.4 * clouds), 255)).float()
    return by_tiles(lambda x, light, share: (light - x.float()).mul_(share).add_(x), images, light, share)


def _texture(noise: Generator, exponents: FloatArray, size: Sequence[int]) -> FloatArray:
    """Returns noise of amplitudes frequency^exponent (b,), stretched to [0, 1]: (b, 1, h, w)."""
    y, x = (np.fft.fftfreq(n, 1 / n) for n in size)
    frequency = np.hypot(y[:, None], x)
    frequency[0, 0] = np.inf
    drawn = noise.standard_normal((len(exponents), 2, *size)) * frequency ** exponents[:, None, None, None]
    field = scipy.fft.ifft2(drawn[:, 0] + 1j * drawn[:, 1]).real
    low, high = field.min((1, 2), keepdims=True), field.max((1, 2), keepdims=True)
    return ((field - low) / np.maximum(high - low, 1e-12))[:, None]


@_group_a(
    lambda rng, n: {"scale": rng.uniform(0, 0.025 * 255, n), "coloured": rng.random(n) < 0.5},
    neutral={"scale": 0},
    variant_of="gaussian_noise",
)
def _grain(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Add Gaussian noise in whole grey levels; if `coloured`, each channel has its own."""
    grain = torch.from_numpy(noise.standard_normal(images.shape, np.float32))
    grain = torch.where(torch.from_numpy(drawn["coloured"])[:, None, None, None], grain, grain[:, :1])
    return to_uint8(grain.mul_(per_image(drawn["scale"])).round_().add_(images))


@_group_b(per_channel(0.5, 1.5, share=0.5), neutral={"factor": 1}, variant_of="contrast")
def _mild_contrast(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    return compiled(kernels.scale_about, images, drawn["factor"], 127.0)


def _draw_rain(rng: Generator, n: int) -> Magnitudes:
    return {
        "layers": rng.integers(1, 3, n, endpoint=True),
        "density": rng.uniform(0.03, 0.14, (n, 3)),
        "patchiness": rng.uniform(0, 0.2, (n, 3)),
        "degrees": rng.uniform(75, 105, (n, 3)),
        "speed": rng.uniform(0.1, 0.5, (n, 3)),
    }


@_group_b(_draw_rain, neutral={"density": 0})
def _rain(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Add one to three `layers` of light grey streaks."""
    result = images.clone()
    for layer in range(3):
        rows = np.flatnonzero(drawn["layers"] > layer)
        own = {name: drawn[name][rows, layer] for name in ("density", "patchiness", "degrees", "speed")}
        if len(rows):
            under = torch.from_numpy(result.numpy()[rows])
            result.numpy()[rows] = _rain_layer(under, own, noise).numpy()
    return result


def _rain_layer(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Returns images under drops of some density, thinned in places, blurred by `speed` times the size."""
    b, _, h, w = images.shape
    small = [max(int(0.985 * side), 1) for side in (h, w)]
    density, patchiness = (drawn[name][:, None, None, None] for name in ("density", "patchiness"))
    light = 127.5 + 127.5 * np.abs(np.cos(np.pi * noise.random((b, 1, *small))))
    light *= noise.random(light.shape) < density
    gate = _resized(torch.from_numpy(1 - noise.random((b, 1, 8, 8)) ** (1 / patchiness)).float(), small)
    drops = to_uint8(torch.from_numpy(light).float().mul_(gate))
    drops = to_uint8(_resized(drops.float(), [h, w])).float()
    length = torch.from_numpy(np.maximum((drawn["speed"] * max(h, w)).astype(np.int64) // 2 * 2, 2))
    return by_tiles(_streaked, images, drops, length, torch.from_numpy(drawn["degrees"]))


def _streaked(images: Tensor, drops: Tensor, length: Tensor, degrees: Tensor) -> Tensor:
    """Lay drops (b, 1, h, w) over the images, blurred along a half-line on which they fade."""
    b, _, h, w = images.shape
    dx, dy = (turned.float().view(b, 1, 1) for turned in (degrees.deg2rad().cos(), degrees.deg2rad().sin()))
    x, y = torch.arange(w).float().expand(b, h, w), torch.arange(h).float().view(h, 1).expand(b, h, w)
    weights = (1 - torch.arange(int(length.max())) / length[:, None]).clamp(min=0)
    weights /= weights.sum(1, keepdim=True)
    light = weighted_sum(
        (weight, read_at(drops, x + step * dx, y + step * dy, "mirror"))
        for step, weight in enumerate(weights.view(b, -1, 1, 1, 1).unbind(1))
    )
    share = light.mul_(1.3 / 255).clamp_(max=1)
    return (240 - images.float()).mul_(share).add_(images)


def _resized(values: Tensor, size: list[int]) -> Tensor:
    return interpolate(values, size, mode="bicubic", align_corners=False)


@_group_b(uniform(compression=(70, 99)), neutral={"compression": 0}, variant_of="jpeg_compression")
def _jpeg(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Compress as JPEG, with quality 100 at a `compression` of 0 and quality 3 at 99."""
    quality = np.rint(100 - 99 * drawn["compression"].astype(np.int64) / 101)
    return jpeg(images, quality.astype(np.int64).tolist())


@_group_b(uniform(sigma=(0, 3)), neutral={"sigma": 0}, variant_of="gaussian_blur")
def _soften(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Blur by a Gaussian over 5 x 5 pixels, or over 3.3 sigma if that is more."""
    sigma = torch.from_numpy(drawn["sigma"])
    radius = (3.3 * sigma).clamp(min=5).long() // 2
    return to_uint8(gaussian_each(images.float(), sigma, radius), 0.5)


@_group_b(uniform(factor=(0, 2)), neutral={"factor": 1}, variant_of="sharpen")
def _sharpness(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Smooth (`factor` 0), keep (1) or sharpen (2), as Pillow's `ImageEnhance.Sharpness`; borders stay."""
    return by_tiles(_sharpened, images, per_image(drawn["factor"]))


def _sharpened(images: Tensor, factor: Tensor) -> Tensor:
    whole, values = images.to(torch.int16), images.float()
    rows = whole[:, :, :-2] + whole[:, :, 1:-1] + whole[:, :, 2:]
    square = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    inside = values[:, :, 1:-1, 1:-1]
    smooth = (square + 4 * whole[:, :, 1:-1, 1:-1]).float().add_(6.5).div_(13).floor_()
    inside.sub_(smooth).mul_(factor).add_(smooth)
    return values


@_group_b(uniform(factor=(0.5, 1.5)), neutral={"factor": 1})
def _hue(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Multiply H of HSV, in [0, 1), by `factor` and drop whole turns."""
    return compiled(kernels.turn_hue, images, drawn["factor"].astype(np.float32))


@_group_b(uniform(alpha=(0, 0.5), relief=(0.5, 1.5)), neutral={"alpha": 0})
def _emboss(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Filter with (1 - alpha) I + alpha [[-1 - r, -r, 0], [-r, 1, r], [0, r, 1 + r]]; r is the `relief`."""
    alpha, relief = drawn["alpha"], drawn["relief"]
    diagonal, straight = (alpha * (1 + relief)).astype(np.float32), (alpha * relief).astype(np.float32)
    return compiled(kernels.add_slopes, images, padded(images, 1), diagonal, straight)


@_group_b(
    lambda rng, n: {"offset": rng.integers(-50, 50, n, endpoint=True)},
    neutral={"offset": 0},
    variant_of="saturate",
)
def _saturation(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Add `offset` to S of HSV, in 0..255."""
    offsets = (drawn["offset"] / 255).astype(np.float32)
    return compiled(kernels.stretch_saturation, images, 1.0, offsets, 0.5)
