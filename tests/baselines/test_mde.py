"""MDE against the logarithm of the mean exponential."""

import numpy as np
import pytest
from scipy.special import logsumexp

from baselines.mde import mde
from starter.observation import Observation, Source


def seen(logits):
    return Observation("s", "c", np.asarray(logits, np.float32))


def source_of(logits, labels):
    k = np.shape(logits)[1]
    return Source(seen(logits), np.asarray(labels), seen(logits), np.zeros((k, 3)), np.zeros(k))


LOGITS = {
    "random": np.random.default_rng(0).normal(size=(50, 7)) * 3,
    "uniform": np.zeros((12, 5)),
    "one-hot": 1e4 * np.eye(10),
    "one class": np.tile([1e4, -1e4, 0], (20, 1)),
    "n < k": np.random.default_rng(1).normal(size=(3, 40)),
    "n = 1": np.array([[3.0, -1.0, 0.5]]),
    "+-1e4": np.random.default_rng(2).choice([-1e4, 1e4], size=(30, 6)),
}


@pytest.mark.parametrize("name", LOGITS)
def test_mde_against_a_loop(name):
    target = seen(LOGITS[name])
    energies = [-logsumexp(row.astype(np.float64)) for row in target.logits]
    top = max(energies)
    log_mean = top + np.log(sum(np.exp(e - top) for e in energies) / len(energies))
    expected = log_mean - sum(energies) / len(energies)
    value = mde(target, source_of([[1.0, 0.0]], [0]))
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert value >= -1e-9


def test_mde_does_not_depend_on_the_sets_size():
    target = LOGITS["random"]
    any_source = source_of([[1.0, 0.0]], [0])
    assert mde(seen(np.tile(target, (9, 1))), any_source) == pytest.approx(mde(seen(target), any_source))


def test_mde_of_normal_energies_is_half_their_variance():
    e = np.random.default_rng(0).normal(0, 0.5, 200_000)
    logits = np.stack([-e - np.log(2)] * 2, axis=1)
    assert mde(seen(logits), source_of([[1.0, 0.0]], [0])) == pytest.approx(0.125, rel=0.03)
