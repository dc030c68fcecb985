"""Reading image files of any format and size into one array."""

import hashlib
import io
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from starter.data.images.depth import ORIENTATION, Deep, Range, as_pixels, deep_file
from starter.data.images.files import Tree
from submission.arrays import IntArray, Pixels
from submission.errors import UnusableInput, printable, tell_once, unusable, why
from submission.progress import progress

MAX_BYTES = 8 << 30  # of all images together
LARGEST_SIDE = 4096  # pixels of a side that images are resized to
TURNED = (5, 6, 7, 8)
"""Values of EXIF's orientation that swap height and width."""
BLANK = 8
"""Largest difference of an image's values, of 255, with which it is of about one colour."""
MANY = 0.1
"""Share of blank or equal images of a set that is said."""


@dataclass(frozen=True)
class Fit:
    """Resizing of images to one size, and the largest fraction `skip` of unreadable ones, which are left out.

    `size` is height and width, None for the commonest. "crop" scales an image to cover the size and takes the
    centre, "pad" scales it to fit inside and adds black borders, "stretch" does not keep the proportions.
    """

    size: tuple[int, int] | None = None
    resize: str = "crop"
    skip: float = 0.01

    def __call__(self, image: Pixels) -> Pixels:
        """Returns the image (h, w, 3) resized to `size` by area interpolation."""
        height, width = image.shape[:2]
        if self.size is None or self.size == (height, width):
            return image
        ratios = self.size[0] / height, self.size[1] / width
        if self.resize == "stretch":
            return _scaled(image, self.size)
        scale = max(ratios) if self.resize == "crop" else min(ratios)
        scaled = _scaled(image, (max(1, round(scale * height)), max(1, round(scale * width))))
        if self.resize == "crop":
            top, left = ((have - want) // 2 for have, want in zip(scaled.shape[:2], self.size, strict=True))
            return scaled[top : top + self.size[0], left : left + self.size[1]]
        padded = np.zeros((*self.size, 3), np.uint8)
        height, width = scaled.shape[:2]
        top, left = (self.size[0] - height) // 2, (self.size[1] - width) // 2
        padded[top : top + height, left : left + width] = scaled
        return padded

    def all(self, images: Pixels) -> Pixels:
        """Returns images (n, h, w, 3) resized to `size`."""
        if self.size in (None, images.shape[1:3]):
            return images
        return np.stack([self(image) for image in images])


def _scaled(image: Pixels, size: tuple[int, int]) -> Pixels:
    return np.asarray(cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA), np.uint8)


def read_images(tree: Tree, files: Sequence[str], fit: Fit | None = None) -> tuple[Pixels, IntArray]:
    """Returns images of `files`, uint8 (n, h, w, 3), RGB, and the index of each one's file, int64 (n,).

    Transparency is dropped, the first picture of an animation is taken, EXIF's orientation is applied. Images
    of several sizes are resized to the commonest, if `fit` gives none.
    """
    fit, of_set = fit or Fit(), cache(lambda: _range(tree, files))
    images: Pixels | None = None
    problems: list[UnusableInput] = []
    rows: list[int] = []
    for row, file in enumerate(progress(files, f"read {tree.path.name}", unit="images")):
        try:
            image = fit(_pixels(tree, file, of_set))
        except UnusableInput as problem:
            problems.append(problem)
            continue
        if images is None:
            if image.nbytes * len(files) > MAX_BYTES:
                most = f"{len(files)} images like {file} take over {MAX_BYTES >> 30} GiB"
                raise unusable(tree.path, f"{most}: make them smaller (--image-size), or fewer")
            images = np.empty((len(files), *image.shape), np.uint8)
        if image.shape != images.shape[1:]:
            return read_images(tree, files, replace(fit, size=_commonest(tree, files, fit)))
        images[row] = image
        rows.append(row)
    _check_problems(tree.path, problems, len(files), fit.skip)
    for told in problems:
        print(f"left out: {told}", file=sys.stderr)
    assert images is not None, "an unreadable file among few is refused"
    kept = np.array(rows, np.int64)
    images = images if len(kept) == len(files) else images[kept]
    tell_sameness(tree.path, images)
    return images, kept


def _check_problems(path: Path, problems: Sequence[UnusableInput], n: int, skip: float) -> None:
    """Raise an error if too many of n images cannot be read."""
    if len(problems) <= skip * n:
        return
    share = f"{math.ceil(100 * len(problems) / n) / 100:g}"
    allowed = "" if len(problems) == n else f"; --skip-unreadable {share} leaves them out"
    count = f"{len(problems)} of {n} images"
    raise UnusableInput(f"{path}: {count} cannot be read{allowed}. The first: {problems[0]}")


def _commonest(tree: Tree, files: Sequence[str], fit: Fit) -> tuple[int, int]:
    """Returns the most common size (h, w), the largest of several, and prints it for the user."""
    counts: Counter[tuple[int, int]] = Counter()
    for file in files:
        with suppress(UnusableInput):
            counts[_size(tree, file)] += 1
    (height, width), _ = max(counts.items(), key=lambda item: (item[1], item[0]))
    told = (
        f"{tree.path}: images of {len(counts)} sizes; all are made {width} x {height} pixels, the commonest, "
        f"by {fit.resize} (--image-size and --resize change it)"
    )
    print(printable(told), file=sys.stderr)
    return height, width


def _size(tree: Tree, file: str) -> tuple[int, int]:
    """Returns height and width after EXIF's orientation is applied."""
    data = tree.read(file)
    with _reading(tree, file):
        if (deep := deep_file(data)) is not None:
            return deep[0].shape[0], deep[0].shape[1]
        image = Image.open(io.BytesIO(data))
        turned = image.getexif().get(ORIENTATION) in TURNED
        return (image.width, image.height) if turned else (image.height, image.width)


@contextmanager
def _reading(tree: Tree, file: str) -> Iterator[None]:
    """Raise any error of an image as one that names the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except Exception as error:  # unknown, or damaged in one of many ways
            reason = why(error).replace(" <_io.BytesIO object", "").partition(" at 0x")[0]
            problem = f"not an image that can be read ({reason}); convert it or take it away"
            raise unusable(tree.path / file, problem) from error


def _pixels(tree: Tree, file: str, of_set: Callable[[], Range]) -> Pixels:
    """Returns an image, uint8 (h, w, 3); values of more than 8 bits are read by the range of the set's."""
    values, white = _decoded(tree, file)
    if white is None:
        return values
    try:
        if not np.isfinite(values).all():
            raise ValueError("holds values that are NaN or infinite")
        pixels = as_pixels(values, of_set().white())
    except ValueError as error:
        raise unusable(tree.path / file, str(error)) from error
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)


def _decoded(tree: Tree, file: str) -> tuple[NDArray[Any], float | None]:
    """Returns the values of an image, and the white that its file names, as `Deep`; None for 8 bits."""
    data = tree.read(file)
    with _reading(tree, file):
        if (deep := deep_file(data)) is not None:
            return deep
        image = Image.open(io.BytesIO(data))
        if image.mode == "F" or image.mode.startswith("I"):
            return np.asarray(ImageOps.exif_transpose(image)), 0
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"), np.uint8), None


def _range(tree: Tree, files: Sequence[str]) -> Range:
    """Returns the range of a set's deep files, and tells it where it is not that of 16 bits."""

    def deep_ones() -> Iterator[Deep]:
        for file in files:
            with suppress(UnusableInput):
                values, white = _decoded(tree, file)
                if white is not None and np.isfinite(values).all():
                    yield values, white

    found = Range.of(deep_ones())
    with suppress(ValueError):
        found.tell(tree.path)
    return found


def tell_sameness(path: Path, images: Pixels) -> None:
    """Print one line if many images of a set, uint8 (n, h, w, 3), are of about one colour, or the same."""
    low, high = images.min(axis=(1, 2)), images.max(axis=(1, 2))
    blank = int(((high - low).max(axis=1) <= BLANK).sum())
    repeats = Counter(hashlib.blake2b(np.ascontiguousarray(image).data).digest() for image in images)
    most = max(repeats.values())
    many = max(MANY * len(images), 2)
    if blank >= many:
        tell_once(f"{path}: {blank} of {len(images)} images are of about one colour: look at them")
    if most >= many > blank:
        tell_once(f"{path}: one image stands {most} times among the {len(images)}: look at them")
