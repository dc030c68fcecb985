"""Textures for weather corruptions: clouds, frost on a pane, light on drops of water."""

from typing import Any

import cv2
import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from submission.arrays import FloatArray


def plasma(noise: Generator, n: int, side: int, decay: float) -> FloatArray:
    """Returns n cloud textures (n, size, size) in [0, 1]; size is the smallest power of two >= `side`.

    They are made by the diamond-square algorithm on a torus; the random offset shrinks by `decay` with every
    halving.
    """
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
    """Returns textures like frost on a pane, float32 (n, 3, size, size) on 0..255.

    They show bright, slightly blue veins on a grey film, where two clouds cross their middle value.
    """
    veins = [1 - np.abs(2 * plasma(noise, n, side, 1.6) - 1) for _ in range(2)]
    film = plasma(noise, n, side, 2.0)
    light = 0.35 + 0.25 * film + 0.4 * np.maximum(*veins) ** 6
    tint = np.array([0.86, 0.95, 1.0]).reshape(1, 3, 1, 1)
    return torch.from_numpy((255 * light[:, None] * tint).astype(np.float32))


def water(liquid: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the light on drops of liquid, (b, h, w) in [0, 1].

    OpenCV's edge and distance functions take one image at a time. A rare value above 1 is clipped; in the
    authors' code it wraps around to a dark spot.
    """
    layers = (np.clip(liquid, 0, 1) * 255).astype(np.uint8)
    edges = np.stack([cv2.Canny(layer, 50, 150) for layer in layers])
    np.subtract(255, edges, out=edges)
    distances = np.stack([cv2.distanceTransform(layer, cv2.DIST_L2, 5) for layer in edges])
    np.minimum(distances, 20, out=distances)
    relief = np.stack([_relief(layer) for layer in distances])
    light = layers * relief.astype(np.float32)
    return light / np.maximum(light.max((1, 2), keepdims=True), 1)


def _relief(distance: NDArray[np.float32]) -> NDArray[Any]:
    """Returns the slopes of one image's smoothed distances, (h, w)."""
    smooth = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))
    return cv2.blur(cv2.filter2D(smooth, cv2.CV_8U, EMBOSS), (3, 3))


EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
