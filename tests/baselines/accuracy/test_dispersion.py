"""Dispersion's and BoP's subsamples: of one size, together the whole set, the same whatever the order of the images."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from observations import seen

from baselines.accuracy.dispersion import COMMON, subsamples
from starter.observing.observation import Observation


def numbered(n):
    """Every image knows its number, in logits and in features."""
    logits = np.arange(n)[:, None] * [1.0, -1.0]
    return seen(logits, features=logits.astype(np.float16))


@given(st.integers(1, 4 * COMMON))
def test_they_have_one_size_and_hold_every_image(n):
    parts = subsamples(numbered(n))
    assert len(parts) == -(-n // COMMON)
    images = [part.logits[:, 0].astype(int) for part in parts]
    assert {len(each) for each in images} == {min(n, COMMON)}
    assert all(len(set(each)) == len(each) for each in images)
    assert set(np.concatenate(images)) == set(range(n))
    for part in parts:
        np.testing.assert_array_equal(part.features, part.logits)


def test_the_order_of_the_images_does_not_matter():
    whole = numbered(250)
    order = np.random.default_rng(0).permutation(250)
    turned = Observation("s", "c", whole.logits[order], features=whole.features[order])
    for one, other in zip(subsamples(whole), subsamples(turned), strict=True):
        np.testing.assert_array_equal(one.logits, other.logits)
        np.testing.assert_array_equal(one.features, other.features)
