"""MaNo against a loop over images and classes."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of

from baselines.accuracy.mano import Mano, chosen_normaliser, mano, taylor_softmax, uniform_cross_entropy
from baselines.contract.conformance import example_meta_train
from submission import UnusableInput

CONFIDENT, UNSURE = source_of([[9.0, -9.0]], [0]), source_of([[1.0, 0.0]], [0])
"""Sources on which Phi is above 5, and below."""


def mano_by_hand(logits, taylor):
    n, k = len(logits), len(logits[0])
    rows = [[float(q) for q in row] for row in logits]
    soft = []
    for row in rows:
        top = max(row)
        log_sum = top + np.log(sum(np.exp(q - top) for q in row))
        soft.append([np.exp(q - log_sum) for q in row])
    if taylor:
        values = [[1 + q + q * q / 2 for q in row] for row in rows]
        shifted = [[value - min(row) for value in row] for row in values]
        soft = [[value / sum(row) for value in row] if sum(row) else [1 / k] * k for row in shifted]
    return (sum(value**4 for row in soft for value in row) / (n * k)) ** 0.25


@pytest.mark.parametrize("name", LOGITS)
def test_mano_against_a_loop(name):
    target = seen(LOGITS[name])
    for source, taylor in ((CONFIDENT, False), (UNSURE, True)):
        assert mano(target, source) == pytest.approx(mano_by_hand(target.logits, taylor), rel=1e-6)


def test_the_source_decides_and_no_set_does():
    assert chosen_normaliser(CONFIDENT) == "softmax"
    assert chosen_normaliser(UNSURE) == "taylor"
    logits = np.array([[3.0, -7.1, -7.2], [-7.0, 3.0, -7.2]])
    phis = [uniform_cross_entropy(logits * scale) for scale in (0.7, 0.8)]
    assert phis[0] < 5 < phis[1]
    for source in (CONFIDENT, UNSURE):
        near = [mano(seen(logits * scale), source) for scale in (0.7, 0.75, 0.8)]
        assert np.ptp(near) < 0.01


@pytest.mark.parametrize("normaliser", ["phi", "softmax", "taylor"])
def test_the_method_keeps_the_normaliser(normaliser, tmp_path):
    meta = example_meta_train(sets=8)
    method = Mano(normaliser).fit(meta)
    assert method.normaliser_ == ("taylor" if normaliser == "phi" else normaliser)
    expected = mano(meta.sets[3], meta.source, method.normaliser_)
    assert method._measure(meta.sets[3])[0] == expected
    method.save(tmp_path / "mano.safetensors")
    again = Mano().load(tmp_path / "mano.safetensors")
    assert again.predict(meta.sets) == pytest.approx(method.predict(meta.sets))


def test_refuses_another_normaliser():
    with pytest.raises(UnusableInput, match="normaliser must be phi, softmax, taylor, got 'l2'"):
        Mano("l2").fit(example_meta_train(sets=3))


def test_uniform_cross_entropy_is_log_k_at_least():
    assert uniform_cross_entropy(np.zeros((3, 8))) == pytest.approx(np.log(8))
    assert uniform_cross_entropy(LOGITS["random"]) > np.log(7)


def test_the_taylor_softmax_is_a_distribution_with_zero_at_the_least():
    q = taylor_softmax(np.array([[0.0, 1.0, -1.0], [2.0, 2.0, 2.0]]))
    np.testing.assert_allclose(q, [[0.2, 0.8, 0.0], [1 / 3, 1 / 3, 1 / 3]])


def test_mano_of_certain_and_uniform_predictions():
    assert mano(seen(1e4 * np.eye(10)), source_of([[1.0, 0.0]], [0])) == pytest.approx(10**-0.25)
    assert mano(seen(np.zeros((9, 10))), source_of([[1.0, 0.0]], [0])) == pytest.approx(0.1)
