"""MDE against the logarithm of the mean exponential."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of
from scipy.special import logsumexp

from baselines.accuracy.mde import mde


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
