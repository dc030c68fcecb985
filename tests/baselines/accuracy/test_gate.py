"""The gate of gated: its loss, and which estimate it believes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import expit

from baselines.accuracy.gate import (
    WITH_REFEREE,
    WITHOUT_CLASSIFIER,
    WITHOUT_REFEREE,
    Gate,
    Scale,
    loss,
    votes_of,
)


def test_the_gate_learns_which_estimate_to_believe():
    rng = np.random.default_rng(0)
    numbers, truth = rng.normal(size=(200, 3)), rng.random(200)
    believed = numbers[:, 1] > 0
    estimates = {"cott": np.where(believed, truth, 0.5), "classifier": np.where(believed, 0.5, truth)}
    errors = {name: values - truth for name, values in estimates.items()}
    gate = Gate.fit(numbers, errors, WITHOUT_REFEREE)
    clear = np.abs(numbers[:, 1]) > 0.5
    assert np.abs(gate.mix(numbers, estimates) - truth)[clear].mean() < 0.05


def test_the_loss_is_the_papers_and_its_gradient_is_its_slope():
    rng = np.random.default_rng(0)
    rows, cott, median, weights = rng.normal(size=(30, 4)), *rng.normal(0, 0.1, (2, 30)), rng.normal(size=4)
    share = expit(rows @ weights)
    errors = [s * a + (1 - s) * b for s, a, b in zip(share, cott, median, strict=True)]
    expected = np.mean([(e**2 + 0.02**2) ** 0.5 for e in errors]) + 0.00075 * (weights[1:] ** 2).sum() / 4
    assert loss(weights, rows, cott, median)[0] == pytest.approx(expected)
    slope = check_grad(*(lambda w, i=i: loss(w, rows, cott, median)[i] for i in (0, 1)), weights)
    assert slope < 1e-6


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_answer_lies_between_cott_and_the_median_of_those_that_vote(seed, m):
    rng = np.random.default_rng(seed)
    estimates = {name: rng.random(m) for name in ("cott", "agreement", *WITH_REFEREE)}
    for votes in (WITH_REFEREE, WITHOUT_REFEREE, WITHOUT_CLASSIFIER):
        known = {name: estimates[name] for name in ("cott", *votes)}
        found = Gate(rng.normal(size=3) * 10, votes).mix(rng.normal(size=(m, 3)), known)
        median = np.median([estimates[name] for name in votes], axis=0)
        ends = np.sort([estimates["cott"], median], axis=0)
        assert (ends[0] - 1e-12 <= found).all()
        assert (found <= ends[1] + 1e-12).all()


def test_signs_are_cut_three_deviations_from_the_mean():
    signs = np.array([[0.0, 5.0], [2.0, 5.0]])
    rows = Scale.of(signs).rows(np.array([[2.0, 5.0], [9.0, 4.0]]))
    assert rows.tolist() == [[1, 1, 0], [1, 3, -3]]


def test_a_poor_regression_of_the_classifier_has_no_vote():
    errors = {name: np.array([0.1, -0.1, 0.3]) for name in ("cott", "agreement", *WITH_REFEREE)}
    assert votes_of(errors) == votes_of({**errors, "classifier": np.array([0.19, -0.19, 9])}) == WITH_REFEREE
    assert votes_of({**errors, "classifier": np.array([0.21, -0.21, 0.1])}) == WITHOUT_CLASSIFIER
    assert votes_of({name: errors[name] for name in ("cott", "classifier")}) == WITHOUT_REFEREE
