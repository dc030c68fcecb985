"""Paired tests against SciPy, by hand, and where a rare loss outweighs many gains."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.pairs import (
    ENOUGH,
    PAIR_DRAWS,
    groups_not_apart,
    holm,
    paired_rank_groups,
    sign_test,
    skew_test,
    tail_test,
)
from submission.scoretable import Families


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=[seed, 0]))


def singles(count):
    return Families.of([str(i) for i in range(count)], ["group"] * count)


@settings(max_examples=25)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_the_paired_test_is_scipys_exact_permutation_test(differences):
    values = np.round(np.array(differences), 3)
    exact = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    found = sign_test(np.stack([values, 0 * values]), singles(len(values)), rng())
    assert found[0, 1] == pytest.approx(exact.pvalue)


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
        pair = values[[one, other]][:, ~np.isnan(values[one] + values[other])]
        alone = sign_test(pair, singles(pair.shape[1]), rng(6))[0, 1]
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


def test_skewness_is_removed_as_halls_formula_says():
    """By family: rows of unequal families are summed, and missing ones left out."""
    values = rng(11).exponential(size=(3, 80)) * [[1.0], [1.4], [1.0]]
    values[1, :4] = np.nan
    families = Families.of([str(i // 2) for i in range(80)], ["group"] * 80)
    found = tail_test(values, families)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        sums = [np.nansum(values[one, i : i + 2] - values[other, i : i + 2]) for i in range(0, 80, 2)]
        sums = np.array(sums[2:] if 1 in (one, other) else sums)
        t = stats.ttest_1samp(sums, 0).statistic
        skewness = ((sums - sums.mean()) ** 3).mean() / sums.std(ddof=1) ** 3 / len(sums) ** 0.5
        even = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
        assert found[one, other] == pytest.approx(2 * stats.norm.sf(max(even * np.sign(t), 0)))
    assert skew_test(np.ones((1, 30)), np.ones((1, 30), dtype=bool)) == [0]


def apart(values):
    """Whether two lines have no rank group in common."""
    return len(set(paired_rank_groups(values, singles(values.shape[1]), rng()))) == 2


@pytest.mark.parametrize("count", [10, ENOUGH - 1, ENOUGH])
def test_a_difference_that_an_unseen_tenth_could_outweigh_is_none_of_few_families(count):
    base = rng(12).uniform(40, 60, count)
    for gain, large in ((5.0, False), (9.0, True)):  # a ninth of the largest, 69 or less, is below 8
        values = np.stack([base + gain, base])
        assert apart(values) == apart(-values) == (large or count == ENOUGH)
    wins = np.zeros((2, ENOUGH - 1))
    wins[0, :6] = 1  # of scores of 0 and 1 the six that the sign test needs are above a ninth of 28
    assert apart(wins)


def test_gains_that_two_losses_nearly_outweigh_are_no_difference():
    losses = np.where(np.arange(50) < 2, -0.18, 0.02)
    values = np.stack([0.5 + losses, np.full(50, 0.5)])
    assert sign_test(values, singles(50), rng())[0, 1] < 0.05
    assert not apart(values)


@pytest.mark.parametrize("count", [10, 24, 29, 50])
def test_gains_that_a_rare_loss_outweighs_are_seldom_taken_for_a_difference(count):
    """Signs alone take .35, .08, .19 and .12 of these for one."""
    draw, wrong = rng(13), []
    for _ in range(100):
        base = draw.uniform(0.4, 0.6, (10, count))
        values = np.vstack([base, base + np.where(draw.random((10, count)) < 0.1, -0.18, 0.02)])
        wrong.append((tail_test(values, singles(count))[np.arange(10), np.arange(10, 20)] <= 0.05).mean())
    assert np.mean(wrong) <= 0.07
