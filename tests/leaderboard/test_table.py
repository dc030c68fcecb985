import csv
import io
import math
import re
from datetime import datetime, timezone

import pytest

from leaderboard.ledger import Entry
from leaderboard.table import COLUMNS, leaderboard_csv, standings
from leaderboard.teams import team_id
from submission import Score


def entry(number: int, team: str, rmse: float | None) -> Entry:
    return Entry(
        number=number,
        time=datetime(2026, 1, number, 8, 9, 10, 123456, tzinfo=timezone.utc),
        team=team,
        team_id=team_id(team),
        digest="",
        status="invalid" if rmse is None else "scored",
        public=rmse,
        private=rmse,
        scorer="s",
        solution="",
        final=False,
        previous="",
        hash="",
    )


def ranks(entries: list[Entry], baselines: dict[str, Score] | None = None) -> list[tuple[int | None, str]]:
    return [(line.rank, line.name) for line in standings(entries, baselines or {}, decimals=2)]


def test_equal_displayed_scores_share_a_rank_the_earlier_first() -> None:
    entries = [entry(1, "d", 9.0), entry(2, "c", 4.004), entry(3, "b", 3.996), entry(4, "a", 2.0)]
    assert ranks(entries) == [(1, "a"), (2, "c"), (2, "b"), (4, "d")]


def test_a_later_submission_of_the_same_displayed_score_does_not_displace_an_earlier_one() -> None:
    entries = [entry(1, "a", 4.004), entry(2, "b", 4.001), entry(3, "b", 3.998)]
    assert ranks(entries) == [(1, "a"), (1, "b")]


def test_the_best_submission_of_a_team_counts_and_all_are_counted() -> None:
    entries = [entry(1, "Team", 5.0), entry(2, "team", 3.0), entry(3, "TEAM", 4.0), entry(4, "Team", None)]
    (line,) = standings(entries, {}, decimals=2)
    assert (line.name, line.score.rmse, line.submissions) == ("Team", 3.0, 4)
    assert line.last_submission == "2026-01-04 08:09:10"


def test_a_team_without_a_valid_submission_is_not_listed() -> None:
    assert ranks([entry(1, "a", None), entry(2, "b", 50.0)]) == [(1, "b")]
    assert ranks([]) == []


def test_baselines_stand_by_their_score_without_a_rank() -> None:
    baselines = {"constant": Score(10.0, 8.0, math.nan, 10), "fd": Score(5.0, 4.0, 0.9, 10)}
    entries = [entry(1, "a", 5.0), entry(2, "b", 2.5), entry(3, "c", 20.0)]
    lines = standings(entries, baselines, decimals=2)
    assert [(line.rank, line.name) for line in lines] == [
        (1, "b"),
        (None, "fd"),
        (2, "a"),
        (None, "constant"),
        (3, "c"),
    ]
    assert [line.skill for line in lines] == [0.9375, 0.75, 0.75, 0.0, -3.0]


def test_without_the_constant_skill_is_unknown() -> None:
    assert math.isnan(standings([entry(1, "a", 5.0)], {}, decimals=2)[0].skill)


def test_scores_are_published_rounded_only() -> None:
    (line,) = standings([entry(1, "a", 4.98765)], {}, decimals=1)
    assert line.score.rmse == 5.0


def test_the_csv_has_kaggles_columns_then_ours() -> None:
    lines = standings([entry(1, "a", 5.0)], {"constant": Score(10.0, 8.0, math.nan, 10)}, decimals=2)
    assert leaderboard_csv(lines, 1.5, decimals=2) == (
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,MAE,Spearman,Skill,NoiseFloor,Kind\n"
        "1,tca978112ca,a,2026-01-01 08:09:10,5.00,1,,,0.75,1.50,team\n"
        ",,constant,,10.00,,8.00,,0.00,1.50,baseline\n"
    )


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "\nx"])
def test_names_that_a_spreadsheet_would_run_are_guarded(name: str) -> None:
    lines = standings([entry(1, "+sum(A1)", 5.0)], {name: Score(7.0, 5.0, -0.25, 10)}, decimals=2)
    read = list(csv.DictReader(io.StringIO(leaderboard_csv(lines, 1.5, decimals=2), newline="")))
    assert [line["TeamName"] for line in read] == ["'+sum(A1)", "'" + re.sub(r"^\s", "\ufffd", name)]
    assert read[1]["Spearman"] == "-0.25"
    assert tuple(read[0]) == COLUMNS


def test_no_negative_zero_is_shown() -> None:
    text = leaderboard_csv(standings([], {"a": Score(1.0, 1.0, -0.001, 10)}, decimals=2), 1.0, decimals=2)
    assert text.splitlines()[1] == ",,a,,1.00,,1.00,0.00,,1.00,baseline"
