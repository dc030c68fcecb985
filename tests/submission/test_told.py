import math

import numpy as np
import pytest

from submission.told import BIT, KEPT, Knowledge, coarse_step, left_after


def test_the_posterior_is_that_of_the_equations() -> None:
    """Against the textbook formula, with labels and squares as the unknown."""
    rng = np.random.default_rng(0)
    known, rows, error = Knowledge(6.0, 9), 9, 6.0
    prior = np.diag(np.concatenate([np.full(rows, error**2), np.full(rows, 2 * error**4)]))
    changes, noise = rng.normal(0, 8, (4, rows)), []
    for change in changes:
        score = math.hypot(error, float(np.sqrt(np.mean(change**2))))
        known.number(change, score, 0.1)
        noise.append((2 * rows * score * 0.1) ** 2 / 12)
    design = np.concatenate([-2 * changes, np.ones((4, rows))], axis=1)
    gain = prior @ design.T @ np.linalg.inv(design @ prior @ design.T + np.diag(noise))
    expected = np.sqrt(np.trace((prior - gain @ design @ prior)[:rows, :rows]) / rows)
    assert known.error() == pytest.approx(expected)


@pytest.mark.parametrize("numbers", [1, 3, 7])
def test_exact_numbers_leave_the_root_of_the_directions_that_are_left(numbers: int) -> None:
    assert left_after(numbers, 14, 5.7, 1e-6) == pytest.approx(5.7 * math.sqrt(1 - numbers / 14), rel=1e-3)


def test_the_error_it_tells_of_is_that_of_the_best_guess() -> None:
    """Labels drawn from the prior, found by least squares from rounded scores: never better than is said."""
    rng, rows, error = np.random.default_rng(1), 20, 6.0
    changes = 10 * rng.choice([-1.0, 1.0], size=(12, rows))
    missed = []
    for _ in range(200):
        labels = rng.normal(0, error, rows)
        scores = np.round(np.sqrt(np.mean((np.vstack([np.zeros(rows), changes]) - labels) ** 2, axis=1)), 2)
        right = rows * (scores[0] ** 2 - scores[1:] ** 2 + np.mean(changes**2, axis=1)) / 2
        found = np.linalg.lstsq(changes, right, rcond=None)[0]
        missed.append(np.mean((found - labels) ** 2))
    known = Knowledge(error, rows)
    known.number(np.zeros(rows), error, 0.01)
    for change in changes:
        known.number(change, math.hypot(error, 10), 0.01)
    assert known.error() == pytest.approx(math.sqrt(np.mean(missed)), rel=0.05)


def test_a_bit_leaves_the_share_of_half_a_normal_distribution() -> None:
    known = Knowledge(5.0, 1)
    known.bit(np.array([3.0]), np.zeros(1))
    assert known.error() == pytest.approx(5 * math.sqrt(BIT))
    halves = np.abs(np.random.default_rng(0).normal(0, 5, 200_000))
    assert known.error() == pytest.approx(halves.std(), rel=0.01)


def test_what_is_told_twice_adds_nothing() -> None:
    known, change = Knowledge(5.0, 10), np.linspace(-5, 5, 10)
    known.number(change, 6.0, 1e-4)
    once = known.error()
    known.number(change, 6.0, 1e-4)
    assert known.error() == pytest.approx(once, rel=1e-6)
    assert known.told == 2


def test_a_copy_is_apart() -> None:
    known = Knowledge(5.0, 10)
    tried = known.copy()
    tried.number(np.ones(10), 5.0, 0.1)
    assert known.error() == 5.0
    assert (known.told, tried.told) == (0, 1)


def test_rows_that_are_not_scored_stay_unknown() -> None:
    known, scored = Knowledge(5.0, 4), np.array([True, True, False, False])
    known.number(np.array([9.0, -9.0, 9.0, 9.0]), 9.0, 0.01, scored)
    assert known.error(~scored) == 5.0
    assert known.error(scored) < 5 * KEPT


@pytest.mark.parametrize(("rows", "step"), [(10, 2.0), (14, 2.0), (30, 1.0), (90, 0.5), (3000, 0.1)])
def test_the_coarse_step_is_a_standard_error(rows: int, step: float) -> None:
    assert coarse_step(rows, 5.7) == step
    assert 5.7 / math.sqrt(2 * rows) <= step < 2.5 * 5.7 / math.sqrt(2 * rows)


def test_a_ladder_tells_less_than_scores() -> None:
    assert left_after(20, 20, 6, 0.01) < 0.1 < left_after(20, 20, 6, 0.01, ladder=True) < 6 * 0.8
