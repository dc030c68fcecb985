"""Tests for `starter.shift.degrees`: distances against scikit-learn's and a naive loop, levels, the grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import NearestNeighbors

import starter.shift.degrees
from starter.shift.degrees import (
    ShiftGrid,
    cell_counts,
    edges,
    kth_distance,
    levels,
    shift_degrees,
    usual_range,
)
from submission import UnusableInput


def rows(n, length=24, seed=0):
    return np.random.default_rng(seed).standard_normal((n, length)).astype(np.float32)


def by_scikit(queries, reference, k):
    nearest = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(reference)
    return nearest.kneighbors(queries)[0][:, -1]


@pytest.mark.parametrize("k", [1, 10, 700])
def test_distances_are_scikit_learns(k):
    queries, reference = rows(600), rows(700, seed=1)

    found = kth_distance(queries, reference, k)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_scikit(queries, reference, k), rtol=0, atol=1e-5)


def test_blocks_of_any_size_give_the_same(monkeypatch):
    queries, reference = rows(100), rows(150, seed=1)
    whole = kth_distance(queries, reference)

    monkeypatch.setattr(starter.shift.degrees, "_ROWS", 7)
    monkeypatch.setattr(starter.shift.degrees, "_COLUMNS", 4)  # fewer than the neighbours

    np.testing.assert_allclose(kth_distance(queries, reference), whole, rtol=0, atol=1e-6)


def test_an_image_left_out_is_not_its_own_neighbour(monkeypatch):
    monkeypatch.setattr(starter.shift.degrees, "_COLUMNS", 16)
    images = rows(50)
    left = np.arange(50)
    left[7] = -1

    found = kth_distance(images, images, 1, left)

    expected = by_scikit(images, images, 2)
    expected[7] = 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_lengths_do_not_count_and_zeros_are_at_distance_one():
    queries, reference = rows(5), rows(30, seed=1)

    np.testing.assert_allclose(
        kth_distance(100 * queries, reference), kth_distance(queries, reference), atol=1e-6
    )
    assert kth_distance(np.zeros((1, 24), np.float32), reference)[0] == 1


def test_equal_rows_are_at_distance_zero_and_opposite_ones_at_two():
    row = rows(1)

    assert kth_distance(row, row, 1)[0] == pytest.approx(0, abs=1e-6)
    assert kth_distance(-row, row, 1)[0] == pytest.approx(2, abs=1e-6)


def test_the_kth_distance_grows_with_k():
    queries, reference = rows(40), rows(60, seed=1)

    found = np.stack([kth_distance(queries, reference, k) for k in range(1, 61)])

    assert (np.diff(found, axis=0) >= 0).all()


def test_too_few_id_images_are_told():
    with pytest.raises(UnusableInput, match="ID image 10 needs that many ID images, got 9"):
        kth_distance(rows(3), rows(9))
    with pytest.raises(UnusableInput, match="got 9"):
        kth_distance(rows(10), rows(10), 10, np.arange(10))


@pytest.mark.parametrize(
    ("queries", "reference", "left"),
    [
        (rows(3), rows(20, 25), None),
        (rows(3)[0], rows(20), None),
        (rows(3), rows(20), np.arange(4)),
        (np.full((3, 24), np.nan, np.float32), rows(20), None),
    ],
)
def test_what_does_not_fit_is_refused(queries, reference, left):
    with pytest.raises(ValueError, match=r"must be"):
        kth_distance(queries, reference, leave_out=left)


def test_levels_are_half_open_but_for_the_last():
    assert levels([0.0, 0.1, 0.125, 0.9, 1.0, 1.001, -0.001], 0, 1).tolist() == [0, 0, 1, 7, 7, -1, -1]


@given(arrays(np.float64, 20, elements=st.floats(-2, 2)), st.floats(-1, 0.5), st.integers(1, 12))
def test_levels_hold_what_lies_between_their_ends(degrees, low, count):
    high = low + 0.7
    found, ends = levels(degrees, low, high, count), edges(low, high, count)

    for value, level in zip(degrees, found, strict=True):
        if low <= value <= high:
            assert ends[level] <= value
            assert value < ends[level + 1] or (level == count - 1 and value == ends[-1])
        else:
            assert level == -1


def test_levels_of_no_range_are_refused():
    with pytest.raises(UnusableInput, match="8 intervals from 1 to 1 are none"):
        levels([1.0], 1, 1)


def test_cells_are_counted_covariate_by_semantic():
    semantic, covariate = np.array([0, 0, 1, -1, 1]), np.array([2, 2, 0, 1, -1])

    assert cell_counts(semantic, covariate, 3).tolist() == [[0, 1, 0], [0, 0, 0], [2, 0, 0]]


def test_a_grid_knows_its_cells_and_which_of_them_tell_anything():
    rng = np.random.default_rng(0)
    semantic, covariate = rng.random((2, 1000)).astype(np.float32)

    grid = ShiftGrid.of(semantic, covariate, (0, 1), (0.2, 1), count=4)

    assert grid.count == 4
    assert grid.counts.sum() == (covariate >= 0.2).sum()
    for row in range(4):
        for column in range(4):
            members = grid.cell(column, row)
            assert len(members) == grid.counts[row, column]
            assert (semantic[members] >= column / 4).all()
            assert (covariate[members] >= grid.covariate_edges[row]).all()
    assert (grid.told(50) == (grid.counts >= 50)).all()
    assert not grid.told(1000).any()


def test_the_usual_range_leaves_out_a_hundredth_on_either_side():
    degrees = np.random.default_rng(0).random(1001).astype(np.float32)

    grid = ShiftGrid.of(degrees, degrees[::-1])

    assert (grid.semantic == -1).sum() == 20
    assert usual_range(degrees) == (grid.semantic_edges[0], grid.semantic_edges[-1])


def test_degrees_are_those_of_the_halves():
    first, second = rows(20), rows(20, seed=1)
    known = rows(40, seed=2), rows(40, seed=3)

    semantic, covariate = shift_degrees((first, second), known, 3)

    assert (semantic == kth_distance(first, known[0], 3)).all()
    assert (covariate == kth_distance(second, known[1], 3)).all()
