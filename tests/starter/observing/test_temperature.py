"""Temperature scaling against a grid and against known temperatures."""

import numpy as np
import pytest
from observations import seen, source_of
from scipy.special import log_softmax, softmax

from starter.observing.temperature import scaled_probabilities, temperature


def drawn(sharpness, n=4000, k=5):
    """Logits `sharpness` times those that the labels were drawn from."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, k)) * 2
    labels = [rng.choice(k, p=p) for p in softmax(logits, axis=1)]
    return source_of(sharpness * logits, labels)


@pytest.mark.parametrize("sharpness", [0.2, 1.0, 7.0])
def test_temperature_undoes_a_known_sharpness(sharpness):
    assert temperature(drawn(sharpness)) == pytest.approx(sharpness, rel=0.1)


def test_temperature_is_the_best_of_a_grid():
    source = drawn(3.0, n=300)
    rows = np.arange(300)

    def loss(t):
        logits = source.observation.logits.astype(np.float64)
        return -log_softmax(logits / t, axis=1)[rows, source.labels].mean()

    found = loss(temperature(source))
    assert all(found <= loss(t) + 1e-9 for t in np.geomspace(0.05, 50, 400))


@pytest.mark.parametrize("logits", [np.eye(2), 1e4 * np.eye(2), np.zeros((2, 2))])
@pytest.mark.parametrize("labels", [[0, 1], [1, 0]])
def test_temperature_stays_positive_and_finite(logits, labels):
    t = temperature(source_of(logits, labels))
    assert 0 < t < np.inf
    p = scaled_probabilities(seen(logits), t)
    np.testing.assert_allclose(p.sum(axis=1), 1)
