"""Ranks, intervals and rank groups against SciPy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leaderboard.standings import (
    MOST,
    Standing,
    competition_ranks,
    rank_groups,
    standings,
    validation_report,
)
from submission.metrics import Score
from submission.predictions import write_predictions
from submission.scoretable import Families, score_validation
from submission.scoring import validate

ROWS = 20


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=[seed, 0]))


def singles(count):
    return Families.of([str(i) for i in range(count)], ["group"] * count)


def team(number, name, rmse, errors=None):
    errors = np.full(ROWS, rmse) if errors is None else errors
    return Standing(name, "team", Score(rmse, rmse / 2, 0.5, 10, 0.25), errors, number, submissions=number)


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
    assert math.isnan(ranked(team(1, "a", 5.0))[0].skill)
    lines = [baseline("fd", 0.96), baseline("constant", 1.04)]
    found = [standings(lines, singles(ROWS), 1, exact)[0].skill for exact in (False, True)]
    assert found == pytest.approx([0, 1 - (0.96 / 1.04) ** 2])


def test_numbers_are_published_rounded_and_intervals_hold_the_score():
    made = []
    for number in range(1, 30):
        errors = rng(number).normal(0, 5, ROWS)
        made.append(team(number, f"team {number}", math.sqrt(np.mean(errors**2)), errors))
    for line in ranked(*made):
        assert line.score == line.score.rounded(2)
        assert line.low < line.score.rmse < line.high
        assert (line.low, line.high) == pytest.approx((round(line.low, 1), round(line.high, 1)), abs=1e-12)


@pytest.mark.parametrize(("rows", "families", "groups"), [(9, 9, ()), (20, 5, ()), (20, 9, (1,))])
def test_few_rows_or_families_have_no_interval(rows, families, groups):
    few = Families.of([str(i % families) for i in range(rows)], ["group"] * rows)
    (line,) = standings([team(1, "a", 5.0, np.full(rows, 5.0))], few, 2)
    assert math.isnan(line.low)
    assert line.rank_groups == groups


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_ranks_are_those_of_scipy(values):
    rmse = np.array(values) / 10
    expected = stats.rankdata(rmse, method="min").tolist()
    assert competition_ranks(rmse, 1).tolist() == expected
    assert competition_ranks(rmse + 0.001, 2).tolist() == expected


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


def test_a_file_is_scored_on_the_validation_sets_beside_the_constant(taught, tmp_path):
    """Accuracies 0.1 0.2 (cnn), 0.3 0.5 (vit:b); sets of 100 and 200 images. The constant: 0.6 and 0.15."""
    path = tmp_path / "mine.csv"
    write_predictions(path, dict(zip(taught.ids("val"), (0.2, 0.2, 0.3, 0.7), strict=True)))
    constant = math.sqrt((50**2 + 40**2 + 15**2 + 35**2) / 4)
    rmse = math.sqrt((10**2 + 0 + 0 + 20**2) / 4)
    floor = 100 * math.sqrt(np.mean([0.09 / 100, 0.16 / 200, 0.21 / 100, 0.25 / 200]))
    found = {"mine": validate(taught, path, "val")}
    title, _, mine, other, noise, *_, told = validation_report(taught, found).splitlines()
    assert title == "accuracy on 2 validation sets"
    assert mine.split() == ["mine", f"{rmse:.2f}", f"{1 - (rmse / constant) ** 2:.2f}", "7.50"]
    assert other.split() == ["constant", f"{constant:.2f}", "0.00", "35.00"]
    assert noise.split() == ["noise", "floor", f"{floor:.2f}"]
    assert told == "No pair of methods is told apart: that needs 10 sets of 6 families."
    assert score_validation(taught, path).rmse == pytest.approx(rmse)
