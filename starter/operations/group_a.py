"""Deng & Zheng's group A: more operations of their code, vectorised over the batch.

Paper: Are Labels Always Necessary for Classifier Accuracy Evaluation?, CVPR 2021. The authors' code
(`synthesize_set_cifar.py`) offers them beside the default group. Ranges of magnitudes are those of that code
or, where it gives none, the defaults of imgaug 0.4. An operation that is also in the default group or among
the corruptions, with other magnitudes, is a variant of it.
"""

from collections.abc import Sequence

import numpy as np
import scipy.fft
import torch
from numpy.random import Generator
from torch import Tensor

from starter.operations.filters import gaussian_each, read_at, weighted_sum
from starter.operations.kernels import add_grain, blend_with_grey
from starter.operations.operation import Magnitudes, Operation, Params, by_tiles, compiled, per_image
from submission.arrays import FloatArray


def _draw_grayscale(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"alpha": rng.uniform(0, 0.5, n)}


def _grayscale(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    return compiled(blend_with_grey, images, (1 - magnitudes["alpha"]).astype(np.float32), 0.5)


def _draw_elastic(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"reach": rng.uniform(0.5, 2.5, n), "sigma": rng.uniform(0.25, 0.5, n)}


def _elastic(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Read each pixel up to `reach` pixels away, bicubic, with black from outside.

    Displacements are uniform noise, blurred by a Gaussian of `sigma` over 5 x 5 pixels.
    """
    b, _, h, w = images.shape
    field = torch.from_numpy(noise.random((b, 2, h + 4, w + 4), dtype=np.float32))
    sigma = torch.from_numpy(magnitudes["sigma"])
    return by_tiles(_displaced, images, field, sigma, per_image(magnitudes["reach"]))


def _displaced(images: Tensor, field: Tensor, sigma: Tensor, reach: Tensor) -> Tensor:
    b, _, h, w = images.shape
    blurred = gaussian_each(field * 2 - 1, sigma, torch.full((b,), 2))
    dx, dy = (blurred[:, :, 2:-2, 2:-2] * reach).unbind(1)
    x, y = torch.arange(w).float(), torch.arange(h).float().view(h, 1)
    return read_at(images.float(), x - dx, y - dy, "black", "bicubic").add_(0.5)


def _draw_piecewise_affine(rng: Generator, n: int, params: Params) -> Magnitudes:
    scale = rng.uniform(0.01, 0.05, (n, 1, 1, 1))
    points = rng.integers(2, 4, (n, 2), endpoint=True)
    return {"points": points, "jitter": scale * rng.standard_normal((n, 2, 4, 4))}


def _piecewise_affine(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Move the corners of a regular grid of `points` (rows, columns) at random, and the pixels with them.

    The grid reaches from the first pixel to one past the last. `jitter` (y, x; row; column) moves its
    corners, in units of the height and the width, but not out of the image. Each cell is two triangles, read
    bilinearly from between the new places of their corners.
    """
    cells = magnitudes["points"] - 1
    nodes, size = [], images.shape[2:]
    for axis, n in enumerate(size):
        grid = np.expand_dims(np.arange(4) / cells[:, axis, None], 2 - axis)
        nodes.append(np.clip(n * (grid + magnitudes["jitter"][:, axis]), 0, n - 1))
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
    """Returns 1 at a grid point, 0 at the others, and linear values on the triangles in between.

    s and t are distances from the point in rows and in columns. Cells are cut along the diagonal between the
    corners with the largest s and the largest t.
    """
    return (1 - torch.maximum(torch.maximum(s.abs(), t.abs()), (s + t).abs())).clamp_(min=0)


def _draw_invert(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"applied": rng.random((n, 3)) < 0.05}


def _invert(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Replace values by 255 minus the value, in the channels with `applied` true."""
    return images ^ torch.from_numpy(magnitudes["applied"].astype(np.uint8) * 255).view(-1, 3, 1, 1)


def _blur(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Average the 16 pixels that are two steps away, as Pillow's `ImageFilter.BLUR`.

    The two outermost rows and columns stay as they are.
    """
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


def _draw_exposure(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": rng.uniform(0.5, 1.5, n)}


def _exposure(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Multiply values by `factor` and cut fractions off, as Pillow's `ImageEnhance.Brightness`."""
    return by_tiles(lambda x, factor: x.float().mul_(factor), images, per_image(magnitudes["factor"]))


def _draw_haze(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {
        "floor": rng.uniform(0.7, 0.9, n),
        "density": rng.uniform(0.4, 0.9, n),
        "light": rng.uniform(220, 255, n),
        "exponents": np.stack([rng.uniform(-4, -2, n), rng.uniform(-2, -1.5, n)], 1),
    }


def _haze(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Add a bright veil, nearly even: one texture varies its density, another its brightness."""
    size = images.shape[2:]
    veil, clouds = (_texture(noise, exponents, size) for exponents in magnitudes["exponents"].T)
    floor, density, bright = (magnitudes[name][:, None, None, None] for name in ("floor", "density", "light"))
    share = torch.from_numpy(np.minimum((floor + 0.3 * veil) ** 0.9 * density, 1)).float()
    light = torch.from_numpy(np.minimum(bright * (0.8 + 0.4 * clouds), 255)).float()
    return by_tiles(lambda x, light, share: (light - x.float()).mul_(share).add_(x), images, light, share)


def _texture(noise: Generator, exponents: FloatArray, size: Sequence[int]) -> FloatArray:
    """Returns noise of amplitudes frequency^exponent (b,), stretched to [0, 1]: (b, 1, h, w)."""
    y, x = (np.fft.fftfreq(n, 1 / n) for n in size)
    frequency = np.hypot(y[:, None], x)
    frequency[0, 0] = np.inf
    different, place = np.unique(frequency, return_inverse=True)
    amplitude = (different ** exponents[:, None])[:, place.reshape(size)]
    spectrum = np.empty((len(exponents), *size), complex)
    drawn = noise.standard_normal((len(exponents), 2, *size))
    np.multiply(drawn[:, 0], amplitude, out=spectrum.real)
    np.multiply(drawn[:, 1], amplitude, out=spectrum.imag)
    field = scipy.fft.ifft2(spectrum, overwrite_x=True).real
    low, high = field.min((1, 2), keepdims=True), field.max((1, 2), keepdims=True)
    return ((field - low) / np.maximum(high - low, 1e-12))[:, None]


def _draw_grain(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"scale": rng.uniform(0, 0.025 * 255, n), "coloured": rng.random(n) < 0.5}


def _grain(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Add Gaussian noise in whole grey levels; if `coloured`, each channel has its own."""
    scale = magnitudes["scale"].astype(np.float32)
    return compiled(
        add_grain, images, noise.standard_normal(images.shape, np.float32), scale, magnitudes["coloured"]
    )


#: Group A by name.
GROUP_A: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("grayscale", _grayscale, _draw_grayscale, neutral={"alpha": 0}, variant_of="color"),
        Operation("elastic", _elastic, _draw_elastic, neutral={"reach": 0}, variant_of="elastic_transform"),
        Operation("piecewise_affine", _piecewise_affine, _draw_piecewise_affine, neutral={"jitter": 0}),
        Operation("invert", _invert, _draw_invert),
        Operation("blur", _blur),
        Operation("exposure", _exposure, _draw_exposure, neutral={"factor": 1}, variant_of="brightness"),
        Operation("haze", _haze, _draw_haze, neutral={"density": 0}, variant_of="fog"),
        Operation("grain", _grain, _draw_grain, neutral={"scale": 0}, variant_of="gaussian_noise"),
    )
}
