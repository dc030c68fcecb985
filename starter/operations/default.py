"""The seven set operations of Deng & Zheng, vectorised over the batch.

Paper: Are Labels Always Necessary for Classifier Accuracy Evaluation?, CVPR 2021. Ranges of magnitudes are
those of the authors' code, or imgaug's defaults where that code gives none.
"""

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from starter.operations.kernels import (
    blend_with_grey,
    invert_from,
    less_square,
    scale_about,
    stretch_between_ranks,
    warp_affine,
)
from starter.operations.operation import Magnitudes, Operation, Params, compiled


def _identity(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    return images


def _draw_autocontrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"cutoff": rng.integers(0, 20, n, endpoint=True)}


def _autocontrast(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Stretch each channel to 0..255 without `cutoff` per cent of its pixels at either end, as Pillow does.

    Pillow's function is `ImageOps.autocontrast`.
    """
    h, w = images.shape[2:]
    return compiled(stretch_between_ranks, images, h * w * magnitudes["cutoff"] // 100)


def draw_per_channel(rng: Generator, n: int, low: float, high: float, share: float) -> NDArray[np.float32]:
    """Returns factors (n, 3) in [low, high): one per channel with probability `share`, else one per image."""
    factors = rng.uniform(low, high, (n, 3)).astype(np.float32)
    together = rng.random(n) >= share
    factors[together] = factors[together, :1]
    return factors


def _draw_brightness(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": draw_per_channel(rng, n, 0.1, 1.9, share=0.2)}


def _brightness(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Multiply pixel values by `factor` (b, 3) and round; imgaug cuts fractions off."""
    return compiled(scale_about, images, magnitudes["factor"], 0.0)


def _draw_color(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": rng.uniform(0, 3, n).astype(np.float32)}


def luma(values: Tensor) -> Tensor:
    """Returns grey (b, 1, h, w) of integer-valued float32 RGB (b, 3, h, w), as Pillow's `convert("L")`.

    Pillow computes in 16-bit fixed point; all values are below 2**24 units and so exact in float32.
    """
    red, green, blue = values.split(1, 1)
    grey = red * (19595 / 2**16)
    return grey.add_(green, alpha=38470 / 2**16).add_(blue, alpha=7471 / 2**16).add_(0.5).floor_()


def blend(base: Tensor, values: Tensor, factor: Tensor) -> Tensor:
    """Returns base + `factor` * (values - base): the base at factor 0, the values at 1, beyond them at 2.

    Values are float32 (b, 3, h, w) and are overwritten; the base is (b, 1 or 3, h, w), `factor` (b, 1, 1, 1).
    """
    return values.sub_(base).mul_(factor).add_(base)


def _color(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Blend with the grey image, as Pillow's `ImageEnhance.Color`."""
    return compiled(blend_with_grey, images, magnitudes["factor"], 0.0)


def _draw_solarize(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"threshold": rng.integers(32, 128, n, endpoint=True), "applied": rng.random(n) < 0.5}


def _solarize(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Invert the values from `threshold` on, in the images with `applied` true."""
    return compiled(invert_from, images, magnitudes["threshold"], magnitudes["applied"])


def _draw_contrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": draw_per_channel(rng, n, 0.5, 2.0, share=0.5)}


def _contrast(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Multiply distances from 127 by `factor` (b, 3) and round; imgaug cuts fractions off."""
    return compiled(scale_about, images, magnitudes["factor"], 127.0)


def _draw_affine(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {
        "applied": rng.random(n) < 0.5,
        "scale": rng.uniform(0.8, 1.2, (n, 2)),
        "shift": rng.uniform(-0.2, 0.2, (n, 2)),
        "angle": rng.uniform(-30, 30, n),
    }


def inverse_affine(magnitudes: Magnitudes, height: int, width: int) -> NDArray[np.float64]:
    """Returns the maps (b, 2, 3) from a pixel (x, y, 1) of the result to the place (x, y) it is read from.

    The image is scaled by `scale` (x, y), turned by `angle` degrees (clockwise on screen), both about its
    centre ((w - 1) / 2, (h - 1) / 2), then moved by `shift` (x, y) times its width and height.
    """
    radians = np.deg2rad(magnitudes["angle"])
    cos, sin = np.cos(radians), np.sin(radians)
    inverse = np.empty((len(radians), 2, 3))
    matrix, scale = inverse[:, :, :2], magnitudes["scale"]
    for row, turned in enumerate(((cos, sin), (-sin, cos))):
        for column, values in enumerate(turned):
            np.divide(values, scale[:, row], out=matrix[:, row, column])
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    moved = centre + magnitudes["shift"] * np.array([width, height])
    inverse[:, :, 2] = centre - np.einsum("bij,bj->bi", matrix, moved)
    return inverse


def _affine(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Move the images with `applied` true, bilinear, with black from outside; see `inverse_affine`."""
    inverse = inverse_affine(magnitudes, *images.shape[2:]).astype(np.float32)
    return compiled(warp_affine, images, inverse, magnitudes["applied"])


def _draw_sharpen(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"alpha": rng.uniform(0.1, 1, n), "lightness": rng.uniform(0.8, 1.2, n)}


def sum_of_three(values: Tensor, dim: int) -> Tensor:
    """Returns the sum of each value and its two neighbours along `dim`.

    At the border the missing neighbour is the one on the other side. `values` must be contiguous: they are
    shifted as one long row, which is fast, and the borders are set afterwards.
    """
    n, shift = values.shape[dim], values.stride(dim)
    if n == 1:
        return values * 3
    total = torch.empty_like(values)
    row, inside = values.view(-1), total.view(-1)[shift:-shift]
    torch.add(row[: -2 * shift], row[2 * shift :], out=inside)
    inside.add_(row[shift:-shift])
    for edge, inner in ((0, 1), (n - 1, n - 2)):
        torch.add(values.select(dim, edge), values.select(dim, inner), alpha=2, out=total.select(dim, edge))
    return total


def _sharpen(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Filter with (1 - alpha) I + alpha [[-1, -1, -1], [-1, 8 + lightness, -1], [-1, -1, -1]], rounded."""
    alpha, lightness = magnitudes["alpha"], magnitudes["lightness"]
    centre = 1 - alpha + alpha * (9 + lightness)
    return compiled(less_square, images, centre.astype(np.float32), alpha.astype(np.float32))


#: `identity` and Deng & Zheng's seven operations, by name.
TRANSFORMS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("identity", _identity),
        Operation("autocontrast", _autocontrast, _draw_autocontrast, neutral={"cutoff": 0}),
        Operation("brightness", _brightness, _draw_brightness, neutral={"factor": 1}),
        Operation("color", _color, _draw_color, neutral={"factor": 1}),
        Operation("solarize", _solarize, _draw_solarize),
        Operation("contrast", _contrast, _draw_contrast, neutral={"factor": 1}),
        Operation("affine", _affine, _draw_affine, neutral={"scale": 1, "shift": 0, "angle": 0}),
        Operation("sharpen", _sharpen, _draw_sharpen, neutral={"alpha": 0}),
    )
}
