"""Operations that imitate photographs from elsewhere: framing, colour statistics, resampling.

Collections differ as wholes, and their images vary about what they share: each operation first draws values
for the whole set, then varies images about them. Other groups draw for each image alone, about no change.
"""

from functools import partial

import cv2
import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from starter.data.operations.filters import jpeg, read_at
from starter.data.operations.operation import Magnitudes, Operation, by_tiles, operation, per_image

FILTERS = (cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA, cv2.INTER_LANCZOS4)
"""Interpolation methods of OpenCV with which photographs are resized."""

#: Operations that imitate natural shift in pixels, by name.
NATURAL: dict[str, Operation] = {}
_natural = partial(operation, NATURAL)


def _draw_reframe(rng: Generator, n: int) -> Magnitudes:
    """Draw a set's object size, 0.65 to 1.5 times as large, and images up to a third larger or smaller."""
    size = np.exp(rng.uniform(np.log(0.65), np.log(1.5)))
    stretch = np.exp(rng.normal(0, 0.08, n))
    scale = size * np.exp(rng.normal(0, 0.12, n))
    return {
        "scale": np.stack([scale * stretch, scale / stretch], 1),
        "shift": rng.normal(0, 0.07, (n, 2)).clip(-0.2, 0.2),
    }


@_natural(_draw_reframe, neutral={"scale": 1, "shift": 0})
def _reframe(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Scale by (x, y) about the centre, move by `shift` times the size; bicubic, reflected outside."""
    h, w = images.shape[2:]
    scale, shift = (torch.from_numpy(drawn[name]).float() for name in ("scale", "shift"))

    def step(values: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        places = []
        for axis, n in enumerate((w, h)):
            from_centre = torch.arange(n).float() - (n - 1) / 2 - n * shift[:, axis, None]
            places.append(from_centre / scale[:, axis, None] + (n - 1) / 2)
        x = places[0][:, None, :].expand(len(values), h, w)
        y = places[1][:, :, None].expand(len(values), h, w)
        return read_at(values.float(), x, y, "reflect", "bicubic").add_(0.5)

    return by_tiles(step, images, scale, shift)


def _draw_recolour(rng: Generator, n: int) -> Magnitudes:
    """Draw a set's mean (70 to 190 of 255), deviation (35 to 80) and colour cast; images vary about them."""
    light, contrast, cast = rng.uniform(70, 190), rng.uniform(35, 80), rng.normal(0, 8, 3)
    return {
        "mean": (light + cast + rng.normal(0, 18, (n, 1)) + rng.normal(0, 8, (n, 3))).clip(20, 235),
        "deviation": contrast * np.exp(rng.normal(0, 0.2, (n, 1))) * np.exp(rng.normal(0, 0.08, (n, 3))),
        "share": np.ones(n),
    }


@_natural(_draw_recolour, neutral={"share": 0})
def _recolour(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Move channels' mean and deviation towards `mean` and `deviation` (b, 3) by `share` (b,), in [0, 1].

    After Reinhard et al., Color Transfer between Images, 2001. A channel of one value keeps its deviation, 0.
    """
    mean, deviation, share = (per_image(drawn[name]) for name in ("mean", "deviation", "share"))

    def step(values: Tensor, mean: Tensor, deviation: Tensor, share: Tensor) -> Tensor:
        pixels = values.double()
        centre, spread = pixels.mean((2, 3), keepdim=True), pixels.std((2, 3), correction=0, keepdim=True)
        moved = (pixels - centre) * (deviation / spread.clamp(min=1)) + mean
        return ((moved - pixels) * share + pixels + 0.5).clamp_(0, 255).float()

    return by_tiles(step, images, mean, deviation, share)


def _draw_reencode(rng: Generator, n: int) -> Magnitudes:
    """Draw a set's scale (0.6 to 3), filter for each way and compression; quality varies by image."""
    scale = np.exp(rng.uniform(np.log(0.6), np.log(3)))
    there, back = rng.integers(len(FILTERS), size=2)
    compression = rng.uniform(2, 60)
    return {
        "scale": np.full(n, scale),
        "there": np.full(n, there),
        "back": np.full(n, back),
        "compression": (compression + rng.normal(0, 5, n)).clip(0, 70),
    }


@_natural(_draw_reencode, neutral={"scale": 1, "compression": 0}, variant_of="jpeg_compression")
def _reencode(images: Tensor, drawn: Magnitudes, noise: Generator) -> Tensor:
    """Resize by `scale` with filter `there`, compress to JPEG quality 100 - `compression`, resize `back`."""
    h, w = images.shape[2:]
    scale, there, back = (drawn[name][0] for name in ("scale", "there", "back"))
    kept = _resized(images, max(round(h * scale), 1), max(round(w * scale), 1), FILTERS[there])
    qualities = np.rint(100 - drawn["compression"]).astype(np.int64)
    return _resized(jpeg(kept, qualities.tolist()), h, w, FILTERS[back]).contiguous()


def _resized(images: Tensor, height: int, width: int, method: int) -> Tensor:
    """Resize images to uint8 (b, 3, height, width), one at a time: OpenCV takes no batches."""
    pixels = images.permute(0, 2, 3, 1).contiguous().numpy()
    found = [cv2.resize(image, (width, height), interpolation=method) for image in pixels]
    return torch.from_numpy(np.stack(found)).permute(0, 3, 1, 2)
