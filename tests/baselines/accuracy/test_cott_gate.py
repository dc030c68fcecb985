"""The gate between two class priors: moments against weighted ones, and what it tells apart."""

import numpy as np
import pytest

from baselines.accuracy.cott_gate import CottGate, explained, moments_under
from baselines.contract import conformance
from starter.observing.observation import Moments


def moments(rows, weights=None):
    covariance = np.cov(rows, rowvar=False, aweights=weights, ddof=0)
    return Moments(np.average(rows, axis=0, weights=weights), covariance, len(rows))


def blobs(n=3000, k=4, d=6, seed=0):
    """Features (n, d) of k classes, and the classes."""
    rng = np.random.default_rng(seed)
    centres, labels = np.random.default_rng(7).normal(size=(k, d)) * 4, rng.integers(k, size=n)
    return centres[labels] + rng.normal(size=(n, d)), labels


def test_reweighted_moments_against_weighted_rows():
    rows, labels = blobs()
    q = np.array([0.5, 0.3, 0.2, 0.0])
    weights = (q / (np.bincount(labels) / len(labels)))[labels]
    found, expected = moments_under(q, rows, labels), moments(rows, weights)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-9)


def test_a_class_without_an_image_is_left_out():
    rows, labels = blobs()
    found = moments_under(np.array([0.4, 0.0, 0.0, 0.0, 0.6]), rows, labels)
    np.testing.assert_allclose(found.mean, rows[labels == 0].mean(axis=0), atol=1e-9)
    assert np.isfinite(moments_under(np.eye(5)[4], rows, labels).mean).all()


def test_a_change_of_prior_is_explained_and_a_shift_of_features_is_not():
    rows, labels = blobs()
    few, plain = (moments_under(np.array(q), rows, labels) for q in ([1.0, 0, 0, 0], [0.25] * 4))
    new, truth = blobs(seed=1)
    assert explained(moments(new[truth == 0]), plain, few) > 0.98
    collapsed = moments(new + 0.5 * (new[truth == 0].mean(axis=0) - new) + 5)
    assert explained(collapsed, plain, few) < 0.5
    assert explained(plain, plain, plain) == 0


def test_the_estimate_lies_between_the_two():
    from baselines import Direct
    from baselines.accuracy.cot import CottPrior, cott

    meta = conformance.example_meta_train()
    gate, own, plain = (each.fit(meta).predict(meta.sets) for each in (CottGate(), CottPrior(), Direct(cott)))
    assert (gate >= np.minimum(own, plain) - 1e-12).all()
    assert (gate <= np.maximum(own, plain) + 1e-12).all()


@pytest.mark.parametrize(
    ("prior", "needs"), [("em", ("features", "moments")), ("referee", ("features", "moments", "referee"))]
)
def test_needs_follow_the_prior(prior, needs):
    assert CottGate(prior).needs == needs
