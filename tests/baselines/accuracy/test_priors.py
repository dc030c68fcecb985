"""Class priors against naive loops, linear algebra and general solvers, and on adversarial logits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from observations import LOGITS, seen, source_of
from scipy.optimize import lsq_linear
from scipy.special import softmax

from baselines.accuracy.priors import (
    LabelShift,
    bbse_prior,
    bias_corrected,
    calibrated,
    confusion,
    em_prior,
    predicted_shares,
    reweighted,
    source_prior,
)
from baselines.contract import conformance


def drawn(n=2000, k=4, skill=2.0, prior=None, seed=0):
    """Labels by a prior, and the log-posteriors (n, k) of a classifier that is calibrated under equal shares."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(k, size=n, p=prior)
    points = rng.normal(size=(n, k))
    points[np.arange(n), labels] += skill
    return skill * points, labels


def naive_em(p, pi, steps):
    q = list(pi)
    for _ in range(steps):
        totals = [0.0] * len(pi)
        for row in p:
            weighed = [row[c] * q[c] / pi[c] for c in range(len(pi))]
            for c in range(len(pi)):
                totals[c] += weighed[c] / sum(weighed)
        q = [total / len(p) for total in totals]
    return q


@pytest.mark.parametrize("seed", range(3))
def test_em_against_a_loop(seed):
    rng = np.random.default_rng(seed)
    p, pi = rng.dirichlet(np.full(4, 0.3), size=20), rng.dirichlet(np.full(4, 5.0))
    np.testing.assert_allclose(em_prior(p, pi), naive_em(p, pi, 1000), atol=1e-3)


@given(st.integers(2, 6), st.integers(1, 60), st.integers(0, 10_000))
def test_relabelled_classes_and_reordered_images_change_no_prior(k, n, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(40) % k
    logits = rng.normal(size=(40, k)) + 5 * np.eye(k)[labels]  # at chance, BBSE's solution is not unique
    target = rng.normal(size=(n, k)) * 3
    names, images = rng.permutation(k), rng.permutation(n)
    source, renamed = source_of(logits, labels), source_of(logits[:, names], np.argsort(names)[labels])
    pi, q = source_prior(source), source_prior(renamed)
    np.testing.assert_allclose(q, pi[names])
    p, p_renamed = softmax(target, axis=1), softmax(target[images][:, names], axis=1)
    np.testing.assert_allclose(em_prior(p_renamed, q), em_prior(p, pi)[names], atol=1e-6)
    new, old = target[images][:, names].argmax(axis=1), target.argmax(axis=1)
    np.testing.assert_allclose(bbse_prior(new, renamed), bbse_prior(old, source)[names], atol=1e-6)


def case(k=4):
    """A source and the predictions of a set with other class shares."""
    logits, labels = drawn(3000, k)
    target, _ = drawn(2000, k, prior=np.arange(1, k + 1) / sum(range(1, k + 1)), seed=1)
    return source_of(logits, labels), target.argmax(axis=1)


def test_bbse_where_the_exact_solution_is_a_prior():
    source, predicted = case()
    exact = np.linalg.solve(confusion(source), predicted_shares(predicted, 4)) * source_prior(source)
    assert exact.min() > 0
    np.testing.assert_allclose(bbse_prior(predicted, source), exact / exact.sum(), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bbse_against_bounded_least_squares(seed):
    source, _ = case()
    predicted = np.random.default_rng(seed).choice(4, size=50, p=[0.9, 0.1, 0, 0])
    weights = lsq_linear(confusion(source), predicted_shares(predicted, 4), (0, np.inf), tol=1e-14).x
    expected = weights * source_prior(source)
    np.testing.assert_allclose(bbse_prior(predicted, source), expected / expected.sum(), atol=1e-5)


def test_bias_corrected_gives_each_class_its_share_of_the_source():
    logits, labels = drawn(500, skill=1.0)
    source = source_of(logits * 3 + [2, 0, -1, 0], labels)
    parameters = bias_corrected(source)
    p = calibrated(source.observation, parameters)
    np.testing.assert_allclose(p.mean(axis=0), source_prior(source), atol=1e-4)
    assert parameters[0] == pytest.approx(1 / 3, rel=0.15)
    np.testing.assert_allclose(parameters[1:] - parameters[2], [-2 / 3, 0, 1 / 3, 0], atol=0.35)


def test_label_shift_tells_the_accuracy_when_only_the_class_prior_changed():
    logits, labels = drawn(5000, skill=1.0)
    target, truth = drawn(5000, skill=1.0, prior=[0.8, 0.2, 0, 0], seed=1)
    source = source_of(logits, labels)
    meta = conformance.example_meta_train()
    meta = type(meta)(source, meta.sets, meta.targets, meta.correct, meta.families)
    accuracy = (target.argmax(axis=1) == truth).mean()
    for prior in ("em", "bbse"):
        estimate = LabelShift(prior).fit(meta).predict([seen(target)])[0]
        assert estimate == pytest.approx(accuracy, abs=0.02)


def test_a_class_without_a_reference_image_counts_as_half_of_one():
    source = source_of(np.eye(3)[[0, 0, 1]], [0, 0, 1])
    np.testing.assert_allclose(source_prior(source), np.array([2, 1, 0.5]) / 3.5)


def test_posteriors_that_the_prior_rules_out_are_left_as_they_are():
    p = np.array([[1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_allclose(reweighted(p, np.full(2, 0.5), np.array([0.0, 1.0])), [[1, 0], [0, 1]])


@pytest.mark.parametrize("name", LOGITS)
def test_all_are_priors_on_adversarial_inputs(name):
    k = LOGITS[name].shape[1]
    source = source_of(np.random.default_rng(6).normal(size=(37, k)), np.arange(37) % k)
    target = seen(LOGITS[name])
    p = calibrated(target, bias_corrected(source))
    for q in (em_prior(p, source_prior(source)), bbse_prior(target.predicted, source)):
        assert q.min() >= 0
        assert q.sum() == pytest.approx(1)
