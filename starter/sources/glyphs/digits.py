"""Glyphs: the embedded data, digits 0-9 on gradients and photographs, 32 x 32 RGB.

Nothing is downloaded or stored: the shapes are scikit-learn's handwritten digits and typefaces that
Matplotlib ships, the photographs are scikit-learn's and Matplotlib's samples. The same seed gives the same
images with the same releases of Pillow, OpenCV and NumPy.
"""

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from starter.images.imageset import ImageSet
from starter.sources.glyphs.backdrops import SIDE, draw_backdrops
from starter.sources.glyphs.typefaces import CELL, HEIGHT, Typeface, handwriting, typeface
from starter.sources.splits import Splits
from submission.random import GLYPHS

CLASSES = tuple("0123456789")
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

_Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class Look:
    """The look of digits. A field of two numbers is the range of a uniform draw for each image.

    Attributes:
        faces: Names of typefaces, each equally likely; "handwriting" is that of the part.
        backdrops: Keys of `BACKDROPS`, each equally likely.
        height: Height of a digit in pixels.
        inverted: Share of light digits on dark backdrops, in [0, 1]; the others are dark on light.
        contrast: Difference in luminance of ink and mean backdrop, in [0, 1].
        weight: Pixels added to the stroke on either side.
        noise: Standard deviation of Gaussian pixel noise, in [0, 1].
        outline: Half the width in pixels of the inked outline; None for solid digits.
        neighbours: True to show parts of other digits to the left and right.
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
    """Returns the embedded data: 16,000 training images, and 2,000, 4,000, 1,000, 3,000 in the other parts.

    Every part has equally many images of each digit. About a third are handwritten, by writers of that part
    only (except for one who may be on both sides of a border); the others are typeset.
    """
    parts = []
    for index, (name, (n, rows)) in enumerate(PARTS.items()):
        rng = GLYPHS(seed, index)
        parts.append(_render(name, _balanced(n, rng), Look(), handwriting(*rows), rng))
    return Splits(CLASSES, *parts)


def natural_set(family: str, n: int, seed: int, name: str, part: str = "test_base") -> ImageSet:
    """Returns `n` labelled images of one family of natural shift, shuffled, digits balanced up to one image.

    Args:
        family: Key of `NATURAL`.
        n: Number of images.
        seed: Seed, an int >= 0. That of a hidden set must be kept private, since it gives the labels away.
        name: Name of the set.
        part: Key of `PARTS`, whose handwriting is used.
    """
    if family not in NATURAL:
        raise ValueError(f"no natural family {family!r}; there are {', '.join(NATURAL)}")
    rng = GLYPHS(seed, zlib.crc32(family.encode()))
    _, rows = PARTS[part]
    return _render(name, _balanced(n, rng), NATURAL[family], handwriting(*rows), rng)


def _balanced(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.permutation((np.arange(n) + rng.integers(10)) % 10)


def _render(
    name: str, labels: NDArray[np.int64], look: Look, handwritten: Typeface, rng: np.random.Generator
) -> ImageSet:
    faces = [handwritten if face == "handwriting" else typeface(face) for face in look.faces]
    return draw_glyphs(name, labels, look, faces, rng)


def draw_glyphs(
    name: str, labels: NDArray[np.int64], look: Look, faces: list[Typeface], rng: np.random.Generator
) -> ImageSet:
    """Returns images of the characters `labels` (n,) with a look; `faces`, if given, replace the look's."""
    images = np.empty((len(labels), SIDE, SIDE, 3), np.uint8)
    for start in range(0, len(labels), _CHUNK):
        digits = labels[start : start + _CHUNK]
        coverage = _coverage(digits, look, faces, rng)
        backdrop = draw_backdrops(look.backdrops, len(digits), rng)
        images[start : start + _CHUNK] = np.rint(_compose(coverage, backdrop, look, rng) * 255)
    return ImageSet(name, images, labels)


@dataclass(frozen=True)
class _Pose:
    """The places and sizes of digits.

    `centre` (n, 2) is x and y from the image's centre, `height` (n,) is in pixels, and `turn` (n, 2, 2) maps
    offsets in pixels to offsets in the cell.
    """

    centre: NDArray[np.float64]
    height: NDArray[np.float64]
    turn: NDArray[np.float64]

    def aside(self, heights: NDArray[np.float64]) -> "_Pose":
        """Returns places `heights` (n,) times a digit's height to the right."""
        step = np.stack([heights * self.height, np.zeros(len(heights))], -1)
        return _Pose(self.centre + step, self.height, self.turn)

    def points(self) -> NDArray[np.float64]:
        """Returns the places of the pixels in the cell, x and y: (n, 32, 32, 2)."""
        axis = np.arange(SIDE) - (SIDE - 1) / 2
        offsets = np.stack(np.meshgrid(axis, axis), -1) - self.centre[:, None, None]
        return offsets @ self.turn.transpose(0, 2, 1)[:, None] + (CELL - 1) / 2


def _draw_pose(n: int, look: Look, rng: np.random.Generator) -> _Pose:
    """Draw sizes and places in the image, rotations, slants up to 0.15 rad and proportions up to 15 %."""
    height = rng.uniform(*look.height, n)
    centre = rng.uniform(-0.5, 0.5, (n, 2)) * (SIDE - 2 - height)[:, None]
    angle, slant, narrow = rng.uniform(-0.15, 0.15, (3, n))
    cos, sin, one = np.cos(angle), np.sin(angle), np.ones(n)
    rotation = np.stack([cos, -sin, sin, cos], -1).reshape(n, 2, 2)
    shear = np.stack([np.exp(narrow), slant, 0 * one, one], -1).reshape(n, 2, 2)
    return _Pose(centre, height, shear @ rotation * (HEIGHT / height)[:, None, None])


def _coverage(
    digits: NDArray[np.int64], look: Look, faces: list[Typeface], rng: np.random.Generator
) -> _Pixels:
    """Returns the share of each pixel that is ink, (n, 32, 32) in [0, 1]."""
    n = len(digits)
    pose, which = _draw_pose(n, look, rng), rng.integers(len(faces), size=n)
    distance = _distances(digits, which, faces, pose, rng)
    for side in (-1, 1) if look.neighbours else ():
        others, gap = rng.integers(10, size=n), rng.uniform(0.75, 0.95, n)
        distance = np.maximum(distance, _distances(others, which, faces, pose.aside(side * gap), rng))
    if look.outline is not None:
        distance = look.outline - abs(distance)
    weight = rng.uniform(*look.weight, n).astype(np.float32)
    return np.clip(distance + weight[:, None, None] + 0.5, 0, 1)


def _distances(
    digits: NDArray[np.int64],
    which: NDArray[np.int64],
    faces: list[Typeface],
    pose: _Pose,
    rng: np.random.Generator,
) -> _Pixels:
    """Returns signed distances (n, 32, 32) in pixels to the outlines of `digits` in faces number `which`."""
    points = pose.points()
    distance = np.empty((len(digits), SIDE, SIDE), np.float32)
    for index, face in enumerate(faces):
        mine = which == index
        distance[mine] = face.at(face.draw(digits[mine], rng), points[mine])
    return distance * (pose.height / HEIGHT).astype(np.float32)[:, None, None]


def _compose(coverage: _Pixels, backdrop: _Pixels, look: Look, rng: np.random.Generator) -> _Pixels:
    """Returns images (n, 32, 32, 3) in [0, 1]: ink of one random colour on each backdrop, and noise."""
    n = len(coverage)
    inverted = rng.random(n) < look.inverted
    backdrop = ((1 + backdrop) / 2).astype(np.float32)  # light enough for dark ink
    backdrop[inverted] = 1 - backdrop[inverted]
    step = rng.uniform(*look.contrast, n) * np.where(inverted, 1, -1)
    luma = np.clip(backdrop.mean((1, 2)) @ _LUMA + step, 0, 1)
    ink = rng.random((n, 3))
    ink += (luma - ink @ _LUMA)[:, None]
    mixed = backdrop + coverage[..., None] * (ink.clip(0, 1).astype(np.float32)[:, None, None] - backdrop)
    noise = rng.standard_normal(mixed.shape, np.float32)
    return (mixed + noise * rng.uniform(*look.noise, n).astype(np.float32)[:, None, None, None]).clip(0, 1)
