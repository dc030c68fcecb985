"""The compiled kernels against the same in NumPy; what they are for is tested with the operations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from starter.operations.kernels import blend_with_grey, less_square, scale_about, to_planes

IMAGES = arrays(np.uint8, st.tuples(st.integers(1, 3), st.just(3), st.integers(1, 9), st.integers(1, 9)))


@given(IMAGES, st.floats(-3, 3, width=32), st.sampled_from([0.0, 127.0]))
def test_scaling_rounds_once_per_step(images, factor, centre):
    out = np.empty_like(images)
    factors = np.full((len(images), 3), factor, np.float32)
    scale_about(images, factors, centre, out)
    values = (images.astype(np.float32) - np.float32(centre)) * np.float32(factor) + np.float32(centre + 0.5)
    np.testing.assert_array_equal(out, values.clip(0, 255).astype(np.uint8))


@given(IMAGES)
def test_the_sum_of_nine_reflects_at_borders_of_any_size(images):
    out, n = np.empty_like(images), len(images)
    less_square(images, np.zeros(n, np.float32), np.full(n, -1 / 9, np.float32), out)
    padded = images.astype(np.float32)
    for axis in (2, 3):
        mode = "reflect" if images.shape[axis] > 1 else "edge"
        padded = np.pad(padded, [(0, 0)] * axis + [(1, 1)] + [(0, 0)] * (3 - axis), mode)
    h, w = images.shape[2:]
    total = sum(padded[..., y : y + h, x : x + w] for y in range(3) for x in range(3))
    np.testing.assert_array_equal(out, (total * np.float32(1 / 9) + np.float32(0.5)).astype(np.uint8))


def test_rows_of_the_base_become_planes():
    base = np.random.default_rng(0).integers(256, size=(7, 5, 9, 3), dtype=np.uint8)
    rows = np.array([6, 0, 6])
    out = np.empty((3, 3, 5, 9), np.uint8)
    to_planes(base, rows, out)
    np.testing.assert_array_equal(out, base[rows].transpose(0, 3, 1, 2))


@pytest.mark.parametrize(("factor", "expected"), [(0, 76), (1, 255)])
def test_red_is_blended_with_its_grey(factor, expected):
    red = np.zeros((1, 3, 2, 2), np.uint8)
    red[:, 0] = 255
    out = np.empty_like(red)
    blend_with_grey(red, np.full(1, factor, np.float32), out)
    assert out[0, 0].tolist() == [[expected] * 2] * 2
