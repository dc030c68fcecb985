"""DoC against a loop."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of
from scipy.special import softmax

from baselines.accuracy.doc import DocScaled, doc
from baselines.contract.conformance import example_meta_train
from starter.observing.temperature import temperature


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


def test_doc_after_temperature_scaling_is_doc_of_scaled_logits():
    meta = example_meta_train(sets=4)
    source, t = meta.source, temperature(meta.source)
    scaled = source_of(source.observation.logits / t, source.labels)
    expected = [doc(seen(each.logits / t), scaled) for each in meta.sets]
    assert DocScaled().fit(meta).predict(meta.sets) == pytest.approx(np.clip(expected, 0, 1), abs=1e-6)
