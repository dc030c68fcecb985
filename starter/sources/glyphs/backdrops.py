"""Backdrops of the embedded digits: random gradients, and crops of photographs that dependencies ship."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import cv2
import matplotlib
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_sample_image

SIDE = 32

_Images = NDArray[np.float32]
_Draw = Callable[[int, np.random.Generator], _Images]


def draw_backdrops(names: tuple[str, ...], n: int, rng: np.random.Generator) -> _Images:
    """Returns images (n, 32, 32, 3) in [0, 1], each of a random one of `names`, keys of `BACKDROPS`."""
    which = rng.integers(len(names), size=n)
    images = np.empty((n, SIDE, SIDE, 3), np.float32)
    for index, name in enumerate(names):
        mine = which == index
        images[mine] = BACKDROPS[name](int(mine.sum()), rng)
    return images


def _gradients(n: int, rng: np.random.Generator) -> _Images:
    """Returns linear blends of two random colours in a random direction."""
    first, second = rng.random((2, n, 1, 1, 3), np.float32)
    angle = rng.uniform(0, 2 * np.pi, (n, 1, 1))
    axis = np.linspace(-0.5, 0.5, SIDE)
    along = (axis[:, None] * np.sin(angle) + axis * np.cos(angle)) / np.sqrt(2) + 0.5
    return np.asarray(first + (second - first) * along[..., None], np.float32)


def _crops(photo: Callable[[], NDArray[np.uint8]]) -> _Draw:
    """Returns a function to draw crops of a photograph at 1, 1/2 or 1/4 of its size, mirrored at random."""

    @cache
    def windows() -> list[NDArray[np.uint8]]:
        whole = photo()
        levels = [
            cv2.resize(whole, None, fx=1 / k, fy=1 / k, interpolation=cv2.INTER_AREA) for k in (1, 2, 4)
        ]
        return [sliding_window_view(level, (SIDE, SIDE), (0, 1)) for level in levels]

    def draw(n: int, rng: np.random.Generator) -> _Images:
        level, mirrored, place = rng.integers(3, size=n), rng.random(n) < 0.5, rng.random((n, 2))
        crops = np.empty((n, SIDE, SIDE, 3), np.uint8)
        for index, view in enumerate(windows()):
            mine = level == index
            y, x = (place[mine] * view.shape[:2]).astype(np.int64).T
            crops[mine] = view[y, x].transpose(0, 2, 3, 1)
        crops[mirrored] = crops[mirrored, :, ::-1]
        return crops.astype(np.float32) / np.float32(255)

    return draw


def _sample_data(file: str) -> Path:
    return Path(matplotlib.get_data_path()) / "sample_data" / file


def _portrait() -> NDArray[np.uint8]:
    with Image.open(_sample_data("grace_hopper.jpg")) as photo:
        return np.asarray(photo.convert("RGB"))


def _terrain() -> NDArray[np.uint8]:
    """Returns elevations near Jacksboro in false colour: the height, and its slope in each direction."""
    with np.load(_sample_data("jacksboro_fault_dem.npz"), allow_pickle=False) as file:
        height = file["elevation"].astype(np.float32)
    bands = [height, *np.gradient(height)]
    scaled = [(band - band.mean()) / band.std() * 0.2 + 0.5 for band in bands]
    return np.rint(np.stack(scaled, -1).clip(0, 1) * 255).astype(np.uint8)


BACKDROPS: dict[str, _Draw] = {
    "china": _crops(lambda: load_sample_image("china.jpg")),
    "flower": _crops(lambda: load_sample_image("flower.jpg")),
    "gradient": _gradients,
    "portrait": _crops(_portrait),
    "terrain": _crops(_terrain),
}
