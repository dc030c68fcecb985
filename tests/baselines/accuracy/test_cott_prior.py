"""COTT under class priors, against linear programming."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of
from scipy.optimize import linprog
from scipy.special import softmax

from baselines.accuracy.cot import PARTS, CottPrior, cott, cott_threshold, cott_under
from baselines.accuracy.priors import PRIORS
from baselines.contract import conformance
from starter.observing.temperature import temperature


@pytest.mark.parametrize("seed", range(5))
def test_against_linear_programming(seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 4
    logits = rng.normal(size=(n, k)) * 2
    classes = np.rint(PARTS * rng.dirichlet(np.ones(k))).astype(int)
    cost = 1 - softmax(logits.astype(np.float32).astype(np.float64), axis=1)
    equal = np.vstack([np.kron(np.eye(n), np.ones(k)), np.kron(np.ones(n), np.eye(k))])
    masses = np.concatenate([np.full(n, 1 / n), classes / classes.sum()])
    plan = linprog(cost.ravel(), A_eq=equal, b_eq=masses).x.reshape(n, k)
    for threshold in (0.2, 0.5, 0.8):
        expected = plan[cost <= threshold].sum()
        assert cott_under(classes / PARTS, seen(logits), 1.0, threshold) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_estimator_is_the_indicator_under_its_prior(prior):
    meta = conformance.example_meta_train()
    t = temperature(meta.source)
    threshold = cott_threshold(meta.source)
    own = CottPrior(prior).fit(meta)
    expected = [cott_under(own.prior_of(each), each, t, threshold) for each in meta.sets[:4]]
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


@pytest.mark.parametrize("name", LOGITS)
def test_fractions_on_adversarial_inputs(name):
    k = LOGITS[name].shape[1]
    source = source_of(np.random.default_rng(6).normal(size=(37, k)), np.arange(37) % k)
    meta = conformance.example_meta_train()
    meta = type(meta)(source, meta.sets, meta.targets, meta.correct, meta.families)
    for prior in ("em", "bbse"):
        q = CottPrior(prior).fit(meta).prior_of(seen(LOGITS[name]))
        assert -1e-12 <= cott_under(q, seen(LOGITS[name]), 1.0, 0.5) <= 1 + 1e-12
