"""Search for near copies: images that were mirrored, shifted by a pixel or compressed again.

Candidates are found by descriptors (thumbnails and positions of detail) that do not change under mirroring.
Their aligned pixels decide, and their detail: two blue skies are not copies.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from starter.images.imageset import ImageSet

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
ALIKE = 0.88
"""Smallest cosine of two images' descriptors for a comparison of their pixels."""
NEAREST = 8
"""Largest number of images compared with one image, those with the most similar descriptors."""
PIXELS, DETAIL = 0.96, 0.9
"""Smallest correlations of two aligned grey images, and of their detail, for near copies."""
FLAT = 1.0
"""Largest standard deviation of the detail, on 0..255, of an image without usable detail."""
SIDE = 32
"""Height and width in pixels at which larger images are compared."""
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
_CELLS = 8
_BLOCK = 2000


@dataclass(frozen=True)
class Described:
    """Images as `near_copies` compares them.

    Attributes:
        grey: Grey images, float32 (n, h, w), in 0..255.
        descriptors: Descriptors, float32 (n, 128); zeros for an image without detail.
    """

    grey: Floats
    descriptors: Floats

    @classmethod
    def of(cls, images: ImageSet) -> "Described":
        """Describe images; larger ones should be `shrunk` first."""
        grey = _grey(images.images)
        return cls(grey, _descriptors(grey))


def near_copies(one: Described, other: Described) -> Iterator[tuple[int, int]]:
    """Yield pairs (row of `one`, row of `other`) of near copies, including equal images.

    Both sets must have the same image size. Images without detail are never copies. Detection rates and
    false positives: docs/decisions/0091-near-copies.md.
    """
    for start in range(0, len(one.descriptors), _BLOCK):
        left, right = _alike(one.descriptors[start : start + _BLOCK], other.descriptors)
        for begin in range(0, len(left), _BLOCK):
            rows, others = left[begin : begin + _BLOCK] + start, right[begin : begin + _BLOCK]
            same = _same(one.grey[rows], other.grey[others])
            yield from zip(rows[same].tolist(), others[same].tolist(), strict=True)


def shrunk(images: ImageSet) -> ImageSet:
    """Returns the images at a size for quick comparison: unchanged, or `SIDE` x `SIDE` pixels."""
    if max(images.images.shape[1:3]) <= 2 * SIDE:
        return images
    small = [cv2.resize(each, (SIDE, SIDE), interpolation=cv2.INTER_AREA) for each in images.images]
    return ImageSet(images.name, np.stack(small))


def _grey(images: NDArray[np.uint8]) -> Floats:
    """Returns grey images (n, h, w), in 0..255."""
    return images @ _LUMA


def _smooth(images: Floats, sigma: float) -> Floats:
    return np.stack([cv2.GaussianBlur(image, (0, 0), sigma) for image in images])


def _detail(grey: Floats) -> Floats:
    """Returns the images minus their means over 5 x 5 pixels, (n, h, w)."""
    means = [cv2.blur(image, (5, 5), borderType=cv2.BORDER_REFLECT) for image in grey]
    return grey - np.stack(means)


def _descriptors(grey: Floats) -> Floats:
    """Returns descriptors (n, 128), unchanged by mirroring: thumbnail without slope, positions of detail."""
    detail = _detail(grey)
    shape, places = _small(_smooth(grey, 1.5)), _small(_smooth(np.abs(detail), 2.0))
    parts = _folded(_level(shape, slope=True)), _folded(_level(places, slope=False))
    found = np.concatenate(parts, axis=1) / np.sqrt(np.float32(2))
    found[detail.std(axis=(1, 2)) < FLAT] = 0
    return found


def _small(images: Floats) -> Floats:
    """Returns the images at 8 x 8 pixels."""
    return np.stack([cv2.resize(each, (_CELLS, _CELLS), interpolation=cv2.INTER_AREA) for each in images])


def _level(small: Floats, slope: bool) -> Floats:
    """Returns thumbnails minus their mean or, with `slope`, minus their best-fitting plane."""
    y, x = np.mgrid[:_CELLS, :_CELLS].reshape(2, -1)
    level = np.stack([np.ones_like(x), x, y], axis=1)[:, : 3 if slope else 1]
    plane = np.linalg.qr(level)[0].astype(np.float32)
    rows = small.reshape(len(small), -1)
    return (rows - (rows @ plane) @ plane.T).reshape(small.shape)


def _folded(small: Floats) -> Floats:
    """Returns even part and absolute odd part of thumbnails (n, 64), norm 1, unchanged by mirroring."""
    half, mirrored = _CELLS // 2, small[:, :, ::-1]
    parts = (small + mirrored)[:, :, :half], np.abs(small - mirrored)[:, :, :half]
    rows = np.concatenate([part.reshape(len(small), -1) for part in parts], axis=1)
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + np.float32(1e-3))


def _alike(first: Floats, second: Floats) -> tuple[Rows, Rows]:
    """Returns the rows of pairs with similar descriptors: for each row of `first` the NEAREST of `second`."""
    cosine = first @ second.T
    if len(second) > NEAREST:
        least = np.partition(cosine, -NEAREST, axis=1)[:, -NEAREST, None]
        cosine[cosine < least] = -1
    left, right = np.nonzero(cosine >= ALIKE)
    return left.astype(np.int64), right.astype(np.int64)


def _same(mine: Floats, theirs: Floats) -> NDArray[np.bool_]:
    """Returns True for pairs (m, h, w) of equal images up to mirroring and shifts of a pixel, bool (m,)."""
    inside, others = _centred(_detail(mine)[:, 1:-1, 1:-1]), _detail(theirs)
    found = np.zeros(len(mine), bool)
    for mirror in (1, -1):
        for down in range(3):
            for right in range(3):
                place = (slice(None), *(slice(by, by - 2 or None) for by in (down, right)))
                close = _correlation(inside, _centred(others[:, :, ::mirror][place])) >= DETAIL
                left = np.flatnonzero(close & ~found)
                pixels = _centred(mine[left][:, 1:-1, 1:-1]), _centred(theirs[left][:, :, ::mirror][place])
                found[left] = _correlation(*pixels) >= PIXELS
    return found


def _centred(images: Floats) -> tuple[Floats, Floats]:
    """Returns images (m, h, w) minus their means as rows (m, h * w), and the rows' sums of squares (m,)."""
    pixels = images[0].size if len(images) else 0
    rows = images.reshape(len(images), pixels)
    rows = rows - rows.sum(axis=1, keepdims=True) / max(pixels, 1)
    return rows, np.einsum("ij,ij->i", rows, rows)


def _correlation(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Returns the correlations (m,) of images that are `_centred`."""
    product = np.einsum("ij,ij->i", first[0], second[0])
    return product / np.sqrt(first[1] * second[1] + np.float32(1e-6))
