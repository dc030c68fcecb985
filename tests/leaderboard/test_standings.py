"""Ranks, intervals and paired tests against SciPy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.standings import (
    MOST,
    PAIR_DRAWS,
    Standing,
    competition_ranks,
    groups_not_apart,
    holm,
    rank_groups,
    rank_intervals,
    sign_test,
    standings,
)
from submission.metrics import Score
from submission.scoretable import Families

ROWS = 20


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=[seed, 0]))


def singles(count):
    return Families.of([str(i) for i in range(count)], ["group"] * count)


def team(number, name, rmse, errors=None):
    errors = np.full(ROWS, rmse) if errors is None else errors
    return Standing(name, "team", Score(rmse, rmse / 2, 0.5, 10), errors, number, submissions=number)


def baseline(name, rmse):
    return Standing(name, "baseline", Score(rmse, 0.8 * rmse, math.nan, 10), np.full(ROWS, rmse))


def ranked(*lines, decimals=2):
    return standings(lines, singles(ROWS), decimals)


def test_equal_displayed_scores_share_a_rank_the_earlier_first():
    found = ranked(team(1, "d", 9.0), team(3, "b", 3.996), team(2, "c", 4.004), team(4, "a", 2.0))
    assert [(line.rank, line.name) for line in found] == [(1, "a"), (2, "c"), (2, "b"), (4, "d")]
    assert ranked() == ()


def test_methods_stand_below_the_teams_without_a_rank():
    kit = (baseline("constant", 10.0), baseline("fd", 5.0))
    found = ranked(*kit, team(1, "a", 5.0), team(2, "b", 2.5), team(3, "c", 20.0))
    assert [(line.rank, line.name, line.skill) for line in found] == [
        (1, "b", 0.9375),
        (2, "a", 0.75),
        (3, "c", -3.0),
        (None, "fd", 0.75),
        (None, "constant", 0.0),
    ]
    assert [(line.best, line.worst) for line in found] == [*[(1, 1), (2, 2), (3, 3)], *[(1, 1), (2, 2)]]
    assert math.isnan(ranked(team(1, "a", 5.0))[0].skill)


def test_numbers_are_published_rounded_and_intervals_hold_the_score():
    made = []
    for number in range(1, 30):
        errors = rng(number).normal(0, 5, ROWS)
        made.append(team(number, f"team {number}", math.sqrt(np.mean(errors**2)), errors))
    for line in ranked(*made):
        assert line.score == line.score.rounded(2)
        assert line.low < line.score.rmse < line.high
        assert (line.low, line.high) == pytest.approx((round(line.low, 1), round(line.high, 1)), abs=1e-12)
        assert line.best is not None
        assert line.worst is not None
        assert line.rank is not None
        assert 1 <= line.best <= line.rank <= line.worst <= 29


def test_errors_that_are_all_alike_leave_nothing_open_and_equal_ones_everything():
    first, second = ranked(team(1, "a", 2.0), team(2, "b", 3.0))
    assert (first.best, first.worst) == (1, 1)
    assert (second.best, second.worst) == (2, 2)
    errors = rng(1).normal(0, 5, ROWS)
    twins = ranked(*(team(number, str(number), math.sqrt(np.mean(errors**2)), errors) for number in (1, 2)))
    assert [(line.rank, line.best, line.worst) for line in twins] == [(1, 1, 1)] * 2


@pytest.mark.parametrize(("rows", "families"), [(9, 9), (20, 5)])
def test_few_rows_or_families_have_no_interval(rows, families):
    few = Families.of([str(i % families) for i in range(rows)], ["group"] * rows)
    (line,) = standings([team(1, "a", 5.0, np.full(rows, 5.0))], few, 2)
    assert math.isnan(line.low)
    assert line.best is line.worst is None
    assert line.rank_groups == ()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_ranks_are_those_of_scipy(values):
    rmse = np.array(values) / 10
    expected = stats.rankdata(rmse, method="min").tolist()
    assert competition_ranks(rmse, 1).tolist() == expected
    assert competition_ranks(np.stack([rmse, rmse + 0.001]), 2).tolist() == [expected] * 2


def test_draws_keep_the_size_of_every_stratum():
    """Three families of x and two of y are drawn each time: without x's spread, ranks are certain."""
    families = Families.of(list("abcde"), list("xxxyy"))
    sums = np.array([[5.0, 5.0, 5.0, 100.0, 100.0], [6.0, 6.0, 6.0, 100.0, 100.0]])
    assert rank_intervals(sums, families, 2, rng()) == [(1, 1), (2, 2)]
    sums[0, :3] = 1.0, 1.0, 14.0
    assert rank_intervals(sums, families, 2, rng()) == [(1, 2), (1, 2)]


@settings(max_examples=25)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_the_paired_test_is_scipys_exact_permutation_test(differences):
    values = np.round(np.array(differences), 3)
    expected = stats.permutation_test(
        (values, np.zeros_like(values)),
        lambda x, y: np.sum(x - y),
        permutation_type="samples",
        n_resamples=np.inf,
    ).pvalue
    assert sign_test(np.stack([values, 0 * values]), singles(len(values)), rng())[0, 1] == pytest.approx(
        expected
    )


def test_with_many_families_the_paired_test_is_near_the_t_test():
    differences = rng(3).normal(0.3, 1, (20, 60))
    expected = stats.ttest_1samp(differences, 0, axis=1).pvalue
    against = [np.vstack([np.zeros(60), differences + shift]) for shift in (0, 100)]
    near, far = (sign_test(values, singles(60), rng())[0, 1:] for values in against)
    assert np.abs(near - expected).max() < 0.06
    # Beyond what draws can show: at most the bound, and not below the least p-value of 60 signs.
    assert 2.0**-59 <= far.min() <= far.max() < 1e-12 < 1 / PAIR_DRAWS


@pytest.mark.parametrize("count", [9, 40])
def test_with_gaps_a_pair_is_tested_on_the_rows_of_both(count):
    values = rng(4).normal([[0.0], [0.0], [0.5], [0.0]], 1, (4, count))
    values[rng(5).random(values.shape) < 0.2] = np.nan
    found = sign_test(values, singles(count), rng())
    for one, other in ((0, 1), (0, 2), (1, 3), (2, 3)):
        shared = ~np.isnan(values[one] + values[other])
        pair = values[[one, other]][:, shared]
        alone = sign_test(pair, singles(int(shared.sum())), rng(6))[0, 1]
        assert found[one, other] == pytest.approx(alone, abs=1e-9 if count == 9 else 0.02)


@given(st.lists(st.floats(0, 1), max_size=9))
def test_holms_adjustment_is_its_definition(values):
    for value, found in zip(values, holm(np.array(values)), strict=True):
        below = sorted(other for other in values if other <= value)
        steps = [(len(values) - rank) * other for rank, other in enumerate(below)]
        assert found == pytest.approx(min(max(steps), 1.0))


def test_a_pair_is_apart_exactly_where_no_group_has_both():
    draw = rng(7)
    for lines in range(12):
        apart = np.triu(draw.random((lines, lines)) < draw.random(), 1)
        groups = [set(mine) for mine in groups_not_apart(apart)]
        shared = [[not one.isdisjoint(other) for other in groups] for one in groups]
        assert np.array_equal(~(apart | apart.T), np.array(shared, dtype=bool).reshape(lines, lines))
        sets = [{i for i, mine in enumerate(groups) if number in mine} for number in set().union(*groups)]
        assert not any(one < other for one in sets for other in sets)


def test_lines_far_apart_share_no_group_and_twins_one():
    base = rng(8).normal(0, 5, 40)
    errors = [base, base + rng(9).normal(0, 0.1, 40), base + 20, base + 60]
    lines = [team(number, str(number), number, each) for number, each in enumerate(errors)]
    assert rank_groups(lines, singles(40)) == [(1,), (1,), (2,), (3,)]
    # Of six families no pair of many can be told apart: the least p-value is 2 / 64.
    few = Families.of([str(i % 6) for i in range(40)], ["group"] * 40)
    assert rank_groups(lines, few) == [(1,)] * 4


def test_lines_beyond_the_first_have_no_group():
    errors = rng(10).normal(0, 5, (MOST + 2, ROWS))
    groups = rank_groups([team(i, str(i), i, each) for i, each in enumerate(errors)], singles(ROWS))
    assert [i for i, mine in enumerate(groups) if not mine] == [MOST, MOST + 1]
