"""Limits on submissions: the deadline, and the number of submissions that a team has left."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from submission.competition import Competition
from submission.errors import UnusableInput


def check_open(competition: Competition, team: str, times: Sequence[datetime], now: datetime) -> int | None:
    """Returns the number of submissions that a team may still make today after one now; None for any number.

    Days are those of UTC; invalid submissions count.

    Args:
        competition: Competition with its limits and its deadline.
        team: Name of the team, for messages.
        times: Times of the team's earlier submissions, with their time zones.
        now: Present time, with its time zone.

    Raises:
        UnusableInput: the team may not submit now; the message gives the reason, and the next possible day.
    """
    now = now.astimezone(timezone.utc)
    check_before_deadline(competition, now)
    if competition.total_limit is not None and len(times) >= competition.total_limit:
        raise UnusableInput(
            f"team {team!r} has made all of its {competition.total_limit:,} submissions; nothing was entered"
        )
    today = [time for time in times if time.astimezone(timezone.utc).date() == now.date()]
    if competition.daily_limit is not None and len(today) >= competition.daily_limit:
        raise UnusableInput(
            f"team {team!r} has made its {competition.daily_limit:,} submissions of {now:%Y-%m-%d} (UTC); "
            f"nothing was entered: submit again on {now + timedelta(days=1):%Y-%m-%d}"
        )
    used = ((competition.daily_limit, len(today)), (competition.total_limit, len(times)))
    return min((limit - made - 1 for limit, made in used if limit is not None), default=None)


def left_text(competition: Competition, left: int | None) -> str:
    """Returns the result of `check_open` in words, such as ", 2 left today"; "" for any number."""
    today = "" if competition.daily_limit is None else " today"
    return "" if left is None else f", {left:,} left{today}"


def check_before_deadline(competition: Competition, now: datetime) -> None:
    """Check that the deadline, if there is one, has not passed.

    Raises:
        UnusableInput: the deadline has passed.
    """
    if competition.deadline is not None and now >= competition.deadline:
        raise UnusableInput(
            f"the deadline of {competition.name} was {competition.deadline:%Y-%m-%d %H:%M:%S} UTC, and it is "
            f"{now.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S}: nothing was entered"
        )
