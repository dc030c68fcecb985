"""The nuclear norm against the eigenvalues of the Gram matrix."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of
from scipy.special import softmax

from baselines.accuracy.nuclear import nuclear


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
