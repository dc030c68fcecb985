"""Scores by hand; the interval of an RMSE: against SciPy, at the edges, how often it holds the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from submission.metrics import (
    FEWEST_FAMILIES,
    chi2_quantile,
    rmse_interval,
    score,
    skill,
    spearman,
    t_quantile,
)

PREDICTIONS = {"m/a": 0.5, "m/b": 0.75, "m/c": 0.25, "n/a": 0.25, "n/b": 0.5, "n/c": 0.0}
TARGETS = {"m/a": 0.5, "m/b": 0.5, "m/c": 0.25, "n/a": 0.5, "n/b": 0.25, "n/c": 0.75}


def test_a_score_worked_out_by_hand():
    """Errors 0, 25, 0, 25, 25, 75 points. Spearman of m: ranks 2 3 1 and 2.5 2.5 1; of n: -1."""
    found = score(PREDICTIONS, TARGETS)
    assert found.rmse == pytest.approx(math.sqrt((3 * 625 + 5625) / 6), abs=1e-12)
    assert found.mae == pytest.approx(25)
    assert found.spearman == pytest.approx((math.sqrt(3) / 2 - 1) / 2)
    assert found.n == 6
    assert found.r_squared == pytest.approx((3 / 4 + 1) / 2)


def test_spearman_is_undefined_as_soon_as_it_is_for_one_subject():
    constant = {**TARGETS, "n/a": 0.5, "n/b": 0.5, "n/c": 0.5}
    assert math.isnan(score(constant, TARGETS).spearman)
    assert math.isnan(score(constant, TARGETS).r_squared)
    two = {name: value for name, value in TARGETS.items() if name != "n/c"}
    assert math.isnan(score(two, two).spearman), "of two sets it would be 1 or -1, whatever is predicted"


@given(
    st.integers(2, 30).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n)] * 2)
    )
)
def test_spearman_agrees_with_scipy(pair):
    x, y = pair
    found = spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert -1 <= found <= 1


def test_skill_and_its_bounds():
    assert skill(0, 10) == 1
    assert skill(10, 10) == 0
    assert skill(20, 10) == -3
    assert math.isnan(skill(1, 0))
    assert math.isnan(skill(1, math.nan))


@pytest.mark.parametrize("share", [0.025, 0.5, 0.975])
def test_quantiles_of_chi_square_are_scipys(share):
    freedom = np.geomspace(1, 500, 60)
    np.testing.assert_allclose(chi2_quantile(share, freedom), stats.chi2.ppf(share, freedom), rtol=1e-8)


@pytest.mark.parametrize("freedom", [5, 6, 9, 23, 47, 400])
def test_the_point_of_students_t_is_scipys(freedom):
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=0.003 * (5 / freedom) ** 4)


@pytest.mark.parametrize("families", [6, 9, 30])
def test_unequal_families_against_a_loop(families):
    rng = np.random.default_rng(families)
    sizes = rng.integers(1, 9, families).astype(float)
    sums = rng.gamma(0.7, 1, families) * sizes
    others = [np.arange(families) != i for i in range(families)]
    logs = [np.log(sums[kept].sum() / sizes[kept].sum()) for kept in others]
    variance = (families - 1) / families * sum((each - np.mean(logs)) ** 2 for each in logs)
    variance *= (stats.t.ppf(0.975, families - 1) / stats.norm.ppf(0.975)) ** 2
    freedom = np.clip(2 / variance, 1, families)
    ends = np.sqrt(sums.sum() / sizes.sum() * freedom / stats.chi2.ppf([0.985, 0.015], freedom))
    np.testing.assert_allclose(rmse_interval(sums, sizes), ends, rtol=1e-3)


@pytest.mark.slow
@given(st.lists(st.floats(0.01, 100), min_size=6, max_size=30), st.floats(0.1, 10))
def test_the_rmse_lies_inside_and_the_unit_only_scales(sums, unit):
    sums, sizes = np.array(sums), np.arange(1.0, len(sums) + 1)
    low, high = rmse_interval(sums, sizes)
    assert low <= np.sqrt(sums.sum() / sizes.sum()) <= high
    np.testing.assert_allclose(rmse_interval(sums * unit**2, sizes), (low * unit, high * unit), rtol=1e-9)


def test_lines_without_errors_with_unknown_ones_and_with_too_few_families():
    low, high = rmse_interval(np.array([[0.0] * 7, [np.nan] + [1.0] * 6]), np.ones(7))
    assert low[0] == high[0] == 0
    assert np.isnan([low[1], high[1]]).all()
    few = FEWEST_FAMILIES - 1
    assert np.isnan(rmse_interval(np.ones((3, few)), np.ones(few))).all()


@pytest.mark.parametrize("families", [6, 12, 24])
def test_it_holds_the_truth_as_often_as_it_says(families):
    """Families of unequal size, half of an error's variance shared within a family."""
    rng = np.random.default_rng(families)
    sizes = rng.integers(1, 9, families)
    codes = np.repeat(np.arange(families), sizes)
    shared, own = (rng.standard_normal((2000, n)) for n in (families, len(codes)))
    errors = np.sqrt(0.5) * (shared[:, codes] + own)
    low, high = rmse_interval(errors**2 @ (codes[:, None] == np.arange(families)), sizes.astype(float))
    assert ((low <= 1) & (high >= 1)).mean() >= 0.92
