"""The rules of what is shown before the end, by the two kinds of competition."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from large import large_competition, noisy
from rules import with_fields, with_rules

from leaderboard.audit import audit
from leaderboard.feedback import error_left, price, sets_of
from leaderboard.publish import publish
from leaderboard.submissions import submit
from submission import Competition
from submission.predictions import write_predictions

Clock = Callable[[], datetime]


@pytest.fixture(params=["practice", "hidden"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def contest(tmp_path: Path, kind: str) -> Competition:
    """One of twenty-four public rows."""
    return large_competition(tmp_path / "large", visibility=kind, total_limit=3)


def test_a_team_gets_its_rounded_public_score(contest: Competition, tmp_path: Path, clock: Clock) -> None:
    write_predictions(tmp_path / "file.csv", noisy(contest, 7, 1))
    given = submit(with_rules(contest, decimals=1), tmp_path / "file.csv", "Ada", clock, new_team=True)
    assert given.score == round(given.score or 0, 1)
    assert given.left == 2


def test_few_public_rows_give_no_scores_before_the_end_of_a_hidden_competition(
    competition: Competition, halves: Path, clock: Clock, kind: str
) -> None:
    contest = with_rules(competition, visibility=kind)
    given = submit(contest, halves, "Ada", clock, new_team=True)
    published = publish(contest)
    assert given.score == (25.5 if kind == "practice" else None)
    assert ("25.5" in given.answer) == ("25.5" in published.csv.read_text()) == (kind == "practice")
    assert published.standings[0].rank == (1 if kind == "practice" else None)
    assert any("none is given before the end" in text for text in published.warnings) == (kind == "hidden")
    assert publish(contest, clock()).final[0].score.rmse > 0


def test_a_set_counts_once_however_many_subjects_it_has(contest: Competition) -> None:
    several = with_fields(contest, subjects=(*contest.subjects, "other"))
    assert [sets_of(each, 24) for each in (contest, several)] == [24, 12]


def test_what_more_submissions_would_cost_is_told_of_hidden_labels(contest: Competition, kind: str) -> None:
    assert ("public sets" in price(contest)) == (kind == "hidden")
    left = [error_left(n, 30) for n in (0, 6, 15, 30, 60)]
    assert left == sorted(left, reverse=True)
    assert (left[0], left[-1]) == (1, 0)


def test_the_audit_warns_of_more_scores_than_public_rows(
    contest: Competition, tmp_path: Path, clock: Clock, kind: str
) -> None:
    write_predictions(tmp_path / "file.csv", noisy(contest, 7, 1))
    rows = submit(contest, tmp_path / "file.csv", "team 0", clock, new_team=True).rows
    for number in range(1, rows):
        submit(contest, tmp_path / "file.csv", f"team {number}", clock, new_team=True)
    assert audit(contest) == []
    submit(contest, tmp_path / "file.csv", "one more", clock, new_team=True)
    assert [text for text in audit(contest) if "do not pool" in text] == audit(contest)
    assert len(audit(contest)) == (kind == "hidden")
