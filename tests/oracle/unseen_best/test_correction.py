"""Ridge corrections against scikit-learn's."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from baselines.contract.regressors import log_odds
from oracle.unseen_best.correction import Correction

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 4))
TARGETS = expit(ROWS[:, 1] + 0.5 * ROWS[:, 0] + 0.3 + 0.1 * RNG.normal(size=60))


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_it_is_ridge_regression_of_what_the_anchor_lacks(alpha):
    found = Correction.fit(ROWS, TARGETS, (0, 2), 1, alpha)
    scaler = StandardScaler().fit(ROWS[:, [0, 2]])
    model = Ridge(alpha).fit(scaler.transform(ROWS[:, [0, 2]]), log_odds(TARGETS) - ROWS[:, 1])
    expected = expit(ROWS[:, 1] + model.predict(scaler.transform(ROWS[:, [0, 2]])))
    np.testing.assert_allclose(found(ROWS), expected, rtol=1e-9)
    assert found.coefficients[[1, 3]].tolist() == [0, 0]


def test_a_strong_ridge_leaves_the_anchor_but_for_a_constant():
    found = Correction.fit(ROWS, TARGETS, range(4), 1, 1e9)
    shift = log_odds(found(ROWS)) - ROWS[:, 1]
    assert np.ptp(shift) < 1e-4


def test_none_is_the_anchor():
    np.testing.assert_allclose(Correction.none(4, 2)(ROWS), expit(ROWS[:, 2]))


def test_rows_far_outside_count_as_one_deviation_outside():
    found = Correction.fit(ROWS, TARGETS, range(4), 1, 1.0)
    far = ROWS.max(axis=0) + ROWS.std(axis=0)
    np.testing.assert_allclose(found(far[None] + 100), found(far[None]))


def test_a_column_without_spread_is_left_out():
    rows = np.column_stack([ROWS, np.ones(60)])
    np.testing.assert_allclose(
        Correction.fit(rows, TARGETS, range(5), 1, 1.0)(rows),
        Correction.fit(ROWS, TARGETS, range(4), 1, 1.0)(ROWS),
    )
