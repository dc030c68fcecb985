"""The nuclear norm against the eigenvalues of the Gram matrix."""

import numpy as np
import pytest
from scipy.special import softmax

from baselines.nuclear import nuclear
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
def test_nuclear_against_the_gram_matrix(name):
    target = seen(LOGITS[name])
    p = softmax(target.logits.astype(np.float64), axis=1)
    gram = p @ p.T if len(p) < p.shape[1] else p.T @ p
    expected = np.sqrt(np.clip(np.linalg.eigvalsh(gram), 0, None)).sum() / np.sqrt(min(p.shape) * len(p))
    value = nuclear(target, source_of([[1.0, 0.0]], [0]))
    assert value == pytest.approx(expected, abs=1e-6)
    assert 0 < value <= 1 + 1e-12


@pytest.mark.parametrize(
    ("logits", "expected"),
    [(1e4 * np.eye(10), 1.0), (np.tile([1e4, 0, 0, 0], (20, 1)), 0.5), (np.zeros((20, 4)), 0.25)],
)
def test_nuclear_of_spread_single_and_uniform_predictions(logits, expected):
    assert nuclear(seen(logits), source_of([[1.0, 0.0]], [0])) == pytest.approx(expected)
