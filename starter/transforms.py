"""The seven set operations of Deng & Zheng (Are Labels Always Necessary for Classifier Accuracy Evaluation?,
CVPR 2021), vectorised over the batch.

Magnitudes are those of the authors' code (imgaug's defaults where it gives none). Pixels stay integers or
float32 and every step is elementwise with one rounding, so that the bytes do not depend on the batch size or
on the number of threads.
"""

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from starter.operation import TILE, Magnitudes, Operation, Params, by_tiles, per_image


def _identity(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    return images


def _draw_autocontrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"cutoff": rng.integers(0, 20, n, endpoint=True)}


def _autocontrast(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Stretch each channel to 0..255 after dropping `cutoff` per cent of its pixels at either end, as
    Pillow's `ImageOps.autocontrast`; the ends are order statistics, found in the cumulative histogram.
    """
    b, c, h, w = images.shape
    cut = h * w * magnitudes["cutoff"].repeat(c).reshape(b, c) // 100
    # The first value that more than `cut` pixels do not exceed, and the first that all but `cut` do not.
    ranks = torch.from_numpy(np.stack([cut + 1, h * w - cut], 2))
    parts = zip(images.split(TILE), ranks.split(TILE), strict=True)
    low, high = torch.cat([_at_ranks(*part) for part in parts]).float().unbind(2)
    flat = high <= low
    scale = torch.where(flat, 1.0, 255 / (high - low)).view(b, c, 1, 1)
    low = low.masked_fill_(flat, 0).view(b, c, 1, 1)
    # The small addend keeps the top of the range, (high - low) * scale, from being cut off to 254.
    return by_tiles(lambda x, low, scale: x.float().sub_(low).mul_(scale).add_(1e-3), images, low, scale)


def _at_ranks(images: Tensor, ranks: Tensor) -> Tensor:
    """The values of the given ranks (b, c, r) among those of each image and channel, int64 (b, c, r)."""
    b, c, h, w = images.shape
    bins = images.to(torch.int32).view(b * c, h * w)
    bins.add_(256 * torch.arange(b * c, dtype=torch.int32)[:, None])
    counts = torch.bincount(bins.view(-1), minlength=256 * b * c)
    return torch.searchsorted(counts.view(b, c, 256).cumsum(2), ranks)


def draw_per_channel(rng: Generator, n: int, low: float, high: float, share: float) -> NDArray[np.float32]:
    """Factors (n, 3) in [low, high): one an image, or with probability `share` one a channel."""
    factors = rng.uniform(low, high, (n, 3)).astype(np.float32)
    together = rng.random(n) >= share
    factors[together] = factors[together, :1]
    return factors


def _draw_brightness(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": draw_per_channel(rng, n, 0.1, 1.9, share=0.2)}


def _brightness(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Pixel values times `factor` (b, 3), rounded."""
    factors = per_image(magnitudes["factor"])
    return by_tiles(lambda x, factor: x.float().mul_(factor).add_(0.5), images, factors)


def _draw_color(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": rng.uniform(0, 3, n).astype(np.float32)}


def luma(values: Tensor) -> Tensor:
    """Grey (b, 1, h, w) of integer-valued float32 RGB (b, 3, h, w), as Pillow's `convert("L")` computes it:
    in 16-bit fixed point, below 2**24 units and so exact in float32.
    """
    red, green, blue = values.split(1, 1)
    grey = red * (19595 / 2**16)
    return grey.add_(green, alpha=38470 / 2**16).add_(blue, alpha=7471 / 2**16).add_(0.5).floor_()


def scale_saturation(images: Tensor, factor: float, offset: float | Tensor) -> Tensor:
    """Change S of HSV, in [0, 1], to factor * S + offset: distances from the largest channel grow with S.
    Grey has hue 0 and turns red. Images uint8 (b, 3, h, w), a tensor of offsets (b, 1, 1, 1); float32 on
    0..255.
    """
    values = images.float()
    top = values.amax(1, keepdim=True)
    gaps = top - values
    spread = gaps.amax(1, keepdim=True)
    wanted = (spread * factor).add_(top * offset).clamp_(min=0).minimum(top)
    gaps[:, 1:].add_(spread == 0)
    return top - gaps.mul_(wanted / spread.clamp(min=1))


def blend(base: Tensor, values: Tensor, factor: Tensor) -> Tensor:
    """`factor` (b, 1, 1, 1) 0 is the base, 1 the values and 2 as far beyond them; float32 (b, 3, h, w), and
    the base (b, 1 or 3, h, w). The values are overwritten.
    """
    return values.sub_(base).mul_(factor).add_(base)


def _color(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Blend with the grey image, as Pillow's `ImageEnhance.Color`."""
    return by_tiles(_coloured, images, per_image(magnitudes["factor"]))


def _coloured(images: Tensor, factor: Tensor) -> Tensor:
    values = images.float()
    return blend(luma(values), values, factor)


def _draw_solarize(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"threshold": rng.integers(32, 128, n, endpoint=True), "applied": rng.random(n) < 0.5}


def _solarize(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Invert the values from `threshold` on, in the images where it is `applied`."""
    threshold, flips = (
        torch.from_numpy(magnitudes[name].astype(np.uint8)).view(-1, 1, 1, 1)
        for name in ("threshold", "applied")
    )
    # Comparing into uint8 rather than bool is what torch does with SIMD.
    above = torch.ge(images, threshold, out=torch.empty_like(images))
    return above.mul_(flips * 255).bitwise_xor_(images)


def _draw_contrast(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"factor": draw_per_channel(rng, n, 0.5, 2.0, share=0.5)}


def _contrast(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Distances from 127 times `factor` (b, 3), rounded."""
    factors = per_image(magnitudes["factor"])
    return by_tiles(lambda x, factor: x.float().sub_(127).mul_(factor).add_(127.5), images, factors)


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


def _affine(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Move the images where it is `applied`, bilinear, with black from outside; see `inverse_affine`."""
    chosen = np.flatnonzero(magnitudes["applied"])
    h, w = images.shape[2:]
    inverse = inverse_affine({name: values[chosen] for name, values in magnitudes.items()}, h, w)
    # grid_sample's coordinates run from -1 to 1 between the outer edges of the image.
    inverse = (2 * inverse + np.array([0, 0, 1])) / np.array([[w], [h]]) - np.array([0, 0, 1])
    # A place is a complex number, x + iy: torch adds these faster than pairs.
    a, b, c = (inverse[:, 0] + 1j * inverse[:, 1]).astype(np.complex64).T[..., None]
    across = torch.from_numpy(a * np.arange(w, dtype=np.float32))[:, None, :]
    down = torch.from_numpy(b * np.arange(h, dtype=np.float32) + c)[:, :, None]
    result = images.clone()
    if len(chosen):
        # Rows are taken and put back through NumPy, which copies them whole.
        moved = torch.from_numpy(result.numpy()[chosen])
        result.numpy()[chosen] = by_tiles(_read_black, moved, across, down).numpy()
    return result


def _read_black(images: Tensor, across: Tensor, down: Tensor) -> Tensor:
    grid = torch.view_as_real(across + down)
    return torch.nn.functional.grid_sample(images.float(), grid, align_corners=False).add_(0.5)


def _draw_sharpen(rng: Generator, n: int, params: Params) -> Magnitudes:
    return {"alpha": rng.uniform(0.1, 1, n), "lightness": rng.uniform(0.8, 1.2, n)}


def sum_of_three(values: Tensor, dim: int) -> Tensor:
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


def _sharpen(images: Tensor, magnitudes: Magnitudes, params: Params, noise: Generator) -> Tensor:
    """Filter with (1 - alpha) I + alpha [[-1, -1, -1], [-1, 8 + lightness, -1], [-1, -1, -1]], rounded."""
    alpha, lightness = magnitudes["alpha"], magnitudes["lightness"]
    shares = per_image(1 - alpha + alpha * (9 + lightness)), per_image(alpha)
    return by_tiles(_less_square, images, *shares)


def _less_square(images: Tensor, centre: Tensor, alpha: Tensor) -> Tensor:
    square = sum_of_three(sum_of_three(images.to(torch.int16), 2), 3).float()
    return images.float().mul_(centre).sub_(square.mul_(alpha)).add_(0.5)


#: `identity` and Deng & Zheng's seven.
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
