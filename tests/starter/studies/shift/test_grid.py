"""Distances against scikit-learn's, cells and levels against plain loops, trends against SciPy's regression."""

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.neighbors import NearestNeighbors

from starter.studies.shift.grid import (
    LEAST,
    LEVELS,
    ShiftGrid,
    along,
    cell_table,
    correlation,
    edge_table,
    kth_distance,
    maps,
    sensitivity,
    trend_table,
)
from submission import UnusableInput


def rows(n, length=24, seed=0):
    return np.random.default_rng(seed).standard_normal((n, length)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 10, 700])
def test_distances_are_scikit_learns(k, monkeypatch):
    queries, reference = rows(600), rows(700, seed=1)
    queries[5] = 0  # at distance 1 from everything
    nearest = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(reference)
    found = kth_distance(queries, reference, k)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, nearest.kneighbors(queries)[0][:, -1], rtol=0, atol=1e-5)
    monkeypatch.setattr("starter.studies.shift.grid._BLOCK", 5000)
    np.testing.assert_allclose(kth_distance(queries, reference, k), found, rtol=0, atol=1e-6)
    with pytest.raises(UnusableInput, match="got 700"):
        kth_distance(queries, reference, 701)


def test_a_grid_has_equal_levels_between_its_percentiles():
    semantic, covariate = np.random.default_rng(0).random((2, 1001)).astype(np.float32)
    grid = ShiftGrid.of(np.stack([semantic, covariate]))
    assert (grid.levels == -1).sum(1).tolist() == [20, 20]
    for degrees, levels, edges in zip((semantic, covariate), grid.levels, grid.edges, strict=True):
        assert np.diff(edges) == pytest.approx((edges[-1] - edges[0]) / LEVELS)
        for degree, level in zip(degrees.astype(np.float64), levels, strict=True):
            if edges[0] <= degree <= edges[-1]:
                assert edges[level] <= degree
                assert degree < edges[level + 1] or (level == LEVELS - 1 and degree == edges[-1])
            else:
                assert level == -1
    for place in np.ndindex(LEVELS, LEVELS):
        assert len(grid.cell(place[1], place[0])) == grid.counts[place]
    assert edge_table(grid).images.tolist() == [*grid.counts.sum(0), *grid.counts.sum(1)]


@pytest.fixture(scope="module")
def scored():
    """IND scores, and scores of shifted images that grow with the semantic level; one cell is empty."""
    rng = np.random.default_rng(0)
    semantic, covariate = rng.integers(-1, LEVELS, (2, 1000))
    semantic[(semantic == 3) & (covariate == 2)] = 0
    scores = np.round(rng.normal(semantic / 2, 1), 1)
    edges = np.linspace(0, 1, LEVELS + 1)
    return (
        np.round(rng.normal(size=300), 1),
        scores,
        ShiftGrid(np.stack([semantic, covariate]), np.stack([edges, edges])),
    )


def test_every_cell_against_scikit_learn(scored):
    ind, scores, shift = scored
    table = cell_table({"a": ind, "b": -ind}, {"a": scores, "b": -scores}, shift)
    found = table.set_index(["detector", "semantic", "covariate"]).loc["a"]
    for s, c in np.ndindex(LEVELS, LEVELS):
        cell = scores[(shift.levels[0] == s) & (shift.levels[1] == c)]
        row = found.loc[s + 1, c + 1]
        assert row.images == len(cell) == shift.counts[c, s]
        if len(cell) < LEAST:
            assert row[1:].isna().all()
            continue
        is_ind, kept = np.r_[np.ones(len(ind)), np.zeros(len(cell))], -np.r_[ind, cell]
        false, true, _ = roc_curve(is_ind, kept, drop_intermediate=False)
        expected = (
            roc_auc_score(is_ind, kept),
            false[np.argmax(true >= 0.95 - 1e-12)],
            average_precision_score(is_ind, kept),
        )
        assert row[1:].tolist() == pytest.approx(expected)
    assert 0 < found.auroc.isna().sum() < LEVELS**2
    assert maps(table, "images")["b"].tolist() == shift.counts.tolist()


def test_a_level_is_the_mean_over_the_other_axis_and_trends_are_scipys(scored):
    ind, scores, shift = scored
    cells = cell_table({"a": ind, "b": -ind}, {"a": scores, "b": -scores}, shift)
    table, trends = maps(cells, "auroc")["a"], trend_table(cells)
    for axis, lines in (("semantic", table.T), ("covariate", table)):
        means = [np.mean([value for value in line if value == value]) for line in lines]
        assert along(table, axis) == pytest.approx(means)
        row = trends.query("detector == 'a' and metric == 'auroc'").iloc[0]
        assert row[f"{axis}_correlation"] == pytest.approx(pearsonr(range(LEVELS), means).statistic)
        assert row[f"{axis}_sensitivity"] == pytest.approx(100 * abs(linregress(range(LEVELS), means).slope))


def test_trends_leave_nan_out():
    assert correlation(np.array([1, np.nan, 3, 2])) == pytest.approx(pearsonr([0, 2, 3], [1, 3, 2]).statistic)
    assert sensitivity(np.array([1, np.nan, 3])) == pytest.approx(1)
    for too_few in ([], [0.5], [np.nan, 0.5]):
        assert np.isnan([correlation(np.array(too_few)), sensitivity(np.array(too_few))]).all()
    flat = np.full(3, 0.1)
    assert np.isnan(correlation(flat))
    assert sensitivity(flat) == pytest.approx(0)
