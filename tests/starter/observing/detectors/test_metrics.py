"""Detection metrics against scikit-learn, by definition, and what they must not depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from starter.observing.detectors.metrics import (
    DETECTION_METRICS,
    aupr,
    auroc,
    detection_error,
    deviation,
    fpr,
    true_metric,
)

WEIGHTS = (np.random.default_rng(5).uniform(0.1, 2, size=40), np.random.default_rng(6).uniform(0.1, 2, 60))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighed"])
@pytest.mark.parametrize("positive", ["ind", "ood"])
@pytest.mark.parametrize("rounded", [False, True], ids=["distinct", "ties"])
def test_against_scikit_learn(rounded, positive, weights):
    """On scores that overlap; rounded to halves, most are ties."""
    rng = np.random.default_rng(0)
    ind, ood = rng.normal(size=40), rng.normal(0.8, 1.5, size=60)
    if rounded:
        ind, ood = (np.round(2 * each) / 2 for each in (ind, ood))
    sign = 1 if positive == "ood" else -1
    labels, confidence = np.repeat([-sign, sign], [40, 60]) > 0, sign * np.concatenate([ind, ood])
    flat = None if weights is None else np.concatenate(weights)
    assert auroc(ind, ood, weights) == pytest.approx(roc_auc_score(labels, confidence, sample_weight=flat))
    assert aupr(ind, ood, positive) == pytest.approx(average_precision_score(labels, confidence))
    false, true, _ = roc_curve(labels, confidence, drop_intermediate=False)
    for level in (0.95, 0.8, 0.6, 1.0):
        at = np.argmax(true >= level - 1e-12)
        assert fpr(ind, ood, level, positive) == pytest.approx(false[at])
        if (level, positive) == (0.95, "ind"):
            assert detection_error(ind, ood) == pytest.approx((1 - true[at] + false[at]) / 2)


@pytest.mark.parametrize("n", [20, 40, 60, 100, 140, 180, 220, 340, 1000])
@pytest.mark.parametrize("level", [0.95, 0.8, 0.6])
def test_a_level_that_is_met_exactly_counts_as_met(n, level):
    """The threshold is the score of the image number level * n, which floats may miss by rounding."""
    ind = np.arange(n)
    ood = np.arange(n) + 0.5
    assert fpr(ind, ood, level) == pytest.approx(level - 1 / n)


SCORES = st.lists(st.integers(-4, 4), min_size=1, max_size=12)


@given(SCORES, SCORES)
def test_properties(ind, ood):
    pairs = [(a < b) + (a == b) / 2 for a in ind for b in ood]
    assert auroc(ind, ood) == pytest.approx(np.mean(pairs))
    for metric in DETECTION_METRICS.values():
        value = metric(ind, ood)
        assert 0 <= value <= 1
        assert metric(np.exp(ind), np.exp(ood)) == value  # ranks alone count
        assert metric(ind[::-1], ood[::-1]) == pytest.approx(value)
    assert fpr(ind, ood, 0.6) <= fpr(ind, ood, 0.8) <= fpr(ind, ood, 0.95)
    mirrored = fpr(np.negative(ood), np.negative(ind))
    assert fpr(ind, ood, positive="ood") == mirrored
    repeated = auroc(np.repeat(ind, 2), ood), auroc(ind, ood, (np.full(len(ind), 2), np.ones(len(ood))))
    assert repeated == pytest.approx([auroc(ind, ood)] * 2)


@pytest.mark.slow
def test_deviation_against_the_exact_standard_error():
    rng = np.random.default_rng(0)
    pool, is_ood = np.sort(rng.normal(size=20_000)), np.arange(300) >= 100
    scores = rng.normal(1.0, 1, 300)
    p = true_metric("fpr95", "pool", pool, scores, is_ood)
    found = [
        deviation("fpr95", "pool", pool, scores, is_ood, np.random.default_rng(seed)) for seed in range(20)
    ]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(np.sqrt(p * (1 - p) / 200), rel=0.15)


def test_the_papers_form_takes_the_mixs_own_threshold():
    pool, scores = np.arange(100.0), np.r_[np.arange(20.0), np.full(20, 50.0)]
    is_ood = np.arange(40) >= 20
    assert true_metric("fpr95", "mix", pool, scores, is_ood) == 0.0
    assert true_metric("fpr95", "pool", pool, scores, is_ood) == 1.0
