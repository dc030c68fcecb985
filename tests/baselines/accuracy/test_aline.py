"""Agreement on the line: on networks whose probits lie on a line, and against least squares."""

from itertools import combinations

import numpy as np
import pytest
from observations import seen
from scipy.stats import norm

from baselines.accuracy.aline import Aline, agreements, aline_d, aline_s, line, probits
from baselines.contract import conformance


def test_agreements_against_a_loop():
    predicted = np.random.default_rng(0).integers(3, size=(4, 50))
    found = agreements(predicted)
    for value, (i, j) in zip(found, combinations(range(4), 2), strict=True):
        assert value == sum(int(a == b) for a, b in zip(predicted[i], predicted[j], strict=True)) / 50


def test_probits_stay_finite():
    np.testing.assert_allclose(probits(np.array([0.0, 0.5, 1.0]), 10), norm.ppf([0.05, 0.5, 0.95]))


@pytest.mark.parametrize("solve", [aline_s, aline_d])
def test_networks_on_the_line(solve):
    right = norm.ppf([0.95, 0.9, 0.85, 0.7])
    agreed = np.array([(right[i] + right[j]) / 2 - 0.2 * (i + j) for i, j in combinations(range(4), 2)])
    np.testing.assert_allclose(solve(agreed, right, 0.8 * agreed - 0.4), 0.8 * right - 0.4)


def test_the_line_against_polyfit():
    rng = np.random.default_rng(1)
    known = rng.normal(size=8)
    shifted = 0.7 * known - 0.3 + rng.normal(size=8) / 10
    np.testing.assert_allclose(line(known, shifted), np.polyfit(known, shifted, 1))


def test_a_single_pair_tells_no_slope():
    assert line(np.array([1.2]), np.array([0.5])) == (1, pytest.approx(-0.7))
    assert line(np.array([1.0, 1.2, 1.4]), np.array([0.6, 0.5, 0.4]))[0] == 1


def test_a_peer_who_agrees_less_lowers_the_estimate():
    meta = conformance.example_meta_train()
    method = Aline().fit(meta)
    logits = np.eye(10)[np.arange(100) % 10]
    other = np.where((np.arange(100) < 60)[:, None], logits, np.roll(logits, 1, axis=1))
    sets = [seen(logits, views={"peer:other": each.astype(np.float32)}) for each in (other, logits)]
    low, high = method.predict(sets)
    assert low < high
