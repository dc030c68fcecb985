"""Tests for `starter.encoders.photos`: every image once, named by its class, half of them untouched."""

import numpy as np
import pytest

from starter.encoders.photos import captioned_photos
from starter.encoders.shifts import SHIFT_PHRASES, SHIFTS
from starter.images.imageset import ImageSet
from submission import UnusableInput


def photos(n, side=16, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (n, side, side, 3), np.uint8)
    return ImageSet("photos", images, np.arange(n) % 2)


def test_classes_of_the_same_name_are_one():
    first, second = photos(300), photos(100, seed=1)

    found = captioned_photos([(first, ("cat", "red fox")), (second, ("red_fox", "dog"))], 0, progress=False)

    assert found.phrases == (("cat", "red fox", "dog"), SHIFT_PHRASES)
    assert np.bincount(found.values[:, 0]).tolist() == [150, 200, 50]
    assert found.easy.sum() == 200
    assert (found.values[found.easy, 1] == 0).all()
    assert (found.values[~found.easy, 1] > 0).all()
    untouched = {image.tobytes() for image in found.images[found.easy]}
    known = {image.tobytes(): label for image, label in zip(first.images, first.labels, strict=True)}
    known |= {image.tobytes(): label + 1 for image, label in zip(second.images, second.labels, strict=True)}
    assert untouched < set(known)
    for image, value in zip(found.images[found.easy], found.values[found.easy, 0], strict=True):
        assert known[image.tobytes()] == value


def test_a_seed_gives_the_images():
    sets = [(photos(200), ("cat", "dog"))]
    first, again, other = (captioned_photos(sets, seed, progress=False) for seed in (0, 0, 1))

    assert (first.images == again.images).all()
    assert (first.images != other.images).any()


def test_images_of_several_sizes_are_refused():
    with pytest.raises(UnusableInput, match=r"images of one size are needed, got \[\(16, 16\), \(24, 24\)\]"):
        captioned_photos([(photos(4), ("a", "b")), (photos(4, 24), ("a", "b"))], 0)


def test_every_operation_has_a_phrase():
    assert len(SHIFT_PHRASES) == len(SHIFTS) == len(set(SHIFT_PHRASES))
