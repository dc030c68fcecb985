"""The seven set operations of Deng & Zheng, vectorised over the batch.

Paper: Are Labels Always Necessary for Classifier Accuracy Evaluation?, CVPR 2021. Ranges of magnitudes are
those of the authors' code, or imgaug's defaults where that code gives none.
"""

from functools import partial

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from starter.operations.kernels import (
    blend_with_grey,
    invert_from,
    less_square,
    scale_about,
    stretch_between_ranks,
    warp_affine,
)
from starter.operations.operation import Draw, Magnitudes, Operation, compiled, operation, uniform
from submission.arrays import FloatArray

#: `identity` and Deng & Zheng's seven operations, by name.
TRANSFORMS: dict[str, Operation] = {}
_default = partial(operation, TRANSFORMS)


@_default()
def _identity(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    return images


@_default(lambda rng, n: {"cutoff": rng.integers(0, 20, n, endpoint=True)}, neutral={"cutoff": 0})
def _autocontrast(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Stretch each channel to 0..255 without `cutoff` per cent of its pixels at either end, as Pillow does.

    Pillow's function is `ImageOps.autocontrast`.
    """
    h, w = images.shape[2:]
    return compiled(stretch_between_ranks, images, h * w * drawn["cutoff"] // 100)


def per_channel(low: float, high: float, share: float) -> Draw:
    """Returns a draw of factors (n, 3) in [low, high), for a `share` of the images one per channel."""

    def draw(rng: Generator, n: int) -> Magnitudes:
        factors = rng.uniform(low, high, (n, 3)).astype(np.float32)
        together = rng.random(n) >= share
        factors[together] = factors[together, :1]
        return {"factor": factors}

    return draw


@_default(per_channel(0.1, 1.9, share=0.2), neutral={"factor": 1})
def _brightness(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Multiply pixel values by `factor` (b, 3) and round; imgaug cuts fractions off."""
    return compiled(scale_about, images, drawn["factor"], 0.0)


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


@_default(lambda rng, n: {"factor": rng.uniform(0, 3, n).astype(np.float32)}, neutral={"factor": 1})
def _color(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Blend with the grey image, as Pillow's `ImageEnhance.Color`."""
    return compiled(blend_with_grey, images, drawn["factor"], 0.0)


@_default(
    lambda rng, n: {"threshold": rng.integers(32, 128, n, endpoint=True), "applied": rng.random(n) < 0.5}
)
def _solarize(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Invert the values from `threshold` on, in the images with `applied` true."""
    return compiled(invert_from, images, drawn["threshold"], drawn["applied"])


@_default(per_channel(0.5, 2.0, share=0.5), neutral={"factor": 1})
def _contrast(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Multiply distances from 127 by `factor` (b, 3) and round; imgaug cuts fractions off."""
    return compiled(scale_about, images, drawn["factor"], 127.0)


def _draw_affine(rng: Generator, n: int) -> Magnitudes:
    return {
        "applied": rng.random(n) < 0.5,
        "scale": rng.uniform(0.8, 1.2, (n, 2)),
        "shift": rng.uniform(-0.2, 0.2, (n, 2)),
        "angle": rng.uniform(-30, 30, n),
    }


def inverse_affine(drawn: Magnitudes, height: int, width: int) -> FloatArray:
    """Returns the maps (b, 2, 3) from a pixel (x, y, 1) of the result to the place (x, y) it is read from.

    The image is scaled by `scale` (x, y), turned by `angle` degrees (clockwise on screen), both about its
    centre ((w - 1) / 2, (h - 1) / 2), then moved by `shift` (x, y) times its width and height.
    """
    radians = np.deg2rad(drawn["angle"])
    cos, sin = np.cos(radians), np.sin(radians)
    inverse = np.empty((len(radians), 2, 3))
    matrix, scale = inverse[:, :, :2], drawn["scale"]
    for row, turned in enumerate(((cos, sin), (-sin, cos))):
        for column, values in enumerate(turned):
            np.divide(values, scale[:, row], out=matrix[:, row, column])
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    moved = centre + drawn["shift"] * np.array([width, height])
    inverse[:, :, 2] = centre - np.einsum("bij,bj->bi", matrix, moved)
    return inverse


@_default(_draw_affine, neutral={"scale": 1, "shift": 0, "angle": 0})
def _affine(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Move the images with `applied` true, bilinear, with black from outside; see `inverse_affine`."""
    inverse = inverse_affine(drawn, *images.shape[2:]).astype(np.float32)
    return compiled(warp_affine, images, inverse, drawn["applied"])


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


@_default(uniform(alpha=(0.1, 1), lightness=(0.8, 1.2)), neutral={"alpha": 0})
def _sharpen(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Filter with (1 - alpha) I + alpha [[-1, -1, -1], [-1, 8 + lightness, -1], [-1, -1, -1]], rounded."""
    alpha, lightness = drawn["alpha"], drawn["lightness"]
    centre = 1 - alpha + alpha * (9 + lightness)
    return compiled(less_square, images, centre.astype(np.float32), alpha.astype(np.float32))
