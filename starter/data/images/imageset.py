"""ImageSet: images with optional labels; names of classes, their order, and where a name is among them."""

import hashlib
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from submission.arrays import IntArray, Pixels
from submission.errors import unusable
from submission.files import composed, read_lines

_WHOLE = re.compile(r"-?[0-9]+")


@dataclass(frozen=True)
class ImageSet:
    """Images uint8 (n, h, w, 3), RGB, n >= 1, with their classes from 0, int64 (n,); None if unknown."""

    name: str
    images: Pixels
    labels: IntArray | None = None

    def __post_init__(self) -> None:
        images, labels = self.images, self.labels
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3 or 0 in images.shape:
            raise ValueError(
                f"set {self.name!r}: images must be uint8 (n, h, w, 3) with n, h, w >= 1, got {images.dtype} "
                f"{images.shape}"
            )
        if labels is not None and (
            labels.dtype != np.int64 or labels.shape != (len(images),) or labels.min() < 0
        ):
            raise ValueError(
                f"set {self.name!r}: labels must be int64 ({len(images)},), one of 0 or more for each image, "
                f"got {labels.dtype} {labels.shape}"
            )

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of shape, pixels and labels (not of the name), 64 hexadecimal digits."""
        digest = hashlib.sha256(repr(self.images.shape).encode())
        digest.update(np.ascontiguousarray(self.images).data)
        if self.labels is not None:
            digest.update(self.labels.tobytes())
        return digest.hexdigest()

    @property
    def truth(self) -> IntArray:
        """The labels (n,), which must be known."""
        assert self.labels is not None, f"set {self.name} has no labels"
        return self.labels

    @classmethod
    def joined(cls, name: str, sets: "Sequence[ImageSet]") -> "ImageSet":
        """Returns labelled sets, one after the other, as one."""
        images = np.concatenate([each.images for each in sets])
        return cls(name, images, np.concatenate([each.truth for each in sets]))

    def take(self, indices: NDArray[np.integer], name: str | None = None) -> "ImageSet":
        """Returns a set of the images (and labels) at `indices` (m,), in that order."""
        labels = None if self.labels is None else self.labels[indices]
        return ImageSet(name or self.name, self.images[indices], labels)

    def hashes(self) -> list[bytes]:
        """Returns a 16-byte hash of the pixels of every image, in order."""
        rows = np.ascontiguousarray(self.images)
        return [hashlib.blake2b(row.data, digest_size=16).digest() for row in rows]

    def without_repeats(self, seen: set[bytes], called: str) -> "ImageSet | None":
        """Returns the images without duplicates and those `seen`, to which theirs are added; None if none."""
        rows = []
        for row, digest in enumerate(self.hashes()):
            if digest not in seen:
                seen.add(digest)
                rows.append(row)
        dropped = len(self) - len(rows)
        if not dropped:
            return self
        told = f"{called}: {dropped} of {len(self)} images left out, since they stand elsewhere too"
        print(told, file=sys.stderr)
        return self.take(np.array(rows)) if rows else None

    def shared(self, others: "Iterable[ImageSet]") -> dict[str, int]:
        """Returns the number of images of equal pixels in each of `others`, by name, without zeros."""
        mine = set(self.hashes())
        counts = ((other.name, len(mine.intersection(other.hashes()))) for other in others)
        return {name: count for name, count in counts if count}


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Returns names of classes in label order: as numbers if all are whole numbers, else as texts."""
    texts = sorted(names)
    return tuple(sorted(texts, key=int) if all(map(_WHOLE.fullmatch, texts)) else texts)


def read_classes(path: Path) -> tuple[str, ...]:
    """Returns the names of classes in a text file, one a line, accents composed; empty lines are skipped."""
    names = tuple(map(composed, read_lines(path)))
    if not names:
        raise unusable(path, "names no class: one a line is expected")
    if twice := [name for name in names if names.count(name) > 1]:
        raise unusable(path, f"names the class {twice[0]!r} twice")
    return names


def places(names: Sequence[str], classes: Sequence[str], path: Path) -> list[int]:
    """Returns the place of each name in `classes`; accents may be composed or not."""
    numbers = {composed(label): number for number, label in enumerate(classes)}
    if strange := [name for name in names if composed(name) not in numbers]:
        look = _look(strange[0])
        alike = [label for label in classes if look and _look(label) == look]
        if alike:
            raise unusable(path, f"no class {strange[0]!a}; {alike[0]!a} looks like it: rename one")
        raise unusable(path, f"no class {strange[0]!r}; the classes are {', '.join(classes)}")
    return [numbers[composed(name)] for name in names]


def _look(name: str) -> str:
    """Returns what a name looks like: without case, spaces, accents and other forms of one letter."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(mark for mark in plain if mark.isalnum() and not unicodedata.combining(mark))
