"""Glyphs: the embedded data, digits 0-9 on gradients and photographs, 32 x 32 RGB.

Nothing is downloaded or stored: the shapes are scikit-learn's handwritten digits and typefaces that
Matplotlib ships, the photographs are scikit-learn's and Matplotlib's samples. The same seed gives the same
images with the same releases of Pillow, OpenCV and NumPy.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import cv2
import numpy as np
from matplotlib.cbook import get_sample_data
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from PIL import Image
from sklearn.datasets import load_sample_image

from starter.data.images.imageset import ImageSet
from starter.data.sources.glyphs.typefaces import CELL, HEIGHT, Typeface, handwriting, typeface
from starter.data.sources.splits import Splits
from submission.arrays import FloatArray, IntArray, Pixels
from submission.random import GLYPHS

CLASSES = tuple("0123456789")
SIDE = 32
# Images of each part, and its own rows of handwriting: blocks, since neighbouring rows share writers.
PARTS = {
    "train": (16000, (0, 800)),
    "reference": (2000, (800, 1000)),
    "meta_base": (4000, (1000, 1400)),
    "val_base": (1000, (1400, 1500)),
    "test_base": (3000, (1500, 1797)),
}
_CHUNK = 500
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)

_Draw = Callable[[int, Generator], FloatArray]


@dataclass(frozen=True)
class Look:
    """The look of digits. A field of two numbers is the range of a uniform draw for each image.

    "handwriting" is that of the part. Pixels: `height`, `weight` (added to the stroke on either side),
    `outline` (half the width of the inked one). In [0, 1]: the share `inverted` of light digits, the
    `contrast` in luminance of ink and mean backdrop, the deviation of Gaussian `noise`. `neighbours` shows
    parts of other digits.
    """

    faces: tuple[str, ...] = ("handwriting", "dejavu", "dejavu")
    backdrops: tuple[str, ...] = ("gradient", "china", "flower")
    height: tuple[float, float] = (9.0, 19.0)
    inverted: float = 0.05
    contrast: tuple[float, float] = (0.15, 0.6)
    weight: tuple[float, float] = (-0.4, 0.5)
    noise: tuple[float, float] = (0.0, 0.02)
    outline: float | None = None
    neighbours: bool = False


# Natural shift: each family has one property that the training images never have.
NATURAL: dict[str, Look] = {
    "computer-modern": Look(faces=("computer-modern",)),
    "computer-modern-sans": Look(faces=("computer-modern-sans",)),
    "crowded": Look(neighbours=True),
    "dot-matrix": Look(faces=("dot-matrix",)),
    "faint": Look(contrast=(0.05, 0.2)),
    "handwriting": Look(faces=("handwriting",)),
    "inverted": Look(inverted=0.6),
    "opencv": Look(faces=("opencv",)),
    "outline": Look(outline=0.6),
    "portrait": Look(backdrops=("portrait",)),
    "seven-segment": Look(faces=("seven-segment",)),
    "stix": Look(faces=("stix",)),
    "stix-italic": Look(faces=("stix-italic",)),
    "terrain": Look(backdrops=("terrain",)),
}


@lru_cache(maxsize=1)
def glyph_splits(seed: int) -> Splits:
    """Returns the embedded data, digits balanced: a third of each part is handwritten, by its own writers."""
    parts = []
    for index, (name, (n, rows)) in enumerate(PARTS.items()):
        rng = GLYPHS(seed, index)
        parts.append(_render(name, n, Look(), rows, rng))
    return Splits(CLASSES, *parts)


def natural_set(family: str, n: int, seed: int, name: str, part: str = "test_base") -> ImageSet:
    """Returns `n` balanced, shuffled images of a family of `NATURAL`; the seed gives their labels away."""
    rng = GLYPHS(seed, zlib.crc32(family.encode()))
    _, rows = PARTS[part]
    return _render(name, n, NATURAL[family], rows, rng)


def _render(name: str, n: int, look: Look, rows: tuple[int, int], rng: Generator) -> ImageSet:
    labels = rng.permutation((np.arange(n) + rng.integers(10)) % 10)
    faces = [handwriting(*rows) if face == "handwriting" else typeface(face) for face in look.faces]
    return draw_glyphs(name, labels, look, faces, rng)


def draw_glyphs(name: str, labels: IntArray, look: Look, faces: list[Typeface], rng: Generator) -> ImageSet:
    """Returns images of the characters `labels` (n,) with a look; `faces`, if given, replace the look's."""
    images = np.empty((len(labels), SIDE, SIDE, 3), np.uint8)
    for start in range(0, len(labels), _CHUNK):
        digits = labels[start : start + _CHUNK]
        coverage = _coverage(digits, look, faces, rng)
        backdrop = draw_backdrops(look.backdrops, len(digits), rng)
        images[start : start + _CHUNK] = np.rint(_compose(coverage, backdrop, look, rng) * 255)
    return ImageSet(name, images, labels)


def _draw_pose(n: int, look: Look, rng: Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw centres x, y (n, 2) and heights (n,) in pixels, and maps (n, 2, 2) from pixels to the cell's."""
    height = rng.uniform(*look.height, n)
    centre = rng.uniform(-0.5, 0.5, (n, 2)) * (SIDE - 2 - height)[:, None]
    angle, slant, narrow = rng.uniform(-0.15, 0.15, (3, n))
    cos, sin, one = np.cos(angle), np.sin(angle), np.ones(n)
    rotation = np.stack([cos, -sin, sin, cos], -1).reshape(n, 2, 2)
    shear = np.stack([np.exp(narrow), slant, 0 * one, one], -1).reshape(n, 2, 2)
    return centre, height, shear @ rotation * (HEIGHT / height)[:, None, None]


def _points(centre: FloatArray, turn: FloatArray) -> FloatArray:
    """Returns the places of the pixels in the cell, x and y: (n, 32, 32, 2)."""
    axis = np.arange(SIDE) - (SIDE - 1) / 2
    offsets = np.stack(np.meshgrid(axis, axis), -1) - centre[:, None, None]
    return offsets @ turn.transpose(0, 2, 1)[:, None] + (CELL - 1) / 2


def _coverage(digits: IntArray, look: Look, faces: list[Typeface], rng: Generator) -> FloatArray:
    """Returns the share of each pixel that is ink, (n, 32, 32) in [0, 1]."""
    n = len(digits)
    (centre, height, turn), which = _draw_pose(n, look, rng), rng.integers(len(faces), size=n)
    distance = _distances(digits, which, faces, _points(centre, turn), rng)
    for side in (-1, 1) if look.neighbours else ():
        others, gap = rng.integers(10, size=n), rng.uniform(0.75, 0.95, n)
        aside = centre + np.stack([side * gap * height, np.zeros(n)], -1)
        distance = np.maximum(distance, _distances(others, which, faces, _points(aside, turn), rng))
    distance *= (height / HEIGHT).astype(np.float32)[:, None, None]
    if look.outline is not None:
        distance = look.outline - abs(distance)
    weight = rng.uniform(*look.weight, n).astype(np.float32)
    return np.clip(distance + weight[:, None, None] + 0.5, 0, 1)


def _distances(
    digits: IntArray, which: IntArray, faces: list[Typeface], points: FloatArray, rng: Generator
) -> FloatArray:
    """Returns signed distances (n, 32, 32), in the cell's pixels, to outlines in faces number `which`."""
    distance = np.empty((len(digits), SIDE, SIDE), np.float32)
    for index, face in enumerate(faces):
        mine = which == index
        distance[mine] = face.at(face.draw(digits[mine], rng), points[mine])
    return distance


def _compose(coverage: FloatArray, backdrop: FloatArray, look: Look, rng: Generator) -> FloatArray:
    """Returns images (n, 32, 32, 3) in [0, 1]: ink of one random colour on each backdrop, and noise."""
    n = len(coverage)
    inverted = rng.random(n) < look.inverted
    backdrop = ((1 + backdrop) / 2).astype(np.float32)  # light enough for dark ink
    backdrop[inverted] = 1 - backdrop[inverted]
    step = rng.uniform(*look.contrast, n) * np.where(inverted, 1, -1)
    luma = np.clip(backdrop.mean((1, 2)) @ _LUMA + step, 0, 1)
    ink = rng.random((n, 3))
    ink += (luma - ink @ _LUMA)[:, None]
    mixed = _rows(ink.clip(0, 1).astype(np.float32)) - backdrop
    mixed *= np.repeat(coverage, 3, axis=2).reshape(mixed.shape)
    mixed += backdrop
    noise = rng.standard_normal(mixed.shape, np.float32)
    noise *= rng.uniform(*look.noise, n).astype(np.float32)[:, None, None, None]
    mixed += noise
    return mixed.clip(0, 1, out=mixed)


def _rows(colours: FloatArray) -> FloatArray:
    """Returns a row of pixels of each colour, (n, 1, 32, 3): NumPy is slow where it repeats three numbers."""
    return np.tile(colours, SIDE).reshape(-1, 1, SIDE, 3)


def draw_backdrops(names: tuple[str, ...], n: int, rng: Generator) -> FloatArray:
    """Returns images (n, 32, 32, 3) in [0, 1], each of a random one of `names`, keys of `BACKDROPS`."""
    which = rng.integers(len(names), size=n)
    images = np.empty((n, SIDE, SIDE, 3), np.float32)
    for index, name in enumerate(names):
        mine = which == index
        images[mine] = BACKDROPS[name](int(mine.sum()), rng)
    return images


def _gradients(n: int, rng: Generator) -> FloatArray:
    """Returns linear blends of two random colours in a random direction."""
    first, second = rng.random((2, n, 3), np.float32)
    angle = rng.uniform(0, 2 * np.pi, (n, 1, 1))
    axis = np.linspace(-0.5, 0.5, SIDE)
    along = (axis[:, None] * np.sin(angle) + axis * np.cos(angle)) / np.sqrt(2) + 0.5
    along = np.repeat(along, 3, axis=2).reshape(n, SIDE, SIDE, 3)
    return np.asarray(_rows(first) + _rows(second - first) * along, np.float32)


def _crops(photo: Callable[[], Pixels]) -> _Draw:
    """Returns a function to draw crops of a photograph at 1, 1/2 or 1/4 of its size, mirrored at random."""

    @cache
    def windows() -> list[Pixels]:
        whole = photo()
        levels = [
            cv2.resize(whole, None, fx=1 / k, fy=1 / k, interpolation=cv2.INTER_AREA) for k in (1, 2, 4)
        ]
        return [sliding_window_view(level, (SIDE, SIDE), (0, 1)) for level in levels]

    def draw(n: int, rng: Generator) -> FloatArray:
        level, mirrored, place = rng.integers(3, size=n), rng.random(n) < 0.5, rng.random((n, 2))
        crops = np.empty((n, SIDE, SIDE, 3), np.uint8)
        for index, view in enumerate(windows()):
            mine = level == index
            y, x = (place[mine] * view.shape[:2]).astype(np.int64).T
            crops[mine] = view[y, x].transpose(0, 2, 3, 1)
        crops[mirrored] = crops[mirrored, :, ::-1]
        return crops.astype(np.float32) / np.float32(255)

    return draw


def _portrait() -> Pixels:
    with Image.open(get_sample_data("grace_hopper.jpg", asfileobj=False)) as photo:
        return np.asarray(photo.convert("RGB"))


def _terrain() -> Pixels:
    """Returns elevations near Jacksboro in false colour: the height, and its slope in each direction."""
    with np.load(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as file:
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
