"""Tests for `starter.encoders.glyphs`: captioned glyphs show what is said of them."""

import numpy as np
from encoders import few_glyphs

from starter.encoders.captions import ABSENT
from starter.encoders.glyphs import CLEAR, FACES, GROUP, PHRASES, SHIFTS, captioned_glyphs
from starter.operations import GROUPS
from starter.sources.glyphs.digits import CLASSES, NATURAL


def test_half_and_half_and_a_fifth_of_them_clear():
    found = captioned_glyphs(501, 1, progress=False)

    assert len(found.images) == 750
    assert found.easy.sum() == 150
    covariates = found.values[found.easy, 1:]
    assert set(covariates[covariates[:, 2] != ABSENT][:, 2]) <= {CLEAR[2]}
    assert (found.values[found.easy, 4] == 0).all()


def test_a_seed_gives_the_images():
    first, again, other = (captioned_glyphs(250, seed, progress=False) for seed in (0, 0, 1))

    assert (first.images == again.images).all()
    assert (first.values == again.values).all()
    assert (first.images != other.images).any()


def test_all_digits_come_in_a_group_and_more_of_them_begin_with_the_same():
    few, more = few_glyphs(), captioned_glyphs(500, 0, progress=False)

    assert (more.images[:250] == few.images).all()
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
