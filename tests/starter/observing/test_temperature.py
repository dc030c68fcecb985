import numpy as np
import pytest
from scipy.special import logsumexp as scipys
from scipy.special import softmax as scipys_softmax

from starter.observing import temperature


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_blocks_of_rows_give_what_scipy_gives_of_all(rows, monkeypatch):
    monkeypatch.setattr(temperature, "BLOCK", 12)
    logits = np.random.default_rng(rows).normal(size=(rows, 5)).astype(np.float32) * 50
    np.testing.assert_allclose(temperature.softmax(logits), scipys_softmax(logits.astype(float), axis=1))
    for scale in (1.0, 0.1):
        np.testing.assert_allclose(
            temperature.logsumexp(logits, scale), scipys(scale * logits.astype(float), axis=1)
        )
