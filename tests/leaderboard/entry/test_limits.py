from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules import with_rules

from leaderboard.entry.limits import check_open, left_text
from submission import Competition, UnusableInput

NOON = datetime(2026, 5, 10, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


def test_without_limits_anything_goes(competition: Competition) -> None:
    assert check_open(competition, "a", [NOON] * 10_000, NOON) is None


def test_days_are_those_of_utc(competition: Competition) -> None:
    limited = with_rules(competition, daily_limit=2)
    yesterday, today = [NOON - 13 * HOUR] * 2, [NOON - 12 * HOUR]
    assert check_open(limited, "a", [*yesterday, *today], NOON) == 0
    far_east = NOON.astimezone(timezone(13 * HOUR))
    assert check_open(limited, "a", [*yesterday, *today], far_east) == 0
    with pytest.raises(UnusableInput) as caught:
        check_open(limited, "a", [*yesterday, *today, NOON], far_east)
    assert str(caught.value) == (
        "team 'a' has made its 2 submissions of 2026-05-10 (UTC); "
        "nothing was entered: submit again on 2026-05-11"
    )


def test_the_total_and_the_day_both_bound_what_is_left(competition: Competition) -> None:
    limited = with_rules(competition, daily_limit=3, total_limit=4)
    assert check_open(limited, "a", [], NOON) == 2
    assert check_open(limited, "a", [NOON - 24 * HOUR] * 3, NOON) == 0
    with pytest.raises(UnusableInput) as caught:
        check_open(limited, "a", [NOON - 24 * HOUR] * 4, NOON)
    assert str(caught.value) == "team 'a' has made all of its 4 submissions; nothing was entered"


def test_the_deadline_itself_is_too_late(competition: Competition) -> None:
    limited = with_rules(competition, deadline=NOON)
    assert check_open(limited, "a", [], NOON - timedelta(microseconds=1)) is None
    with pytest.raises(UnusableInput) as caught:
        check_open(limited, "a", [], NOON.astimezone(timezone(HOUR)))
    assert str(caught.value) == (
        "the deadline of Two classifiers was 2026-05-10 12:00:00 UTC, and it is 2026-05-10 12:00:00: "
        "nothing was entered"
    )


@given(hours=st.lists(st.integers(0, 100), max_size=12), limit=st.integers(1, 4), total=st.integers(1, 9))
def test_taken_one_by_one_no_limit_is_ever_passed(hours: list[int], limit: int, total: int) -> None:
    limited = SimpleNamespace(daily_limit=limit, total_limit=total, deadline=None)
    taken: list[datetime] = []
    for hour in sorted(hours):
        now = NOON + hour * HOUR
        try:
            check_open(limited, "a", taken, now)  # type: ignore[arg-type]
        except UnusableInput:
            today = sum(time.date() == now.date() for time in taken)
            assert today == limit or len(taken) == total
        else:
            taken.append(now)
    days = [time.date() for time in taken]
    assert len(taken) <= total
    assert all(days.count(day) <= limit for day in days)


@pytest.mark.parametrize(
    ("rules", "left", "text"),
    [
        ({}, None, ""),
        ({"daily_limit": 5}, 2, ", 2 left today"),
        ({"total_limit": 5000}, 4000, ", 4,000 left"),
    ],
)
def test_what_is_left_is_told_with_its_time(competition, rules, left, text):
    assert left_text(with_rules(competition, **rules), left) == text
