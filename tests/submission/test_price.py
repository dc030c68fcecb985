from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from submission import Competition
from submission.price import left_by, price_text, submissions_in_all
from submission.told import KEPT

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def test_guarded_keeps_nine_tenths_and_each_kind_more_than_the_one_before() -> None:
    rounded, ladder, guarded = (left_by(mode, 40, 30, 5.7, 2) for mode in ("rounded", "ladder", "guarded"))
    assert rounded < 0.1 < ladder < guarded == KEPT * 5.7


def test_the_price_names_the_rules_and_marks_the_kind_of_feedback(competition: Competition) -> None:
    lines = price_text(replace(competition, feedback="ladder", daily_limit=1), 6.0, NOW).splitlines()
    assert lines[0] == (
        "4 public rows, whose labels anybody can guess with an RMSE of 6.0 points; RMSE that a team can reach:"
    )
    assert [line[:10].strip() for line in lines[1:]] == ["rounded", "* ladder", "guarded"]
    assert all("after 1 (one day)" in line and "after 30 (30 days)" in line for line in lines[1:])
    assert "after 5, " in price_text(competition, 6.0, NOW)


@pytest.mark.parametrize(
    ("rules", "count"),
    [
        ({}, None),
        ({"total_limit": 7}, 7),
        ({"daily_limit": 5}, None),
        ({"daily_limit": 5, "deadline": NOW + timedelta(days=9)}, 50),
        ({"daily_limit": 5, "deadline": NOW + timedelta(days=9), "total_limit": 20}, 20),
        ({"daily_limit": 5, "deadline": NOW - timedelta(days=9)}, 5),
    ],
)
def test_submissions_until_the_end(
    competition: Competition, rules: dict[str, object], count: int | None
) -> None:
    assert submissions_in_all(replace(competition, **rules), NOW) == count  # type: ignore[arg-type]
