"""COT and COTT against exact assignment, linear programming and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observations import LOGITS, seen, source_of
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import softmax
from sklearn.base import clone

from baselines import BASELINES
from baselines.accuracy.cot import cot, cott, cott_threshold, optimal_plan, transport_to
from baselines.contract import conformance
from starter.observing.temperature import temperature


def assigned(p, counts):
    """Costs of the best one-to-one assignment of n images to n one-hot labels, under L1, halved."""
    labels = np.repeat(np.arange(len(counts)), counts)
    cost = np.abs(p[:, None] - np.eye(len(counts))[labels][None]).sum(axis=2) / 2
    return cost[linear_sum_assignment(cost)]


@pytest.mark.parametrize("name", LOGITS)
@pytest.mark.parametrize("seed", [0, 1])
def test_cot_against_assignment(name, seed):
    target = seen(LOGITS[name])
    n, k = target.logits.shape
    labels = np.random.default_rng(seed).integers(k, size=n)
    p = softmax(target.logits.astype(np.float64), axis=1)
    expected = 1 - assigned(p, np.bincount(labels, minlength=k)).mean()
    cost, mass = transport_to(np.bincount(labels, minlength=k), target, 1.0)
    assert 1 - cost @ mass == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(2, 5), st.integers(0, 10_000), st.sampled_from([1, 8, 1000]))
def test_the_plan_against_linear_programming(n, k, seed, levels):
    rng = np.random.default_rng(seed)
    gain = rng.integers(0, levels + 1, size=(n, k)) / levels
    supply, demand = rng.integers(1, 4, size=n), rng.multinomial(rng.integers(1, 20), np.full(k, 1 / k))
    plan = optimal_plan(gain, supply, demand)
    assert plan.min() >= 0
    np.testing.assert_array_equal(plan.sum(axis=1) * supply.sum(), supply * plan.sum())
    np.testing.assert_array_equal(plan.sum(axis=0) * demand.sum(), demand * plan.sum())
    equal = np.vstack([np.kron(np.eye(n), np.ones(k)), np.kron(np.ones(n), np.eye(k))])
    masses = np.concatenate([supply / supply.sum(), demand / demand.sum()])
    best = linprog(-gain.ravel(), A_eq=equal, b_eq=masses)
    assert (gain * plan).sum() / plan.sum() == pytest.approx(-best.fun, abs=1e-8)


def test_the_plan_is_the_same_if_parts_of_the_rows_are_planned_before(monkeypatch):
    rng = np.random.default_rng(0)
    gain, supply = softmax(rng.normal(size=(300, 5)), axis=1), rng.integers(1, 4, size=300)
    demand = rng.integers(1, 100, size=5)
    expected = optimal_plan(gain, supply, demand)
    monkeypatch.setattr("baselines.accuracy.cot.MANY", 2)
    np.testing.assert_array_equal(optimal_plan(gain, supply, demand), expected)


def test_cot_scales_by_the_sources_temperature():
    source = source_of(LOGITS["random"], np.random.default_rng(0).integers(7, size=50))
    target, classes = seen(LOGITS["random"][:30] * 2), np.bincount(source.labels, minlength=7)
    for t, same in ((temperature(source), True), (1.0, False)):
        cost, mass = transport_to(classes, target, t)
        assert (cot(target, source) == pytest.approx(1 - cost @ mass, abs=1e-3)) == same


def test_cot_of_one_predicted_class_is_that_classs_share_of_the_source():
    source = source_of(np.zeros((10, 4)), [0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
    assert cot(seen(np.tile([1e12, 0, 0, 0], (17, 1))), source) == pytest.approx(0.3)


def case(n=200, k=6, skill=2.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), labels] += skill
    return source_of(logits, labels)


def test_cott_gives_the_sources_accuracy_on_the_source():
    source = case()
    assert cott(source.observation, source) == pytest.approx(source.accuracy, abs=1e-12)


def test_cott_against_assignment():
    source, target = case(), case(skill=0.5, seed=1).observation
    t = temperature(source)
    counts = np.bincount(source.labels, minlength=6)
    own, new = (
        assigned(softmax(o.logits.astype(np.float64) / t, axis=1), counts)
        for o in (source.observation, target)
    )
    threshold = np.sort(own)[source.correct.sum() - 1]
    assert cott_threshold(source) == pytest.approx(threshold, abs=1e-12)
    assert cott(target, source) == pytest.approx((new <= threshold).mean(), abs=1e-12)


@pytest.mark.parametrize(("labels", "expected"), [([0, 1], 1.0), ([1, 0], 0.0)])
def test_cott_where_all_or_none_of_the_source_is_right(labels, expected):
    source = source_of([[1.0, 0.0], [0.0, 1.0]], labels)
    assert cott(source.observation, source) == expected


@pytest.mark.parametrize("name", LOGITS)
def test_both_are_fractions_on_adversarial_inputs(name):
    k = LOGITS[name].shape[1]
    source = source_of(np.random.default_rng(6).normal(size=(37, k)), np.arange(37) % k)
    for indicator in (cot, cott):
        assert -1e-12 <= indicator(seen(LOGITS[name]), source) <= 1 + 1e-12


@pytest.mark.parametrize(("method", "indicator"), [("cot", cot), ("cott", cott)])
def test_the_estimators_are_the_indicators(method, indicator):
    meta = conformance.example_meta_train()
    expected = [indicator(target, meta.source) for target in meta.sets[:5]]
    np.testing.assert_array_equal(clone(BASELINES[method]).fit(meta).predict(meta.sets[:5]), expected)
