"""Typefaces: shapes of characters as signed distance fields, from fonts and digits that dependencies ship.

A field gives, at each pixel of a 64 x 64 cell, the distance to the character's outline (positive inside). One
bilinear look-up draws it at any size and angle with clean edges, and adding a constant changes the weight of
its strokes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path

import cv2
import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_digits

from submission.arrays import FloatArray, IntArray

CELL = 64  # height and width of a field in pixels
HEIGHT = 40  # height of a digit in its cell, in pixels
DIGITS = "0123456789"
_FINE = 2  # pixels of a drawn shape for each pixel of its field, along either side
_CANVAS, _DRAWN = CELL * _FINE, HEIGHT * _FINE

_Mask = NDArray[np.uint8]

# Files that Matplotlib ships (mpl-data/fonts/ttf).
FONT_FILES = {
    "dejavu": (
        "DejaVuSans.ttf",
        "DejaVuSans-Bold.ttf",
        "DejaVuSans-Oblique.ttf",
        "DejaVuSansMono.ttf",
        "DejaVuSansMono-Bold.ttf",
        "DejaVuSerif.ttf",
        "DejaVuSerif-Bold.ttf",
        "DejaVuSerif-Italic.ttf",
    ),
    "stix": ("STIXGeneral.ttf", "STIXGeneralBol.ttf"),
    "stix-italic": ("STIXGeneralItalic.ttf", "STIXGeneralBolIta.ttf"),
    "computer-modern": ("cmr10.ttf", "cmb10.ttf", "cmtt10.ttf"),
    "computer-modern-sans": ("cmss10.ttf",),
}
SCRIPT_FILES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
# Segments a-g of a seven-segment display: the ends of each, in a box of width 1 and height 2.
_SEGMENT_ENDS = {
    "a": ((0, 0), (1, 0)),
    "b": ((1, 0), (1, 1)),
    "c": ((1, 1), (1, 2)),
    "d": ((0, 2), (1, 2)),
    "e": ((0, 1), (0, 2)),
    "f": ((0, 0), (0, 1)),
    "g": ((0, 1), (1, 1)),
}
_LIT_SEGMENTS = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
# The five columns of each digit on a 5 x 7 dot-matrix display, lowest bit on top.
_DOT_COLUMNS = (
    (0x3E, 0x51, 0x49, 0x45, 0x3E),
    (0x00, 0x42, 0x7F, 0x40, 0x00),
    (0x42, 0x61, 0x51, 0x49, 0x46),
    (0x21, 0x41, 0x45, 0x4B, 0x31),
    (0x18, 0x14, 0x12, 0x7F, 0x10),
    (0x27, 0x45, 0x45, 0x45, 0x39),
    (0x3C, 0x4A, 0x49, 0x49, 0x30),
    (0x01, 0x71, 0x09, 0x05, 0x03),
    (0x36, 0x49, 0x49, 0x49, 0x36),
    (0x06, 0x49, 0x49, 0x29, 0x1E),
)
_OPENCV_FACES = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_COMPLEX, cv2.FONT_HERSHEY_SCRIPT_SIMPLEX)


@dataclass(frozen=True)
class Typeface:
    """Shapes of k characters: sorted fields in cell pixels (m, 64, 64), and counts (k,), each >= 1."""

    fields: FloatArray
    counts: IntArray

    def draw(self, digits: IntArray, rng: np.random.Generator) -> IntArray:
        """Returns indices (n,) into `fields` of shapes of `digits` (n,), drawn uniformly from each one's."""
        starts = np.cumsum(self.counts) - self.counts
        return starts[digits] + (rng.random(len(digits)) * self.counts[digits]).astype(np.int64)

    def at(self, shapes: IntArray, points: FloatArray) -> FloatArray:
        """Returns bilinear values (n, h, w) of fields `shapes` (n,) at `points` (n, h, w, 2), x before y."""
        points = points.clip(0, CELL - 1.001)
        corner = points.astype(np.int64)
        right, down = np.moveaxis((points - corner).astype(np.float32), -1, 0)
        first = (shapes[:, None, None] * CELL + corner[..., 1]) * CELL + corner[..., 0]
        flat = self.fields.reshape(-1)
        upper = flat[first] * (1 - right) + flat[first + 1] * right
        lower = flat[first + CELL] * (1 - right) + flat[first + CELL + 1] * right
        return upper * (1 - down) + lower * down


@cache
def typeface(name: str) -> Typeface:
    """Returns the typeface of a name: a key of `FONT_FILES` or of `DRAWN`."""
    # "opencv" is the face of ``cv2.putText``: Hershey's strokes up to OpenCV 4, Rubik from OpenCV 5.
    return _typeface(_font_shapes(FONT_FILES[name]) if name in FONT_FILES else DRAWN[name]())


@cache
def script(characters: str) -> Typeface:
    """Returns the typeface of these characters in two faces of DejaVu Sans, which must have all of them."""
    return _typeface(_font_shapes(SCRIPT_FILES, characters))


@cache
def handwriting(start: int, stop: int) -> Typeface:
    """Returns rows `start` to `stop` (of 1,797) of scikit-learn's handwritten digits, enlarged from 8 x 8."""
    # Neighbouring rows share writers: disjoint ranges that are far apart have few or none in common.
    bunch = load_digits()
    margin = (_CANVAS - _DRAWN) // 2
    masks = np.zeros((stop - start, _CANVAS, _CANVAS), np.uint8)
    for mask, pixels in zip(masks, bunch.images[start:stop], strict=True):
        smooth = cv2.resize(pixels.astype(np.float32), (_DRAWN, _DRAWN), interpolation=cv2.INTER_CUBIC)
        mask[margin:-margin, margin:-margin] = smooth > 9
    return _typeface(zip(masks, bunch.target[start:stop], strict=True))


def _typeface(shapes: Iterable[tuple[_Mask, int]]) -> Typeface:
    masks, numbers = zip(*sorted(shapes, key=itemgetter(1)), strict=True)
    return Typeface(np.stack([*map(_distances, masks)]), np.bincount(numbers))


def _distances(mask: _Mask) -> FloatArray:
    """Returns the signed distance field (64, 64) of a fine mask (128, 128) of zeros and ones."""
    inside, outside = (cv2.distanceTransform(m, cv2.DIST_L2, 5) for m in (mask, 1 - mask))
    return cv2.resize(inside - outside, (CELL, CELL), interpolation=cv2.INTER_AREA) / np.float32(_FINE)


def _font_shapes(files: tuple[str, ...], characters: str = DIGITS) -> Iterator[tuple[_Mask, int]]:
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for file in files:
        unit = ImageFont.truetype(str(folder / file), 100)
        top, bottom = unit.getbbox("0")[1::2]
        font = ImageFont.truetype(str(folder / file), round(100 * _DRAWN / (bottom - top)))
        for number, character in enumerate(characters):
            image = Image.new("L", (_CANVAS, _CANVAS))
            left, top, right, bottom = font.getbbox(character)
            corner = ((_CANVAS - left - right) / 2, (_CANVAS - top - bottom) / 2)
            ImageDraw.Draw(image).text(corner, character, fill=255, font=font)
            yield (np.asarray(image) > 127).astype(np.uint8), number


def _opencv_shapes() -> Iterator[tuple[_Mask, int]]:
    for face in _OPENCV_FACES:
        for digit in range(10):
            canvas = np.zeros((2 * _CANVAS, 2 * _CANVAS), np.uint8)
            cv2.putText(
                canvas,
                text=str(digit),
                org=(_CANVAS // 2, 3 * _CANVAS // 2),
                fontFace=face,
                fontScale=3.5,
                color=1,
                thickness=7,
            )
            left, top, width, height = cv2.boundingRect(canvas)
            left += (width - _CANVAS) // 2
            top += (height - _CANVAS) // 2
            yield np.ascontiguousarray(canvas[top : top + _CANVAS, left : left + _CANVAS]), digit


def _seven_segment_shapes() -> Iterator[tuple[_Mask, int]]:
    half, corner = _DRAWN // 2, np.array([(_CANVAS - _DRAWN // 2) // 2, (_CANVAS - _DRAWN) // 2])
    for thickness in (7, 13):
        for digit, segments in enumerate(_LIT_SEGMENTS):
            mask = np.zeros((_CANVAS, _CANVAS), np.uint8)
            for start, end in (np.array(_SEGMENT_ENDS[segment]) for segment in segments):
                gap = np.sign(end - start) * thickness
                ends = (corner + half * start + gap, corner + half * end - gap)
                cv2.line(mask, ends[0].tolist(), ends[1].tolist(), 1, thickness)
            yield mask, digit


def _dot_matrix_shapes() -> Iterator[tuple[_Mask, int]]:
    pitch = _DRAWN // 7
    for radius in (4, 5):
        for digit, columns in enumerate(_DOT_COLUMNS):
            mask = np.zeros((_CANVAS, _CANVAS), np.uint8)
            for column, bits in enumerate(columns):
                for row in range(7):
                    if bits >> row & 1:
                        centre = (_CANVAS // 2 + pitch * (column - 2), _CANVAS // 2 + pitch * (row - 3))
                        cv2.circle(mask, centre, radius, 1, cv2.FILLED)
            yield mask, digit


DRAWN: dict[str, Callable[[], Iterator[tuple[_Mask, int]]]] = {
    "dot-matrix": _dot_matrix_shapes,
    "opencv": _opencv_shapes,
    "seven-segment": _seven_segment_shapes,
}
