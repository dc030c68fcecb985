"""Each set-level indicator against an independent computation, on random and adversarial inputs."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from observations import seen, source_of
from scipy.special import softmax

from baselines.accuracy.atc import atc, atc_datacv, atc_threshold, confidence_log_odds
from baselines.accuracy.confscore import confscore
from baselines.accuracy.entropy import entropy
from baselines.accuracy.rotation import rotation

LOGITS = arrays(
    np.float32, st.tuples(st.integers(1, 20), st.integers(2, 6)), elements=st.floats(-50, 50, width=32)
)


ANY = source_of([[1.0, 0.0]], [0])


@given(LOGITS)
def test_confscore_and_entropy_against_scipy(logits):
    p = softmax(logits.astype(np.float64), axis=1)
    assert confscore(seen(logits), ANY) == pytest.approx(p.max(axis=1).mean(), rel=1e-6)
    assert entropy(seen(logits), ANY) == pytest.approx(scipy.stats.entropy(p, axis=1).mean(), abs=1e-9)


@pytest.mark.parametrize("scale", [0.0, 1e4])
def test_uniform_and_one_hot_softmax(scale):
    target = seen(scale * np.eye(10))
    assert confscore(target, ANY) == pytest.approx(1.0 if scale else 0.1)
    assert entropy(target, ANY) == pytest.approx(0.0 if scale else np.log(10))


@given(LOGITS)
def test_log_odds_are_those_of_the_largest_probability(logits):
    ratios = np.sort(softmax(logits.astype(np.float64), axis=1), axis=1)
    expected = np.log(ratios[:, -1]) - np.log(ratios[:, :-1].sum(axis=1))
    np.testing.assert_allclose(confidence_log_odds(seen(logits)), expected, rtol=1e-6, atol=1e-6)


def test_log_odds_tell_apart_what_a_float32_softmax_cannot():
    logits = np.array([[20.0, 0.0], [30.0, 0.0], [1e4, -1e4]], np.float32)
    assert (softmax(logits, axis=1)[:, 0] == 1).sum() >= 2
    assert np.diff(confidence_log_odds(seen(logits))).min() > 0


def test_atc_gives_the_sources_accuracy_on_the_source():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(500, 10)) * 2, rng.integers(10, size=500)
    logits[np.arange(500), labels] += 2
    source = source_of(logits, labels)
    assert atc(source.observation, source) == pytest.approx(source.accuracy, abs=1e-12)
    below = confidence_log_odds(source.observation) < atc_threshold(source)
    assert below.mean() == pytest.approx(1 - source.accuracy, abs=1e-12)


@pytest.mark.parametrize(("labels", "expected"), [([0, 0, 0], 1.0), ([1, 1, 1], 0.0)])
def test_atc_where_all_or_none_of_the_source_is_right(labels, expected):
    source = source_of([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], labels)
    assert atc(source.observation, source) == expected


def test_atc_datacv_cuts_at_the_accuracys_quantile():
    logits = np.array([[x, 0.0] for x in (0.5, 1.0, 1.5, 2.0, 2.5)])
    source = source_of(logits, [0, 0, 1, 0, 0])
    negative_entropy = -scipy.stats.entropy(softmax(logits, axis=1), axis=1)
    threshold = np.sort(negative_entropy)[int(np.ceil(0.8 * 5))]
    assert atc_datacv(source.observation, source) == pytest.approx((negative_entropy < threshold).mean())
    assert atc_datacv(source.observation, source_of(logits, [0] * 5)) == pytest.approx(0.8)


def test_rotation_is_the_share_of_rotations_told_apart():
    target = seen(np.zeros((4, 2)), rotation=np.array([1, 0.25, 0.5, 0.25], np.float32))
    assert rotation(target, ANY) == 0.5
