import csv
import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from leaderboard.board.statistics import Families
from leaderboard.board.table import (
    BEFORE,
    COLUMNS,
    DETAILS,
    P_BOUNDS,
    Board,
    Contender,
    Standing,
    leaderboard_csv,
    shown_interval,
    shown_shake_up,
    shown_share,
    standings,
)
from submission import Score

ROWS = 20
FAMILIES = Families.of([f"family {i}" for i in range(ROWS)], ["group"] * ROWS)
DATE = "2026-01-01 08:09:10"


def team(number: int, name: str, rmse: float, errors: float | np.ndarray | None = None) -> Contender:
    errors = np.full(ROWS, rmse if errors is None else errors) if np.ndim(errors) == 0 else errors
    assert isinstance(errors, np.ndarray)
    return Contender(name, "team", Score(rmse, rmse / 2, 0.5, 10), errors, number, DATE, number)


def baseline(name: str, rmse: float, spearman: float = math.nan) -> Contender:
    return Contender(name, "baseline", Score(rmse, 0.8 * rmse, spearman, 10), np.full(ROWS, rmse))


def lines(*contenders: Contender, decimals: int = 2) -> tuple[Standing, ...]:
    return standings(contenders, FAMILIES, decimals)


def ranks(*contenders: Contender) -> list[tuple[int | None, str]]:
    return [(line.rank, line.name) for line in lines(*contenders)]


def text(standings: tuple[Standing, ...], noise_floor: float = 1.5, part: str = "public") -> str:
    return leaderboard_csv(Board(part, standings, noise_floor), decimals=2)


def test_equal_displayed_scores_share_a_rank_the_earlier_first() -> None:
    found = ranks(team(1, "d", 9.0), team(3, "b", 3.996), team(2, "c", 4.004), team(4, "a", 2.0))
    assert found == [(1, "a"), (2, "c"), (2, "b"), (4, "d")]
    assert ranks() == []


def test_baselines_stand_by_their_score_without_a_rank() -> None:
    kit = (baseline("constant", 10.0), baseline("fd", 5.0))
    found = lines(*kit, team(1, "a", 5.0), team(2, "b", 2.5), team(3, "c", 20.0))
    assert [(line.rank, line.name) for line in found] == [
        (1, "b"),
        (None, "fd"),
        (2, "a"),
        (None, "constant"),
        (3, "c"),
    ]
    assert [line.skill for line in found] == [0.9375, 0.75, 0.75, 0.0, -3.0]
    assert [line.best is None for line in found] == [line.rank is None for line in found]


def test_without_the_constant_skill_is_unknown() -> None:
    assert math.isnan(lines(team(1, "a", 5.0))[0].skill)


def test_scores_are_published_rounded_only() -> None:
    (line,) = lines(team(1, "a", 4.98765), decimals=1)
    assert line.score == Score(5.0, 2.5, 0.5, 10)


def test_intervals_are_widened_to_one_decimal_less_and_hold_the_score() -> None:
    rng = np.random.default_rng(0)
    made = []
    for number in range(1, 30):
        errors = rng.normal(0, 5, ROWS)
        made.append(team(number, f"team {number}", math.sqrt(np.mean(errors**2)), errors))
    for line in lines(*made):
        assert line.low < line.score.rmse < line.high
        assert line.low == pytest.approx(round(line.low, 1), abs=1e-12)
        assert line.high == pytest.approx(round(line.high, 1), abs=1e-12)
        assert re.fullmatch(r"\d+\.\d–\d+\.\d", shown_interval(line, 2))
        assert line.best is not None
        assert line.worst is not None
        assert line.rank is not None
        assert 1 <= line.best <= line.rank <= line.worst <= 29
        assert line.first in [i / 10 for i in range(11)]
        assert math.isnan(line.above) == (line.rank == 1)
        assert line.above in P_BOUNDS or line.rank == 1


def test_ranks_by_errors_that_are_all_alike_are_certain() -> None:
    first, second = lines(team(1, "a", 2.0), team(2, "b", 3.0))
    assert (first.best, first.worst, first.first) == (1, 1, 1.0)
    assert (second.best, second.worst, second.first, second.above) == (2, 2, 0.0, 0.01)


def test_two_equal_submissions_are_told_apart_by_nothing() -> None:
    errors = np.random.default_rng(1).normal(0, 5, ROWS)
    rmse = math.sqrt(np.mean(errors**2))
    first, second = lines(team(1, "a", rmse, errors), team(2, "b", rmse, errors))
    assert first.rank == second.rank == 1
    assert (first.best, first.worst, first.first) == (second.best, second.worst, second.first) == (1, 1, 1.0)
    assert second.above == 1.0


@pytest.mark.parametrize(("rows", "families"), [(9, 9), (20, 5)])
def test_few_rows_or_families_have_no_interval(rows: int, families: int) -> None:
    few = Families.of([f"family {i % families}" for i in range(rows)], ["group"] * rows)
    line = standings([replace(team(1, "a", 5.0), errors=np.full(rows, 5.0))], few, 2)[0]
    assert math.isnan(line.low)
    assert math.isnan(line.first)
    assert line.best is line.worst is None
    assert (shown_interval(line, 2), shown_share(line.first)) == ("", "")


def test_a_submission_whose_file_is_lost_keeps_its_score_and_rank() -> None:
    errors = np.random.default_rng(1).normal(0, 5, ROWS)
    found = lines(team(1, "a", 4.0, errors), team(2, "b", 4.5, np.nan), team(3, "c", 5.0, errors + 1))
    assert [(line.rank, math.isnan(line.low), line.best is None) for line in found] == [
        (1, False, False),
        (2, True, True),
        (3, False, False),
    ]
    assert math.isnan(found[2].above)


def test_the_csv_has_kaggles_columns_then_ours() -> None:
    found = lines(team(1, "a", 5.0), team(2, "b", 6.0), baseline("constant", 10.0))
    assert text(found) == (
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,Kind,MAE,Spearman,Skill,NoiseFloor,"
        "ScoreLow,ScoreHigh,RankLow,RankHigh,FirstShare,AboveP,Groups\n"
        f"1,tca978112ca,a,{DATE},5.00,1,team,2.50,0.50,0.75,1.50,3.7,7.6,1,1,1.0,,1\n"
        f"2,t3e23e81600,b,{DATE},6.00,2,team,3.00,0.50,0.64,1.50,4.4,9.1,2,2,0.0,0.01,2\n"
        ",,constant,,10.00,,baseline,8.00,,0.00,1.50,7.4,15.1,,,,0.01,3\n"
    )


def test_while_it_runs_there_are_ranks_scores_and_counts_alone() -> None:
    untold = replace(team(3, "c", math.nan), submissions=7)
    found = standings([team(1, "a", 5.0), team(2, "b", 6.0), untold, baseline("constant", 10.0)], None, 2)
    assert [line.rank for line in found] == [1, 2, None, None]
    assert all(math.isnan(x) for line in found for x in (line.low, line.first, line.above, line.skill))
    assert leaderboard_csv(Board("public", found, detailed=False), decimals=2) == (
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,Kind\n"
        f"1,tca978112ca,a,{DATE},5.00,1,team\n"
        f"2,t3e23e81600,b,{DATE},6.00,2,team\n"
        ",,constant,,10.0,,baseline\n"
        f",t2e7d2c03a9,c,{DATE},,7,team\n"
    )


def test_the_private_csv_has_public_score_rank_and_shake_up() -> None:
    before = lines(team(1, "a", 5.0), team(2, "b", 6.0))
    after = [
        replace(team(1, "a", 7.0), public=before[0]),
        replace(team(2, "b", 6.5), public=before[1]),
        baseline("fd", 6.0),
    ]
    final = lines(*after)
    read = list(csv.DictReader(io.StringIO(text(final, part="private"))))
    assert tuple(read[0]) == (*COLUMNS, *DETAILS, *BEFORE)
    assert [(row["TeamName"], row["Rank"], row["PublicScore"], row["PublicRank"]) for row in read] == [
        ("fd", "", "", ""),
        ("b", "1", "6.00", "2"),
        ("a", "2", "5.00", "1"),
    ]
    assert [row["ShakeUp"] for row in read] == ["", "1", "-1"]
    assert [shown_shake_up(line) for line in final] == ["", "+1", "-1"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "\nx"])
def test_names_that_a_spreadsheet_would_run_are_guarded(name: str) -> None:
    found = lines(team(1, "+sum(A1)", 5.0), baseline(name, 7.0, -0.25))
    read = list(csv.DictReader(io.StringIO(text(found), newline="")))
    assert [line["TeamName"] for line in read] == ["'+sum(A1)", "'" + re.sub(r"^\s", "\ufffd", name)]
    assert read[1]["Spearman"] == "-0.25"
    assert tuple(read[0]) == (*COLUMNS, *DETAILS)


def test_no_negative_zero_is_shown() -> None:
    assert text(lines(baseline("a", 1.0, -0.001))).splitlines()[1].split(",")[8] == "0.00"
