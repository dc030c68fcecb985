"""The seven set operations of Deng & Zheng (Are Labels Always Necessary for Classifier Accuracy Evaluation?,
CVPR 2021), vectorised over the batch; and `Operation`, the shape that every pixel operation has.

Magnitudes are those of the authors' code (imgaug's defaults where it gives none). Pixels stay integers or
float32 and every step is elementwise with one rounding, so that the bytes do not depend on the batch size or
on the number of threads.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray

#: Per-image magnitudes by name; the first axis is the image.
Magnitudes = Mapping[str, NDArray[Any]]
Params = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """What a parameter of an operation may be: an integer or a number from `low` to `high`, both allowed."""

    kind: type
    low: float
    high: float = math.inf

    def problem(self, value: object) -> str | None:
        """What is wrong with `value`, in words that follow the parameter's name; None if nothing is."""
        noun = "an integer" if self.kind is int else "a number"
        types = (int,) if self.kind is int else (int, float)
        fits = isinstance(value, types) and not isinstance(value, bool) and math.isfinite(value)
        if fits and self.low <= value <= self.high:  # type: ignore[operator]
            return None
        span = f"from {self.low} to {self.high}" if math.isfinite(self.high) else f"of at least {self.low}"
        return f"must be {noun} {span}, got {value!r}"

    def draw(self, rng: Generator) -> int | float:
        """A value drawn uniformly; both bounds must be finite."""
        if self.kind is int:
            return int(rng.integers(int(self.low), int(self.high), endpoint=True))
        return float(rng.uniform(self.low, self.high))


def no_magnitudes(rng: Generator, n: int, params: Params) -> Magnitudes:
    """For an operation that does the same to every image, or draws all it needs as pixel noise."""
    return {}


@dataclass(frozen=True)
class Operation:
    """A pixel operation that is applied to every image of a set, with magnitudes drawn image by image.

    Attributes:
        name: as recipes call it.
        apply: (images uint8 (b, 3, h, w), magnitudes of these b images, params, noise) -> images of the same
            shape and dtype; `noise` is the generator of pixel noise of the chunk that the images make up. The
            input is left as it is.
        draw: (rng, n, params) -> the magnitudes of n images, arrays whose first axis has length n.
        parameters: the params that a recipe has to give, all of them.
    """

    name: str
    apply: Callable[[torch.Tensor, Magnitudes, Params, Generator], torch.Tensor]
    draw: Callable[[Generator, int, Params], Magnitudes] = no_magnitudes
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def to_uint8(values: torch.Tensor) -> torch.Tensor:
    """Clamp float32 `values` to [0, 255], in place, and cut off the fractions. By way of int16, because torch
    converts float32 to uint8 without SIMD: five times as fast.
    """
    return values.clamp_(0, 255).to(torch.int16).to(torch.uint8)


def per_image(values: NDArray[Any]) -> torch.Tensor:
    """Magnitudes (b,) or (b, 3) as float32 (b, 1 or 3, 1, 1), to be broadcast over images."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).view(len(values), -1, 1, 1)


def _identity(images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> torch.Tensor:
    return images


def _draw_autocontrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"cutoff": rng.integers(0, 20, n, endpoint=True)}


def _autocontrast(
    images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator
) -> torch.Tensor:
    """Stretch each channel to 0..255 after dropping `cutoff` per cent of its pixels at either end, as
    Pillow's `ImageOps.autocontrast`; the ends are order statistics, found in the cumulative histogram.
    """
    b, c, h, w = images.shape
    flat = images.reshape(b * c, h * w)
    bins = flat + 256 * torch.arange(b * c, dtype=torch.int32)[:, None]
    counts = torch.bincount(bins.flatten(), minlength=256 * b * c).view(b * c, 256).cumsum(1)
    cut = h * w * magnitudes["cutoff"].repeat(c) // 100
    # The first value that more than `cut` pixels do not exceed, and the first that all but `cut` do not.
    ends = torch.searchsorted(counts, torch.from_numpy(np.stack([cut + 1, h * w - cut], 1)))
    low, high = ends.float().view(b, c, 2, 1, 1).unbind(2)
    flat_channel = high <= low
    scale = torch.where(flat_channel, 1.0, 255 / (high - low))
    # The small addend keeps the top of the range, (high - low) * scale, from being cut off to 254.
    return to_uint8(images.float().sub_(low.masked_fill_(flat_channel, 0)).mul_(scale).add_(1e-3))


def _draw_per_channel(rng: Generator, n: int, low: float, high: float, share: float) -> NDArray[np.float32]:
    """Factors (n, 3) in [low, high): one an image, or with probability `share` one a channel."""
    factors = rng.uniform(low, high, (n, 3)).astype(np.float32)
    together = rng.random(n) >= share
    factors[together] = factors[together, :1]
    return factors


def _draw_brightness(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": _draw_per_channel(rng, n, 0.1, 1.9, share=0.2)}


def _brightness(
    images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator
) -> torch.Tensor:
    """Pixel values times `factor` (b, 3), rounded."""
    return to_uint8(images.float().mul_(per_image(magnitudes["factor"])).add_(0.5))


def _draw_color(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": rng.uniform(0, 3, n).astype(np.float32)}


def luma(values: torch.Tensor) -> torch.Tensor:
    """Grey (b, 1, h, w) of integer-valued float32 RGB (b, 3, h, w), as Pillow's `convert("L")` computes it:
    in 16-bit fixed point, all of it below 2**24 and so exact in float32.
    """
    grey = values[:, :1] * 19595
    grey.add_(values[:, 1:2] * 38470).add_(values[:, 2:] * 7471).add_(0x8000)
    return grey.mul_(2.0**-16).floor_()


def _color(images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> torch.Tensor:
    """Blend with the grey image: `factor` 0 is grey, 1 the image, as Pillow's `ImageEnhance.Color`."""
    values = images.float()
    grey = luma(values)
    return to_uint8(values.sub_(grey).mul_(per_image(magnitudes["factor"])).add_(grey))


def _draw_solarize(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"threshold": rng.integers(32, 128, n, endpoint=True), "applied": rng.random(n) < 0.5}


def _solarize(images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> torch.Tensor:
    """Invert the values from `threshold` on, in the images where it is `applied`."""
    threshold, flips = (
        torch.from_numpy(magnitudes[name].astype(np.uint8)).view(-1, 1, 1, 1)
        for name in ("threshold", "applied")
    )
    # Comparing into uint8 rather than bool is what torch does with SIMD.
    above = torch.ge(images, threshold, out=torch.empty_like(images))
    return above.mul_(flips * 255).bitwise_xor_(images)


def _draw_contrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": _draw_per_channel(rng, n, 0.5, 2.0, share=0.5)}


def _contrast(images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> torch.Tensor:
    """Distances from 127 times `factor` (b, 3), rounded."""
    return to_uint8(images.float().sub_(127).mul_(per_image(magnitudes["factor"])).add_(127.5))


def _draw_affine(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {
        "applied": rng.random(n) < 0.5,
        "scale": rng.uniform(0.8, 1.2, (n, 2)),
        "shift": rng.uniform(-0.2, 0.2, (n, 2)),
        "angle": rng.uniform(-30, 30, n),
    }


def inverse_affine(magnitudes: Magnitudes, height: int, width: int) -> NDArray[np.float64]:
    """(b, 2, 3): from a pixel (x, y, 1) of the result to the place (x, y) in the image it is read from.

    The image is scaled by `scale` (x, y), turned by `angle` degrees (clockwise on screen), both about its
    centre ((w - 1) / 2, (h - 1) / 2), then moved by `shift` (x, y) times its width and height.
    """
    radians = np.deg2rad(magnitudes["angle"])
    cos, sin = np.cos(radians), np.sin(radians)
    turn_back = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], 1)
    matrix = turn_back / magnitudes["scale"][:, :, None]
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    moved = centre + magnitudes["shift"] * np.array([width, height])
    offset = centre - np.einsum("bij,bj->bi", matrix, moved)
    return np.concatenate([matrix, offset[:, :, None]], 2)


def _affine(images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> torch.Tensor:
    """Move the images where it is `applied`, bilinear, with black from outside; see `inverse_affine`."""
    chosen = np.flatnonzero(magnitudes["applied"])
    h, w = images.shape[2:]
    inverse = inverse_affine({name: values[chosen] for name, values in magnitudes.items()}, h, w)
    # grid_sample's coordinates run from -1 to 1 between the outer edges of the image.
    inverse = (2 * inverse + np.array([0, 0, 1])) / np.array([[w], [h]]) - np.array([0, 0, 1])
    x, y = torch.arange(w).float().view(1, 1, w), torch.arange(h).float().view(1, h, 1)
    grid = torch.empty(len(chosen), h, w, 2)
    for axis, (a, b, c) in enumerate(torch.from_numpy(inverse).float().permute(1, 2, 0)[..., None, None]):
        torch.add(a * x, b * y + c, out=grid[..., axis])
    result = images.clone()
    # Rows are taken and put back through NumPy, which copies them whole.
    moved = torch.from_numpy(result.numpy()[chosen]).float()
    moved = torch.nn.functional.grid_sample(moved, grid, align_corners=False).add_(0.5)
    result.numpy()[chosen] = to_uint8(moved).numpy()
    return result


def _draw_sharpen(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"alpha": rng.uniform(0.1, 1, n), "lightness": rng.uniform(0.8, 1.2, n)}


def _sum_of_three(values: torch.Tensor, dim: int) -> torch.Tensor:
    """Each value plus its two neighbours along `dim`, reflected at the border without repeating the edge.
    `values` are contiguous: they are shifted as one long row, which is fast, and the borders set right after.
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


def _sharpen(images: torch.Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> torch.Tensor:
    """Filter with (1 - alpha) I + alpha [[-1, -1, -1], [-1, 8 + lightness, -1], [-1, -1, -1]], rounded."""
    alpha, lightness = magnitudes["alpha"], magnitudes["lightness"]
    square = _sum_of_three(_sum_of_three(images.to(torch.int16), 2), 3).float()
    square.mul_(per_image(alpha))
    centre = images.float().mul_(per_image(1 - alpha + alpha * (9 + lightness)))
    return to_uint8(centre.sub_(square).add_(0.5))


#: `identity` and Deng & Zheng's seven.
TRANSFORMS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("identity", _identity),
        Operation("autocontrast", _autocontrast, _draw_autocontrast),
        Operation("brightness", _brightness, _draw_brightness),
        Operation("color", _color, _draw_color),
        Operation("solarize", _solarize, _draw_solarize),
        Operation("contrast", _contrast, _draw_contrast),
        Operation("affine", _affine, _draw_affine),
        Operation("sharpen", _sharpen, _draw_sharpen),
    )
}
