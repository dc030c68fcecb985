"""CBPE against scipy's isotonic regression."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of
from scipy.optimize import isotonic_regression
from scipy.special import softmax

from baselines.accuracy.cbpe import cbpe


def calibrated(confidence, reference, correct):
    """Isotonic fit by scipy over distinct confidences, interpolated, constant beyond the ends."""
    x, where, count = np.unique(reference, return_inverse=True, return_counts=True)
    mean = np.bincount(where, weights=correct) / count
    return np.interp(confidence, x, isotonic_regression(mean, weights=count).x)


@pytest.mark.parametrize("name", LOGITS)
def test_cbpe_against_scipy(name):
    target = seen(LOGITS[name])
    k = target.logits.shape[1]
    rng = np.random.default_rng(4)
    source = source_of(rng.integers(-3, 4, size=(200, k)), rng.integers(k, size=200))
    reference = softmax(source.observation.logits.astype(np.float64), axis=1).max(axis=1).round(12)
    confidence = softmax(target.logits.astype(np.float64), axis=1).max(axis=1)
    expected = calibrated(confidence, reference, source.correct).mean()
    assert cbpe(target, source) == pytest.approx(expected, abs=1e-6)


def test_cbpe_gives_the_sources_accuracy_on_the_source():
    rng = np.random.default_rng(0)
    source = source_of(rng.normal(size=(300, 5)) * 2, rng.integers(5, size=300))
    assert cbpe(source.observation, source) == pytest.approx(source.accuracy)


@pytest.mark.parametrize(("labels", "expected"), [([0, 0, 0], 1.0), ([1, 1, 1], 0.0)])
def test_cbpe_where_all_or_none_of_the_source_is_right(labels, expected):
    source = source_of([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], labels)
    assert cbpe(seen([[-1e4, 1e4], [0.0, 0.0]]), source) == expected


def test_cbpe_of_a_source_of_one_image():
    assert cbpe(seen([[5.0, 0.0], [0.0, 0.0]]), source_of([[1.0, 0.0]], [0])) == 1.0
