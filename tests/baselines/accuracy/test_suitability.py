"""The test by simulation; the method on a source that is all right."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of

from baselines.accuracy.suitability import Suitability, non_inferiority, signals
from baselines.contract import conformance

RNG = np.random.default_rng(0)


def test_a_fall_by_the_margin_is_called_suitable_at_the_level_only():
    draws = [non_inferiority(RNG.random(200) < 0.85, RNG.random(500) < 0.9, margin=0.05) for _ in range(1000)]
    assert np.mean(np.array(draws) <= 0.05) == pytest.approx(0.05, abs=0.02)


def test_probabilities_come_near_the_sources_accuracy():
    meta = conformance.example_meta_train()
    method = Suitability().fit(meta)
    found = method.probabilities(meta.source.observation).mean()
    assert found == pytest.approx(meta.source.accuracy, abs=0.01)
    assert method.reference_.mean() == pytest.approx(meta.source.accuracy, abs=0.03)


def test_a_source_that_is_never_wrong():
    meta = conformance.example_meta_train()
    source = source_of(np.eye(10)[np.arange(40) % 10], np.arange(40) % 10)
    meta = type(meta)(source, meta.sets, meta.targets, meta.correct, meta.families)
    assert Suitability().fit(meta).predict(meta.sets[:1])[0] == pytest.approx(40.5 / 41)


@pytest.mark.parametrize("name", LOGITS)
def test_signals_are_finite_on_adversarial_inputs(name):
    rows = signals(seen(LOGITS[name]))
    assert rows.shape == (len(LOGITS[name]), 7)
    assert np.isfinite(rows).all()
