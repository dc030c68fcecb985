"""DoC against a loop."""

import numpy as np
import pytest
from scipy.special import softmax

from baselines.doc import doc
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
def test_doc_against_a_loop(name):
    logits = LOGITS[name].astype(np.float32).astype(np.float64)
    rng = np.random.default_rng(3)
    reference = rng.normal(size=(40, logits.shape[1])).astype(np.float32)
    labels = rng.integers(logits.shape[1], size=40)
    right = sum(int(np.argmax(row)) == label for row, label in zip(reference, labels, strict=True)) / 40
    before = sum(max(softmax(row.astype(np.float64))) for row in reference) / 40
    after = sum(max(softmax(row)) for row in logits) / len(logits)
    expected = right + after - before
    assert doc(seen(logits), source_of(reference, labels)) == pytest.approx(expected, abs=1e-6)


def test_doc_gives_the_sources_accuracy_on_the_source():
    source = source_of([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]], [0, 0, 0])
    assert doc(source.observation, source) == pytest.approx(2 / 3)
