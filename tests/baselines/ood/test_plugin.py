"""Shares of mixes whose truth is known, plug-in estimates at them, and the confidence rival."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixes import gaussian_mixes, mix
from sklearn.base import clone

from baselines.ood.confident import Confident
from baselines.ood.plugin import LEAST_SHARE, MOST_SHARE, Plugin, ind_share, ood_scores, plug_in
from starter.observing.detectors.metrics import DETECTION_METRICS, fpr
from submission.errors import UnusableInput

RNG = np.random.default_rng(0)
REFERENCE = np.sort(RNG.normal(size=4000))


def mixed(share, gap, n=4000, seed=1):
    rng = np.random.default_rng(seed)
    ind = round(n * share)
    return rng.normal(size=ind), rng.normal(gap, 1, n - ind)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_share_of_a_mix_far_apart_is_found(share):
    assert ind_share(np.concatenate(mixed(share, 6)), REFERENCE) == pytest.approx(share, abs=0.05)


def test_overlap_makes_the_share_too_large_and_it_stays_in_bounds():
    assert ind_share(np.concatenate(mixed(0.5, 1)), REFERENCE) > 0.5
    assert ind_share(REFERENCE, REFERENCE) == MOST_SHARE
    assert ind_share(np.full(30, 99.0), REFERENCE) == LEAST_SHARE


def test_the_share_against_a_loop():
    mix = np.concatenate(mixed(0.4, 2, n=300))
    slack = sum(np.sqrt(np.log(4 / 0.1) / (2 * n)) for n in (len(mix), len(REFERENCE)))
    found = []
    for level in range(2, 101, 2):
        cut = REFERENCE[level * len(REFERENCE) // 100 - 1]
        of_mix, of_reference = (mix <= cut).mean(), (cut >= REFERENCE).mean()
        found.append(((of_mix + slack) / of_reference, of_mix / of_reference))
    assert ind_share(mix, REFERENCE, delta=0.1) == pytest.approx(min(found)[1])


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=40), st.floats(0.05, 0.9), st.integers(1, 50))
def test_what_is_left_is_made_of_the_mix(values, share, count):
    left = ood_scores(np.array(values, float), np.arange(-3.0, 3.0), share, count)
    assert len(left) == count
    assert (np.diff(left) >= 0).all()
    assert set(left) <= set(values)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("metric", DETECTION_METRICS)
def test_every_metric_is_recovered_where_the_share_is_known(metric, share):
    ind, ood = mixed(share, 2)
    found = plug_in(metric, np.concatenate([ind, ood]), REFERENCE, share)
    assert found == pytest.approx(DETECTION_METRICS[metric](ind, ood), abs=0.06)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_ranks_alone_count(seed):
    rng = np.random.default_rng(seed)
    mix, reference = rng.normal(1, 2, 60), np.sort(rng.normal(size=100))
    for metric in ("fpr95", "aupr-out"):
        share = ind_share(mix, reference)
        assert share == ind_share(np.exp(mix), np.exp(reference))
        raised = plug_in(metric, np.exp(mix), np.exp(reference), share)
        assert plug_in(metric, mix, reference, share) == raised


def rmse(method, meta, test):
    return np.sqrt(np.mean((clone(method).fit(meta).predict(test.sets) - test.targets) ** 2))


def test_the_known_share_is_near_the_truth_and_a_wrong_one_is_not():
    meta = gaussian_mixes(n=800, share=(0.5, 0.5))
    assert rmse(Plugin(), meta, meta) < 0.04
    assert rmse(Plugin(0.8), meta, meta) > 0.1


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_a_share_lies_between_0_and_1(share):
    with pytest.raises(UnusableInput, match="share must be between 0 and 1"):
        Plugin(share).fit(gaussian_mixes(sets=3))


def test_confidence_above_the_threshold_counts_as_ind():
    meta = gaussian_mixes(sets=4)
    logits = np.array([[5.0, 0, 0], [6.0, 0, 0], [1.0, 0, 0], [0.0, 0, 0]])
    scores = [0.1, 0.7, 0.5, 0.9]
    method = Confident().fit(meta)
    assert method.predict([mix(scores, logits=logits)])[0] == fpr([0.1, 0.7], [0.5, 0.9]) == 0.5
    assert method.predict([mix(scores, logits=logits, metric="auroc")])[0] == 0.75
    assert method.predict([mix(scores)])[0] == pytest.approx(meta.targets.mean())
