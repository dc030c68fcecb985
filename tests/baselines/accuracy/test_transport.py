"""The compiled transport against assignment, where one unit goes from each row to each column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from baselines.accuracy.transport import augmented_plan


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(2, 40), st.integers(0, 10_000), st.sampled_from([2, 1000]))
def test_it_gains_what_the_best_assignment_gains(m: int, k: int, seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    gain = rng.integers(0, levels + 1, size=(m, k)) / levels
    demand = np.bincount(rng.integers(k, size=m), minlength=k)
    plan = augmented_plan(gain, np.ones(m, np.int64), demand, rng.choice([0, 1], size=k) * rng.normal(size=k))
    np.testing.assert_array_equal(plan.sum(axis=1), 1)
    np.testing.assert_array_equal(plan.sum(axis=0), demand)
    assert plan.min() >= 0
    columns = gain[:, np.repeat(np.arange(k), demand)]
    best = columns[linear_sum_assignment(columns, maximize=True)].sum()
    assert (gain * plan).sum() == pytest.approx(best, abs=1e-9)


def test_the_order_of_rows_and_the_first_prices_change_nothing_without_ties() -> None:
    rng = np.random.default_rng(0)
    gain, supply = softmax(rng.normal(size=(60, 9)), axis=1), rng.integers(1, 5, size=60)
    demand = rng.multinomial(supply.sum(), np.full(9, 1 / 9))
    order = rng.permutation(60)
    plan, price = augmented_plan(gain, supply, demand, np.zeros(9)), rng.normal(size=9)
    np.testing.assert_array_equal(augmented_plan(gain[order], supply[order], demand, price), plan[order])
    worth = gain - price  # by the prices at the end, every row goes where this is largest
    np.testing.assert_allclose(np.where(plan > 0, worth - worth.max(axis=1, keepdims=True), 0), 0, atol=1e-12)


def test_what_costs_nothing_is_left_alone() -> None:
    plan = augmented_plan(np.eye(4), np.array([3, 0, 2, 1]), np.array([3, 0, 2, 1]), np.zeros(4))
    np.testing.assert_array_equal(plan, np.diag([3, 0, 2, 1]))
