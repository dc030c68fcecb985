"""Captioned glyphs show what is said of them; photographs come once each, half of them untouched."""

import numpy as np
import pytest
from encoders import few_glyphs

from starter.encoders.captions import (
    FACES,
    GROUP,
    PHRASES,
    SHIFT_PHRASES,
    SHIFTS,
    captioned_glyphs,
    captioned_photos,
)
from starter.images.imageset import ImageSet
from starter.operations import GROUPS
from starter.sources.glyphs.digits import CLASSES, NATURAL
from submission import UnusableInput


def test_all_digits_come_in_a_group_and_more_of_them_begin_with_the_same():
    few, more = few_glyphs(), captioned_glyphs(500, 0, progress=False)

    assert (more.images[:250] == few.images).all()
    assert (len(more.images), more.easy.sum()) == (500, 100)
    assert (more.values[more.easy, 4] == 0).all()
    groups = few.values[:, 0].reshape(-1, GROUP)
    digits = groups[(groups < len(CLASSES)).all(1)]
    assert len(digits)
    assert (np.sort(digits, 1) == np.repeat(range(10), GROUP // 10)).all()


def test_every_face_operation_and_class_has_a_phrase():
    assert PHRASES[0][:10] == CLASSES
    assert len(set(PHRASES[0])) == len(PHRASES[0])
    assert len(PHRASES[1]) == len(FACES)
    assert len(PHRASES[4]) == len(SHIFTS)
    assert {name for look in NATURAL.values() for name in look.faces} <= set(FACES)
    assert {*GROUPS["default"], *GROUPS["corruptions"]} < set(SHIFTS)


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


def test_images_of_several_sizes_are_refused():
    with pytest.raises(UnusableInput, match=r"images of one size are needed, got \[\(16, 16\), \(24, 24\)\]"):
        captioned_photos([(photos(4), ("a", "b")), (photos(4, 24), ("a", "b"))], 0)
