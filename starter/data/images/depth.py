"""Images whose values are not 8-bit: of 16 or 32 bits, or floats, from files or arrays, made 8-bit.

What is white in such a file is the largest value of its type, or less: 12-bit cameras' values stand in 16-bit
files, and floats may end at 1 or at 255. A file may say it; if not, the largest value of a whole set does.
"""

import io
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import TiffImagePlugin

from submission.arrays import Pixels
from submission.errors import tell_once

BITS_PER_SAMPLE, PHOTOMETRIC, ORIENTATION, PLANAR, S_MAX_SAMPLE_VALUE = 258, 262, 274, 284, 341
"""Numbers of TIFF's tags; the orientation's is EXIF's too. Photometric 1 and 2 are grey and RGB."""
USUAL_BITS = (10, 12, 14)
"""Bits of cameras' values, besides 8 and 16."""
NEAR = 0.9
"""Share of the largest value of so many bits that a set of so many bits reaches."""
SLACK = 0.1
"""How far resized floats go beyond 0 and 1."""
_PNG = b"\x89PNG\r\n\x1a\n"
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


Deep = tuple[NDArray[Any], float]
"""The values of an image, (h, w) or (h, w, 3), RGB, and the value of white that its file names, or 0."""


@dataclass(frozen=True)
class Range:
    """The range of a set's values; `named` are the values of white in its files, 0 if one has none."""

    low: float
    high: float
    floats: bool
    named: frozenset[float] = frozenset({0.0})

    @classmethod
    def of(cls, images: Iterable[Deep]) -> "Range":
        """Returns the range of one or more images."""
        found = [
            (float(values.min()), float(values.max()), values.dtype.kind == "f", white)
            for values, white in images
        ]
        low, high, floats, named = zip(*found, strict=True)
        return cls(min(low), max(high), any(floats), frozenset(named))

    def white(self) -> float:
        """Returns the value of white; raises ValueError where it is doubtful."""
        named = max(self.named) if len(self.named) == 1 else 0
        if named and self.low >= 0 and self.high <= named:
            return named
        if white := self._of_floats() if self.floats else self._of_integers():
            return white
        raise ValueError(
            f"values from {self.low:.5g} to {self.high:.5g}, and nothing says which is white: make the "
            "images 8-bit, or scale them so that white is 65535, or 1 where they are floats"
        )

    def tell(self, path: Path) -> None:
        """Print one line where white is not the largest value of the usual types; ValueError as `white`."""
        if (white := self.white()) != 65535:
            tell_once(f"{path}: values go up to {self.high:.5g}; {white:.5g} is read as white")

    def _of_floats(self) -> float:
        """Returns 1 or 255; 0 where neither is near."""
        if self.low < -SLACK or self.high > 255 + SLACK:
            return 0
        return 1 if self.high <= 1 + SLACK else 255 if self.high >= 255 / 2 else 0

    def _of_integers(self) -> float:
        """Returns the largest value of the fewest bits that fit; 0 where the set is far below it."""
        if self.low < 0 or self.high > 65535:
            return 0
        top = next(2**bits - 1 for bits in (8, *USUAL_BITS, 16) if self.high < 2**bits)
        return 0 if 255 < top < 65535 and self.high < NEAR * top else top


def as_pixels(values: NDArray[Any], white: float) -> Pixels:
    """Returns values as uint8 of the same shape, `white` as 255."""
    if white == 255 and values.dtype.kind in "iu":
        return values.astype(np.uint8)
    scaled: NDArray[Any] = values * (np.float32(255) / np.float32(white))
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def deep_file(data: bytes) -> Deep | None:
    """Returns the values of a PNG or TIFF of over 8 bits, of which Pillow keeps 8; None for other files."""
    tags = _tiff_tags(data) if data.startswith(_TIFF) else {}
    deep_png = data.startswith(_PNG) and data[24:25] == b"\x10"
    if not deep_png and max(tags.get(BITS_PER_SAMPLE, (1,))) <= 8:
        return None
    if deep_png and b"IEND" not in data[-64:]:
        raise ValueError("the file is cut short")
    flags = cv2.IMREAD_ANYDEPTH | cv2.IMREAD_ANYCOLOR  # OpenCV turns images as their orientation says
    try:
        values = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error:
        values = None
    usual = tags.get(PHOTOMETRIC, 1) in (1, 2) and tags.get(PLANAR, 1) == 1
    if values is None or not usual:
        raise ValueError("damaged, or of more than 8 bits a value in a form that is not known here")
    white = _png_white(data) if deep_png else _tiff_white(tags)
    return values if values.ndim == 2 else values[..., ::-1], white


def _tiff_tags(data: bytes) -> dict[int, Any]:
    """Returns the tags of a TIFF file's first image; none of a damaged one."""
    head = 16 if data[2:3] == b"+" or data[3:4] == b"+" else 8
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tags = TiffImagePlugin.ImageFileDirectory_v2(data[:head])
            stream = io.BytesIO(data)
            stream.seek(tags.next)
            tags.load(stream)
            return dict(tags)
    except Exception:  # a damaged file makes Pillow raise whatever it meets
        return {}


def _tiff_white(tags: dict[int, Any]) -> float:
    """Returns the value of white that a TIFF's tags name: the largest sample, or that of its odd bits."""
    bits = max(tags[BITS_PER_SAMPLE])
    named = max(tags.get(S_MAX_SAMPLE_VALUE, (0,)))
    return float(named or (2**bits - 1 if 8 < bits < 16 else 0))


def _png_white(data: bytes) -> float:
    """Returns the largest value of a PNG's significant bits (its chunk sBIT), 0 if it names none."""
    at = data.find(b"sBIT", 33, data.find(b"IDAT"))
    size = int.from_bytes(data[at - 4 : at], "big")
    return 2.0 ** max(data[at + 4 : at + 4 + size]) - 1 if at > 0 and size else 0
