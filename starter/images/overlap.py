"""Overlap: images that stand in two sets, found by their pixels."""

import hashlib
from collections.abc import Iterable

import numpy as np

from starter.images.imageset import ImageSet


def row_hashes(images: ImageSet) -> list[bytes]:
    """A 16-byte hash of every image, in order: equal pixels, equal hash."""
    rows = np.ascontiguousarray(images.images)
    return [hashlib.blake2b(row.data, digest_size=16).digest() for row in rows]


def pixel_hashes(images: ImageSet) -> frozenset[bytes]:
    """The hash of each different image."""
    return frozenset(row_hashes(images))


def shared_images(images: ImageSet, others: Iterable[ImageSet]) -> dict[str, int]:
    """How many different images of `images` stand in each of `others` too, by name; those with none left out.

    Only images that agree in every pixel are found: not crops, nor copies that were compressed anew.
    """
    mine = pixel_hashes(images)
    counts = ((other.name, len(mine & pixel_hashes(other))) for other in others)
    return {name: count for name, count in counts if count}
