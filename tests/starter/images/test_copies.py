"""Near copies: mirrored, shifted and compressed images are found, others, however smooth, are not."""

import cv2
import numpy as np
import pytest

from starter.images.copies import Described, near_copies
from starter.images.imageset import ImageSet
from starter.sources.glyphs.digits import glyph_splits


@pytest.fixture(scope="module")
def digits():
    return glyph_splits(0).test_base.images[:400]


def pairs(one, other):
    sets = ImageSet("one", np.ascontiguousarray(one)), ImageSet("other", other)
    return set(near_copies(*map(Described.of, sets)))


def shifted(images, right, down):
    """Moved by pixels, the border repeated."""
    wide = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    return wide[:, 1 - down : 33 - down, 1 - right : 33 - right]


def compressed(images, kind, quality):
    """As a lossy file of the format gives them back."""
    option = {".jpg": cv2.IMWRITE_JPEG_QUALITY, ".webp": cv2.IMWRITE_WEBP_QUALITY}[kind]
    return np.stack(
        [cv2.imdecode(cv2.imencode(kind, each, [option, quality])[1], cv2.IMREAD_COLOR) for each in images]
    )


@pytest.mark.parametrize(
    ("change", "least"),
    [
        (lambda images: images, 1.0),
        (lambda images: images[:, :, ::-1], 1.0),
        (lambda images: shifted(images, 1, 0), 0.95),
        (lambda images: shifted(images, -1, 1), 0.9),
        (lambda images: compressed(images, ".jpg", 90), 0.9),
        (lambda images: compressed(images, ".webp", 90), 0.9),
        (lambda images: compressed(shifted(images[:, :, ::-1], 1, 0), ".jpg", 95), 0.9),
    ],
    ids=["equal", "mirrored", "shifted", "diagonally", "JPEG", "WebP", "all"],
)
def test_copies_are_found_and_nothing_else(digits, change, least):
    found = pairs(change(digits[:200]), digits)
    assert len({i for i, j in found if i == j}) >= least * 200
    assert not {(i, j) for i, j in found if i != j}


def test_smooth_images_that_are_alike_are_no_copies():
    """Skies: slopes of light, each with a thing of its own at some place, and grain."""
    rng = np.random.default_rng(0)
    y = np.arange(32)[:, None]
    skies = []
    for _ in range(300):
        light = 150 + 40 * y / 32 + rng.normal(0, 1.5, (32, 32))
        thing = cv2.resize(rng.normal(0, 30, (4, 6)), (18, 12), interpolation=cv2.INTER_CUBIC)
        down, right = rng.integers(8, 12), rng.integers(5, 9)
        light[down : down + 12, right : right + 18] += thing
        skies.append(np.repeat(light[:, :, None], 3, axis=2))
    images = np.clip(skies, 0, 255).astype(np.uint8)
    found = pairs(images, images)
    assert {(i, i) for i in range(300)} <= found
    assert len(found) < 310


def test_images_without_detail_are_none():
    flat = np.full((5, 32, 32, 3), 80, np.uint8)
    flat[1:] += np.arange(32, dtype=np.uint8)[:, None, None]
    assert pairs(flat, flat) == set()


def test_few_images_of_any_size_do():
    images = np.random.default_rng(1).integers(256, size=(2, 8, 12, 3), dtype=np.uint8)
    assert pairs(images[:, :, ::-1], images) == {(0, 0), (1, 1)}
