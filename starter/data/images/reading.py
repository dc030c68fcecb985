"""Reading image files of any format and size into one array."""

import io
import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps

from starter.data.images.files import Tree
from submission.arrays import IntArray, Pixels
from submission.errors import UnusableInput, printable, unusable, why
from submission.progress import progress

MAX_BYTES = 8 << 30  # of all images together
LARGEST_SIDE = 4096  # pixels of a side that images are resized to
TURNED = (5, 6, 7, 8)
"""Values of EXIF's orientation that swap height and width."""
ORIENTATION = 0x0112
"""EXIF's number for the orientation."""


@dataclass(frozen=True)
class Fit:
    """Resizing of images to one size, and the allowed fraction of unreadable images.

    Attributes:
        size: Height and width of all images in pixels; None for the most common size.
        resize: "crop" scales an image to cover the size and takes the centre, "pad" scales it to fit inside
            and adds black borders, "stretch" does not keep the proportions.
        skip: Largest fraction of unreadable images, in [0, 1); they are named and omitted.
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
        return _cut(scaled, self.size) if self.resize == "crop" else _padded(scaled, self.size)

    def all(self, images: Pixels) -> Pixels:
        """Returns images (n, h, w, 3) resized to `size`."""
        if self.size in (None, images.shape[1:3]):
            return images
        return np.stack([self(image) for image in images])


def _scaled(image: Pixels, size: tuple[int, int]) -> Pixels:
    return np.asarray(cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA), np.uint8)


def _cut(image: Pixels, size: tuple[int, int]) -> Pixels:
    top, left = ((have - want) // 2 for have, want in zip(image.shape[:2], size, strict=True))
    return image[top : top + size[0], left : left + size[1]]


def _padded(image: Pixels, size: tuple[int, int]) -> Pixels:
    padded = np.zeros((*size, 3), np.uint8)
    height, width = image.shape[:2]
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    padded[top : top + height, left : left + width] = image
    return padded


def read_images(tree: Tree, files: Sequence[str], fit: Fit | None = None) -> tuple[Pixels, IntArray]:
    """Decode `files` of `tree` in their order.

    Grey images get three equal channels, palettes and CMYK become RGB, transparency is dropped, 16 bits are
    reduced to 8, the first picture of an animation is taken, and EXIF's orientation is applied.

    Args:
        tree: Tree with the files.
        files: Paths of the files in the tree.
        fit: Size of the images; if it or its size is None, images of several sizes are resized to the most
            common size, and one line on the error stream says so.

    Returns:
        Pixels, uint8 (n, h, w, 3), RGB, and the index of each image's file, int64 (n,), ascending.
    """
    fit = fit or Fit()
    images: Pixels | None = None
    problems: list[UnusableInput] = []
    rows: list[int] = []
    for row, file in enumerate(progress(files, f"read {tree.path.name}", unit="images")):
        try:
            image = fit(_decoded(tree, file))
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
    return images if len(kept) == len(files) else images[kept], kept


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
        try:
            with _opened(tree, file) as image:
                counts[_size(image)] += 1
        except UnusableInput:
            continue
    (height, width), _ = max(counts.items(), key=lambda item: (item[1], item[0]))
    told = (
        f"{tree.path}: images of {len(counts)} sizes; all are made {width} x {height} pixels, the commonest, "
        f"by {fit.resize} (--image-size and --resize change it)"
    )
    print(printable(told), file=sys.stderr)
    return height, width


def _size(image: Image.Image) -> tuple[int, int]:
    """Returns height and width after EXIF's orientation is applied."""
    turned = image.getexif().get(ORIENTATION) in TURNED
    return (image.width, image.height) if turned else (image.height, image.width)


@contextmanager
def _opened(tree: Tree, file: str) -> Iterator[Image.Image]:
    """Yield an image after reading its header; an error names the file."""
    data = tree.read(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(data)) as image:
                yield image
        except Exception as error:  # unknown, or damaged in one of many ways
            reason = f"not an image that can be read ({why(error)}); convert it or take it away"
            raise unusable(tree.path / file, reason) from error


def _decoded(tree: Tree, file: str) -> Pixels:
    """Returns an image (h, w, 3)."""
    with _opened(tree, file) as image:
        if image.mode.startswith("I"):  # 16 bits, of which Pillow's own conversion keeps the lower ones
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"), np.uint8)
