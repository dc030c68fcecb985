"""COT and COTT, under other class priors and with a gate: assignment, linear programming, weighted moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from observations import LOGITS, seen, source_of
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import softmax

from baselines.accuracy.cot import (
    PARTS,
    CottPrior,
    cot,
    cott,
    cott_threshold,
    optimal_plan,
    right_of_class,
    transport_to,
)
from baselines.accuracy.priors import PRIORS
from baselines.accuracy.transport import augmented_plan
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
    _, cost, mass = transport_to(np.bincount(labels, minlength=k), target, 1.0)
    assert 1 - (cost * mass).sum() == pytest.approx(expected, abs=1e-9)


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


def test_cot_scales_by_the_sources_temperature():
    source = source_of(LOGITS["random"], np.random.default_rng(0).integers(7, size=50))
    target, classes = seen(LOGITS["random"][:30] * 2), np.bincount(source.labels, minlength=7)
    for t, same in ((temperature(source), True), (1.0, False)):
        _, cost, mass = transport_to(classes, target, t)
        assert (cot(target, source) == pytest.approx(1 - (cost * mass).sum(), abs=1e-3)) == same


def test_cot_of_one_predicted_class_is_that_classs_share_of_the_source():
    source = source_of(np.zeros((10, 4)), [0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
    assert cot(seen(np.tile([1e12, 0, 0, 0], (17, 1))), source) == pytest.approx(0.3)


def case(n=200, k=6, skill=2.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), labels] += skill
    return source_of(logits, labels)


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


@pytest.mark.parametrize("name", LOGITS)
def test_both_are_fractions_on_adversarial_inputs(name):
    k = LOGITS[name].shape[1]
    source = source_of(np.random.default_rng(6).normal(size=(37, k)), np.arange(37) % k)
    for indicator in (cot, cott):
        assert -1e-12 <= indicator(seen(LOGITS[name]), source) <= 1 + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_under_a_prior_against_linear_programming(seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 4
    logits = rng.normal(size=(n, k)) * 2
    classes = np.rint(PARTS * rng.dirichlet(np.ones(k))).astype(int)
    cost = 1 - softmax(logits.astype(np.float32).astype(np.float64), axis=1)
    equal = np.vstack([np.kron(np.eye(n), np.ones(k)), np.kron(np.ones(n), np.eye(k))])
    masses = np.concatenate([np.full(n, 1 / n), classes / classes.sum()])
    plan = linprog(cost.ravel(), A_eq=equal, b_eq=masses).x.reshape(n, k)
    for threshold in (0.2, 0.5, 0.8):
        expected = (plan * (cost <= threshold)).sum(axis=0)
        found = right_of_class(classes / PARTS, seen(logits), 1.0, threshold)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_estimator_is_the_indicator_under_its_prior(prior):
    meta = conformance.example_meta_train()
    t = temperature(meta.source)
    threshold = cott_threshold(meta.source)
    own = CottPrior(prior).fit(meta)
    expected = [right_of_class(own.prior_of(each), each, t, threshold).sum() for each in meta.sets[:4]]
    np.testing.assert_array_equal(CottPrior(prior).fit(meta).predict(meta.sets[:4]), expected)


def test_two_classes_of_ten_are_no_error():
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=2000)
    logits = rng.normal(size=(2000, 10)) + 6 * np.eye(10)[labels]
    meta = conformance.example_meta_train()
    meta = type(meta)(source_of(logits, labels), meta.sets, meta.targets, meta.correct, meta.families)
    few = seen(logits[labels < 2])
    assert cott(few, meta.source) < 0.3
    assert CottPrior().fit(meta).predict([few])[0] == pytest.approx(1, abs=0.03)


def test_the_order_of_rows_and_the_first_prices_change_nothing_without_ties():
    rng = np.random.default_rng(0)
    gain, supply = softmax(rng.normal(size=(60, 9)), axis=1), rng.integers(1, 5, size=60)
    demand = rng.multinomial(supply.sum(), np.full(9, 1 / 9))
    order = rng.permutation(60)
    plan, price = augmented_plan(gain, supply, demand, np.zeros(9)), rng.normal(size=9)
    np.testing.assert_array_equal(augmented_plan(gain[order], supply[order], demand, price), plan[order])
    worth = gain - price  # by the prices at the end, every row goes where this is largest
    np.testing.assert_allclose(np.where(plan > 0, worth - worth.max(axis=1, keepdims=True), 0), 0, atol=1e-12)
