"""MaNo against a loop over images and classes."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of

from baselines.accuracy.mano import mano, taylor_softmax, uniform_cross_entropy


def mano_by_hand(logits):
    n, k = len(logits), len(logits[0])
    rows = [[float(q) for q in row] for row in logits]
    soft, phi = [], 0.0
    for row in rows:
        top = max(row)
        log_sum = top + np.log(sum(np.exp(q - top) for q in row))
        phi -= sum(q - log_sum for q in row) / (n * k)
        soft.append([np.exp(q - log_sum) for q in row])
    if phi <= 5:
        taylor = [[1 + q + q * q / 2 for q in row] for row in rows]
        shifted = [[value - min(row) for value in row] for row in taylor]
        soft = [[value / sum(row) for value in row] if sum(row) else [1 / k] * k for row in shifted]
    return (sum(value**4 for row in soft for value in row) / (n * k)) ** 0.25


@pytest.mark.parametrize("name", LOGITS)
def test_mano_against_a_loop(name):
    target = seen(LOGITS[name])
    assert mano(target, source_of([[1.0, 0.0]], [0])) == pytest.approx(mano_by_hand(target.logits), rel=1e-6)


def test_the_inputs_above_take_both_normalisers():
    assert {uniform_cross_entropy(np.asarray(q, np.float64)) > 5 for q in LOGITS.values()} == {True, False}


def test_uniform_cross_entropy_is_log_k_at_least():
    assert uniform_cross_entropy(np.zeros((3, 8))) == pytest.approx(np.log(8))
    assert uniform_cross_entropy(LOGITS["random"]) > np.log(7)


def test_the_taylor_softmax_is_a_distribution_with_zero_at_the_least():
    q = taylor_softmax(np.array([[0.0, 1.0, -1.0], [2.0, 2.0, 2.0]]))
    np.testing.assert_allclose(q, [[0.2, 0.8, 0.0], [1 / 3, 1 / 3, 1 / 3]])


def test_mano_of_certain_and_uniform_predictions():
    assert mano(seen(1e4 * np.eye(10)), source_of([[1.0, 0.0]], [0])) == pytest.approx(10**-0.25)
    assert mano(seen(np.zeros((9, 10))), source_of([[1.0, 0.0]], [0])) == pytest.approx(0.1)
