"""Correlation and sensitivity against SciPy's regression."""

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr

from starter.detectors.metrics import aupr, auroc, fpr
from starter.shift.severity import Trend, trend


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


def test_a_detector_that_sees_a_growing_shift():
    rng = np.random.default_rng(0)
    ind = rng.normal(size=400)
    levels = [rng.normal(shift, 1, size=300) for shift in (0.5, 1.0, 1.5, 2.0)]
    for name, metric in (("auroc", auroc), ("fpr95", fpr), ("aupr-out", lambda i, o: aupr(i, o, "ood"))):
        found = trend(ind, levels, name)
        np.testing.assert_array_equal(found.values, [metric(ind, level) for level in levels])
        assert found.correlation * (-1 if name == "fpr95" else 1) > 0.9
    assert np.isnan(trend(ind, [levels[0][:9], *levels[1:]]).values[0])


def test_an_unknown_metric_lists_those_there_are():
    with pytest.raises(ValueError, match=r"one of fpr95, auroc, .* got 'auc'"):
        trend([0.0], [[1.0]], "auc")
