"""The seven set operations of Deng & Zheng, vectorised over the batch.

Paper: Are Labels Always Necessary for Classifier Accuracy Evaluation?, CVPR 2021. Ranges of magnitudes are
those of the authors' code, or imgaug's defaults where that code gives none.
"""

from functools import partial

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from starter.data.operations import kernels
from starter.data.operations.operation import Draw, Magnitudes, Operation, compiled, operation, uniform
from submission.arrays import FloatArray

#: `identity` and Deng & Zheng's seven operations, by name.
TRANSFORMS: dict[str, Operation] = {}
_default = partial(operation, TRANSFORMS)


@_default()
def _identity(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    return images


@_default(lambda rng, n: {"cutoff": rng.integers(0, 20, n, endpoint=True)}, neutral={"cutoff": 0})
def _autocontrast(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Stretch channels to 0..255 without `cutoff` % of pixels at either end, as `ImageOps.autocontrast`."""
    h, w = images.shape[2:]
    return compiled(kernels.stretch_between_ranks, images, h * w * drawn["cutoff"] // 100)


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
    return compiled(kernels.scale_about, images, drawn["factor"], 0.0)


def luma(values: Tensor) -> Tensor:
    """Returns grey (b, 1, h, w) of whole float32 RGB (b, 3, h, w), exactly as Pillow's `convert("L")`."""
    red, green, blue = values.split(1, 1)
    grey = red * (19595 / 2**16)
    return grey.add_(green, alpha=38470 / 2**16).add_(blue, alpha=7471 / 2**16).add_(0.5).floor_()


@_default(lambda rng, n: {"factor": rng.uniform(0, 3, n).astype(np.float32)}, neutral={"factor": 1})
def _color(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Blend with the grey image, as Pillow's `ImageEnhance.Color`."""
    return compiled(kernels.blend_with_grey, images, drawn["factor"], 0.0)


@_default(
    lambda rng, n: {"threshold": rng.integers(32, 128, n, endpoint=True), "applied": rng.random(n) < 0.5}
)
def _solarize(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Invert the values from `threshold` on, in the images with `applied` true."""
    least = torch.from_numpy(np.where(drawn["applied"], drawn["threshold"], 256).astype(np.int16))
    return images ^ (images >= least.view(-1, 1, 1, 1)).to(torch.uint8).mul_(255)


@_default(per_channel(0.5, 2.0, share=0.5), neutral={"factor": 1})
def _contrast(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Multiply distances from 127 by `factor` (b, 3) and round; imgaug cuts fractions off."""
    return compiled(kernels.scale_about, images, drawn["factor"], 127.0)


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
    matrix = np.stack([cos, sin, -sin, cos], 1).reshape(-1, 2, 2) / drawn["scale"][:, :, None]
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    moved = centre + drawn["shift"] * np.array([width, height])
    return np.dstack([matrix, centre - np.einsum("bij,bj->bi", matrix, moved)])


@_default(_draw_affine, neutral={"scale": 1, "shift": 0, "angle": 0})
def _affine(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Move the images with `applied` true, bilinear, with black from outside; see `inverse_affine`."""
    inverse = inverse_affine(drawn, *images.shape[2:]).astype(np.float32)
    return compiled(kernels.warp_affine, images, inverse, drawn["applied"])


@_default(uniform(alpha=(0.1, 1), lightness=(0.8, 1.2)), neutral={"alpha": 0})
def _sharpen(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Filter with (1 - alpha) I + alpha [[-1, -1, -1], [-1, 8 + lightness, -1], [-1, -1, -1]], rounded."""
    alpha, lightness = drawn["alpha"], drawn["lightness"]
    centre = 1 - alpha + alpha * (9 + lightness)
    return compiled(kernels.less_square, images, centre.astype(np.float32), alpha.astype(np.float32))
