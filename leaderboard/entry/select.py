"""The choice of a team's submissions that count at the end."""

from collections.abc import Callable, Sequence
from datetime import datetime

from leaderboard.entry.limits import check_before_deadline
from leaderboard.ledger.ledger import FINALS, Ledger
from leaderboard.ledger.teams import check_team
from submission.competition import Competition
from submission.errors import UnusableInput

SHOWN = 10
"""Largest number of teams that a message names."""


def select(
    competition: Competition, team: str, numbers: Sequence[int], clock: Callable[[], datetime]
) -> None:
    """Record that the submissions `numbers` count for a team at the end, in place of an earlier choice.

    Args:
        competition: Organizer's copy of the competition.
        team: Name of the team.
        numbers: Numbers of valid submissions of the team, at most `FINALS`; empty to undo the choice.
        clock: Function that returns the present time, with its time zone.

    Raises:
        UnusableInput: the deadline has passed, the team has not submitted anything, or a number is not that
            of a valid submission of the team.
    """
    team = check_team(team)
    if len(set(numbers)) != len(numbers) or len(numbers) > FINALS:
        given, why = ", ".join(map(str, numbers)), "that is too many"
        if len(set(numbers)) != len(numbers):
            why = "one is given twice"
        raise UnusableInput(f"choose up to {FINALS} different submissions, got {given}: {why}")
    with Ledger(competition.require_private() / "ledger.sqlite").transaction() as transaction:
        now = transaction.now(clock())
        check_before_deadline(competition, now)
        scored = transaction.scored(team)
        if not transaction.times(team):
            raise UnusableInput(f"team {team!r} has not submitted anything: {_known(transaction.teams())}")
        for number in numbers:
            if number not in scored:
                valid = ", ".join(map(str, scored[-20:])) or "none yet"
                raise UnusableInput(
                    f"submission {number} is not a valid one of team {team!r}; its valid ones are {valid}"
                )
        transaction.select(now, team, numbers)


def _known(teams: Sequence[str]) -> str:
    named = ", ".join(teams[:SHOWN]) + (", ..." if len(teams) > SHOWN else "")
    return f"the teams with submissions are {named}" if teams else "no team has yet"
