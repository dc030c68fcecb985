"""Compiled kernels against NumPy; operations try them further."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit

from starter.data.operations.kernels import add_slopes, blur, kernel, less_square, scale_about

IMAGES = arrays(np.uint8, st.tuples(st.integers(1, 3), st.just(3), st.integers(1, 9), st.integers(1, 9)))


def mirrored(images):
    """One pixel more on each side, float32, reflected without the edge."""
    padded = images.astype(np.float32)
    for axis in (2, 3):
        mode = "reflect" if images.shape[axis] > 1 else "edge"
        padded = np.pad(padded, [(0, 0)] * axis + [(1, 1)] + [(0, 0)] * (3 - axis), mode)
    return padded


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
    padded = mirrored(images)
    less_square(images, np.zeros(n, np.float32), np.full(n, -1 / 9, np.float32), out)
    h, w = images.shape[2:]
    total = sum(padded[..., y : y + h, x : x + w] for y in range(3) for x in range(3))
    np.testing.assert_array_equal(out, (total * np.float32(1 / 9) + np.float32(0.5)).astype(np.uint8))


@given(IMAGES, st.integers(0, 3), st.integers(0, 2), st.sampled_from(["edge", "reflect", "symmetric"]))
def test_a_blur_adds_tap_after_tap_and_skips_those_of_no_weight(images, radius, idle, mode):
    values, size = images.astype(np.float32), 2 * (radius + idle) + 1
    weights = np.zeros((len(images), size), np.float32)
    weights[:, idle : size - idle] = np.random.default_rng(0).random((len(images), 2 * radius + 1)) + 0.1
    rows, columns = (np.pad(np.arange(n), radius + idle, mode if n > 1 else "edge") for n in images.shape[2:])
    out = np.empty_like(values)
    blur(values.take(rows, 2).take(columns, 3), weights, out)
    expected = values
    for axis, index in ((2, rows), (3, columns)):
        padded, n = expected.take(index, axis), expected.shape[axis]
        total = np.zeros_like(expected)
        for k in range(size):
            total += padded.take(range(k, k + n), axis) * weights[:, k, None, None, None]
        expected = total
    np.testing.assert_array_equal(out, expected)


@given(IMAGES, st.floats(-2, 2, width=32), st.floats(-2, 2, width=32))
def test_slopes_reflect_at_borders_of_any_size(images, diagonal, straight):
    out, n = np.empty_like(images), len(images)
    h, w = images.shape[2:]
    padded = mirrored(images)
    add_slopes(images, padded, np.full(n, diagonal, np.float32), np.full(n, straight, np.float32), out)
    (nw, north, _), (west, _, east), (_, south, se) = (
        [padded[..., y : y + h, x : x + w] for x in range(3)] for y in range(3)
    )
    slopes = (se - nw) * np.float32(diagonal) + (south - north + east - west) * np.float32(straight)
    np.testing.assert_array_equal(out, (slopes + images + np.float32(0.5)).clip(0, 255).astype(np.uint8))


def test_a_function_is_compiled_where_no_folder_can_be_written(monkeypatch):
    def refusing(nogil, cache=False):
        if cache:
            raise RuntimeError("cannot cache function 'half': no locator available")
        return njit(nogil=nogil)

    monkeypatch.setattr("starter.data.operations.kernels.njit", refusing)
    assert kernel(lambda x: x / 2)(3.0) == 1.5
