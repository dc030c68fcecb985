"""The regressors against naive computations, what they do beyond their data, and how they are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from baselines.contract.regressors import EDGE, REGRESSORS, log_odds, log_odds_ridge, make_regressor

RNG = np.random.default_rng(0)
ROWS = RNG.random((80, 2))
TARGETS = np.clip(0.2 + 0.7 * ROWS[:, 0] + RNG.normal(0, 0.03, 80), 0, 1)


@given(st.floats(0, 1))
def test_log_odds_undo_expit_but_for_the_edges(fraction):
    assert expit(log_odds(fraction)) == pytest.approx(np.clip(fraction, EDGE, 1 - EDGE))


def test_ridge_solves_the_normal_equations_of_standardised_rows():
    alpha, new = 3.0, RNG.random((5, 2))
    mean, scale = ROWS.mean(axis=0), ROWS.std(axis=0)
    z, t = (ROWS - mean) / scale, logit(np.clip(TARGETS, EDGE, 1 - EDGE))
    weights = np.linalg.solve(z.T @ z + alpha * np.eye(2), z.T @ (t - t.mean()))
    expected = expit((new - mean) / scale @ weights + t.mean())
    np.testing.assert_allclose(log_odds_ridge(alpha).fit(ROWS, TARGETS).predict(new), expected, rtol=1e-9)


def test_lightgbm_fits_a_step_that_no_line_fits_and_is_constant_beyond_the_data():
    step = (ROWS[:, 0] > 0.5) * 0.4 + 0.3
    trees = make_regressor("lightgbm").fit(ROWS, step)
    assert np.abs(trees.predict(ROWS) - step).mean() < 0.01
    assert np.ptp(trees.predict(np.array([[x, 0.5] for x in (1.0, 2.0, 1e6)]))) == 0


@pytest.mark.parametrize("name", REGRESSORS)
def test_fits_twice_to_the_same_numbers_and_survives_a_constant_column(name):
    rows = np.column_stack([ROWS[:, 0], np.ones(80)])
    first, again = (make_regressor(name).fit(rows, TARGETS).predict(rows) for _ in range(2))
    assert (first == again).all()
    assert np.abs(first - TARGETS).mean() < 0.06
