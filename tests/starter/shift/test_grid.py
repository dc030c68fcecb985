"""Cells and curves against plain loops, scikit-learn and the paper's own table.

Correlation and sensitivity against SciPy's regression.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import linregress, pearsonr
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from starter.shift.degrees import ShiftGrid
from starter.shift.grid import Trend, along, cell_name, cell_of, effects, measure

# Figure 9 of the paper: images of ImageNet-21K by covariate level (rows) and semantic level.
FIGURE_9 = [
    [472201, 251593, 153321, 103532, 56383, 11354, 3156, 898],
    [437507, 676972, 776496, 783059, 736514, 290441, 72395, 14207],
    [83146, 268596, 518514, 687373, 840241, 669000, 304351, 90249],
    [8397, 45938, 148383, 291404, 423955, 483394, 365619, 217905],
    [661, 5146, 23035, 63651, 118179, 178828, 198955, 246555],
    [54, 556, 3046, 9751, 22754, 43002, 63234, 172107],
    [9, 56, 335, 1357, 3548, 7998, 13988, 75631],
    [0, 4, 29, 174, 581, 1342, 2960, 38703],
]


def shift(semantic, covariate, count=4):
    """A grid of these levels."""
    ends = np.linspace(0, 1, count + 1)
    return ShiftGrid(semantic, covariate, ends, ends)


@pytest.fixture(scope="module")
def drawn():
    """IND scores, and scores of shifted images that grow with the semantic level."""
    rng = np.random.default_rng(0)
    semantic, covariate = rng.integers(-1, 4, (2, 600))
    semantic[(semantic == 3) & (covariate == 2)] = 0
    scores = np.round(rng.normal(semantic / 2, 1), 1)
    return np.round(rng.normal(size=300), 1), scores, semantic, covariate


def test_every_cell_against_scikit_learn(drawn):
    ind, scores, semantic, covariate = drawn
    grid = measure({"a": ind}, {"a": scores}, shift(semantic, covariate), least=1)
    for s in range(4):
        for c in range(4):
            cell = scores[(semantic == s) & (covariate == c)]
            assert grid.counts[c, s] == len(cell)
            found = [grid.values["a"][metric][c, s] for metric in ("auroc", "fpr95", "aupr-in")]
            if not len(cell):
                assert np.isnan(found).all()
                continue
            is_ind, kept = np.r_[np.ones(len(ind)), np.zeros(len(cell))], -np.r_[ind, cell]
            false, true, _ = roc_curve(is_ind, kept, drop_intermediate=False)
            expected = (
                roc_auc_score(is_ind, kept),
                false[np.argmax(true >= 0.95 - 1e-12)],
                average_precision_score(is_ind, kept),
            )
            assert found == pytest.approx(expected)
    assert grid.counts[2, 3] == 0
    assert grid.counts.sum() == ((semantic >= 0) & (covariate >= 0)).sum()


def test_small_cells_are_not_available(drawn):
    ind, scores, semantic, covariate = drawn
    grid = measure({"a": ind}, {"a": scores}, shift(semantic, covariate), least=25)
    np.testing.assert_array_equal(np.isnan(grid.values["a"]["auroc"]), grid.counts < 25)
    assert (grid.counts < 25).any()
    assert (grid.counts >= 25).any()


def test_a_level_is_the_mean_over_the_other_axis_and_trends_are_scipys(drawn):
    ind, scores, semantic, covariate = drawn
    grid = measure({"a": ind, "b": -ind}, {"a": scores, "b": -scores}, shift(semantic, covariate))
    table = grid.values["a"]["auroc"]
    for axis, rows in (("semantic", table.T), ("covariate", table)):
        means = [np.mean([value for value in row if value == value]) for row in rows]
        assert along(table, axis) == pytest.approx(means)
        row = grid.trends("auroc").set_index("detector").loc["a"]
        assert row[f"{axis}_correlation"] == pytest.approx(pearsonr(range(4), means).statistic)
        assert row[f"{axis}_sensitivity"] == pytest.approx(100 * abs(linregress(range(4), means).slope))
        curve = grid.curves().query(f"detector == 'a' and metric == 'auroc' and axis == '{axis}'")
        assert list(curve.value) == pytest.approx(means)
        assert list(curve.level) == [1, 2, 3, 4]
    found = grid.trends("auroc").set_index("detector").semantic_correlation
    assert found["a"] > 0.9
    assert found["b"] == pytest.approx(-found["a"])


@given(arrays(np.float64, (4, 4), elements=st.floats(0, 1)))
def test_fitted_levels_of_a_whole_grid_are_its_means(grid):
    for axis in ("semantic", "covariate"):
        assert effects(grid, axis) == pytest.approx(along(grid, axis), abs=1e-9)


def test_fitted_levels_see_through_missing_cells():
    """Values rise by .1 a semantic level and fall by .3 a covariate one, and the mildest covariate levels lack
    the farther semantic ones."""
    semantic, covariate = np.meshgrid(np.arange(5), np.arange(5))
    grid = 0.9 + 0.1 * semantic - 0.3 * covariate
    grid[semantic > covariate] = np.nan
    assert Trend(along(grid, "semantic")).correlation < 0
    assert np.diff(effects(grid, "semantic")) == pytest.approx(0.1)
    assert np.diff(effects(grid, "covariate")) == pytest.approx(-0.3)


def test_levels_that_no_cell_links_are_not_told():
    grid = np.full((4, 4), np.nan)
    assert np.isnan(effects(grid, "semantic")).all()
    grid[0, 0] = grid[2, 2] = 0.5
    assert np.isnan(effects(grid, "semantic")).all()
    grid[2, 0] = 0.7
    np.testing.assert_allclose(effects(grid, "semantic")[[0, 2]], [0.6, 0.4])
    assert np.isnan(effects(grid, "semantic")[[1, 3]]).all()


def test_cells_are_rows_of_the_long_table(drawn):
    ind, scores, semantic, covariate = drawn
    grid = measure({"a": ind, "b": -ind}, {"a": scores, "b": -scores}, shift(semantic, covariate))
    table = grid.cells().set_index(["detector", "semantic", "covariate"])
    assert len(table) == 2 * 16
    assert table.loc[("b", 4, 2), "images"] == grid.counts[1, 3]
    assert table.loc[("b", 4, 2), "auroc"] == grid.values["b"]["auroc"][1, 3]


def test_the_papers_counts_come_out_in_place():
    """One image for each 10,000 of figure 9."""
    counts = np.array(FIGURE_9) // 10_000
    covariate, semantic = (np.repeat(found.ravel(), counts.ravel()) for found in np.indices(counts.shape))
    order = np.random.default_rng(0).permutation(len(semantic))
    grid = measure({}, {}, shift(semantic[order], covariate[order], 8))
    np.testing.assert_array_equal(grid.counts, counts)


@given(st.integers(0, 20), st.integers(0, 20))
def test_names_of_cells_are_read_back(semantic, covariate):
    assert cell_of(cell_name(semantic, covariate)) == (semantic, covariate)
    assert cell_of(f"{cell_name(semantic, covariate)}x") is None
    assert cell_of("s0c1") is None


@pytest.mark.parametrize("seed", range(5))
def test_against_scipy(seed):
    values = np.random.default_rng(seed).uniform(size=8)
    found, levels = Trend(values), np.arange(1, 9)
    assert found.correlation == pytest.approx(pearsonr(levels, values).statistic)
    assert found.sensitivity == pytest.approx(abs(linregress(levels, values).slope))


def test_levels_that_tell_nothing_keep_their_place():
    values = np.array([0.2, np.nan, 0.4, 0.5, np.nan])
    told = [1, 3, 4]
    assert Trend(values).correlation == pytest.approx(pearsonr(told, [0.2, 0.4, 0.5]).statistic)
    assert Trend(values).sensitivity == pytest.approx(linregress(told, [0.2, 0.4, 0.5]).slope)


def test_what_is_undefined_is_nan():
    for values in ([], [0.5], [np.nan, np.nan], [np.nan, 0.5]):
        assert np.isnan(Trend(np.array(values)).correlation)
        assert np.isnan(Trend(np.array(values)).sensitivity)
    constant = Trend(np.full(3, 0.1))
    assert np.isnan(constant.correlation)
    assert constant.sensitivity == 0
