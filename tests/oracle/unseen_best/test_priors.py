"""The nearest class prior that leaves room, and copies with few classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from oracle.unseen_best.priors import few_classes, nearest_prior, sure

SHARES = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(np.array)
REFERENCE = np.array([0.4, 0.3, 0.2, 0.1])


def test_nothing_known_leaves_the_reference():
    np.testing.assert_allclose(nearest_prior(np.zeros(4), REFERENCE), REFERENCE)


def test_what_is_known_of_one_class_leaves_the_ratios_of_the_others():
    prior = nearest_prior(np.array([0.0, 0.0, 0.0, 0.6]), REFERENCE)
    np.testing.assert_allclose(prior, [0.4 * 4 / 9, 0.4 * 3 / 9, 0.4 * 2 / 9, 0.6], rtol=1e-9)


@given(SHARES, st.floats(0, 1))
def test_a_prior_that_leaves_room(shares, total):
    least = total * shares / max(shares.sum(), 1e-9) if shares.sum() > 1e-9 else np.zeros(4)
    prior = nearest_prior(least, REFERENCE)
    assert prior.sum() == pytest.approx(1)
    assert (prior >= least - 1e-9).all()


def test_it_is_the_nearest_by_kullback_leibler():
    least = np.array([0.05, 0.5, 0.0, 0.2])
    found = minimize(
        lambda p: (REFERENCE * np.log(REFERENCE / p)).sum(),
        np.full(4, 0.25),
        bounds=[(max(low, 1e-6), 1) for low in least],
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        tol=1e-12,
    )
    np.testing.assert_allclose(nearest_prior(least, REFERENCE), found.x, atol=1e-4)


def test_more_than_there_is_room_for_is_scaled():
    np.testing.assert_allclose(nearest_prior(np.array([1.0, 0.5, 0.0, 0.0]), REFERENCE), [2 / 3, 1 / 3, 0, 0])


def test_sure_images_by_class():
    predicted, probabilities = np.array([0, 0, 2, 1]), np.array([0.6, 1.0, 0.8, 0.0])
    assert sure(predicted, probabilities, 0.5, 4).tolist() == [0.5, 0, 0.25, 0]
    assert sure(predicted, probabilities, 0.7, 4).tolist() == [0.25, 0, 0.25, 0]
    assert sure(predicted, probabilities, 1.0, 4).tolist() == [0, 0, 0, 0]


def test_copies_have_few_to_all_classes():
    labels = np.repeat(np.arange(5), 40)
    rng = np.random.default_rng(0)
    counts = [len(np.unique(labels[few_classes(labels, rng)])) for _ in range(200)]
    assert (min(counts), max(counts)) == (1, 5)
    assert len(few_classes(labels, rng)) == 100
