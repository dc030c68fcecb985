"""Overlap: equal pixels are found, whatever their order and label; anything else is not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from starter.images.imageset import ImageSet


def some(name, seed, n=6):
    return ImageSet(name, np.random.default_rng(seed).integers(256, size=(n, 4, 5, 3), dtype=np.uint8))


@given(st.integers(0, 6), st.integers(0, 5))
def test_counts_what_both_have(mine, theirs):
    pool = some("pool", 0, 12)
    one, other = pool.take(np.arange(6)[::-1]), pool.take(np.arange(6 - mine, 12 - theirs), "other")
    both = len(range(max(6 - mine, 0), min(12 - theirs, 6)))
    assert one.shared([other, some("else", 1)]) == ({"other": both} if both else {})


def test_each_image_counts_once():
    images = some("a", 0, 1)
    doubled = images.take(np.array([0, 0, 0]))
    assert len(set(doubled.hashes())) == 1
    assert doubled.shared([images]) == {"a": 1}


def test_one_grey_level_makes_another_image():
    images = some("a", 0)
    assert ImageSet("b", images.images ^ 1).shared([images]) == {}
