"""Changes while a competition runs, each an event of the ledger: of settings, and of teams."""

import os
from collections.abc import Callable
from datetime import datetime

from leaderboard.events import GONE, NONE, SETTINGS, Team, notice, present
from leaderboard.feedback import public_rows, sets_of
from leaderboard.ledger import Ledger, opened
from leaderboard.submissions import keep_change
from leaderboard.teams import check_new_name, check_team, registered
from submission.competition import LONGEST_TEXT, Competition, time_of, usual_limit
from submission.errors import UnusableInput

ACTIONS = ("rename", "merge", "withdraw", "disqualify", "extend")
"""What can be done with a team."""
MOST_SUBMISSIONS = 1_000_000


def amend(
    competition: Competition,
    reason: str,
    clock: Callable[[], datetime],
    *,
    deadline: str | None = None,
    daily_limit: int | None = None,
    total_limit: int | None = None,
    contact: str | None = None,
) -> Competition:
    """Change settings of a running competition, as `unseen.amend` describes; returns it with these.

    `clock` returns the present time, with its time zone.
    """
    asked: dict[str, object] = {"daily_limit": daily_limit, "total_limit": total_limit, "contact": contact}
    if deadline is not None:
        asked["deadline"] = NONE if deadline.strip().casefold() == NONE else time_of(deadline)
    check_line("contact", contact or "")
    for name in ("daily_limit", "total_limit"):
        if not 0 <= int(str(asked[name] or 0)) <= MOST_SUBMISSIONS:
            raise UnusableInput(f"--{name.replace('_', '-')} must be a number from 0 to {MOST_SUBMISSIONS:,}")
    after = {name: _text(value) for name, value in asked.items() if value is not None}
    public_sets = sets_of(competition, public_rows(competition))
    with opened(competition, writing=True) as ledger:
        now = present(competition, ledger.changes())
        before = {name: _text(_value(now, name)) for name in SETTINGS}
        changed = [name for name in SETTINGS if after.get(name, before[name]) != before[name]]
        if not changed:
            raise UnusableInput(
                "nothing would change: give --deadline, --daily-limit, --total-limit or --contact, "
                "other than they are"
            )
        if "total_limit" in changed:
            _check_total(now, after["total_limit"], public_sets)
        for name in changed:
            _record(ledger, clock(), what=name, before=before[name], after=after[name], reason=reason)
    return _followed(competition)


def change_team(
    competition: Competition,
    name: str,
    action: str,
    to: str | None,
    reason: str,
    clock: Callable[[], datetime],
) -> Competition:
    """Change a team, as `unseen.team` describes; returns the competition with a notice of it.

    `clock` returns the present time, with its time zone.
    """
    if action not in ACTIONS or (to is None) != (action in GONE):
        raise UnusableInput(
            "give rename or merge --to NAME, extend --to TIME, or withdraw or disqualify without --to"
        )
    with opened(competition, writing=True) as ledger:
        now = clock()
        team = registered(competition, ledger, check_team(name), now)
        before, after = team.name, GONE.get(action, "")
        if action == "rename":
            after = check_team(to or "")
            check_new_name(competition, ledger, after, but=team)
        elif action == "merge":
            other = registered(competition, ledger, check_team(to or ""), now)
            if other.id == team.id:
                raise UnusableInput(f"team {team.name!r} cannot be merged with itself")
            after = other.name
        elif action == "extend":
            before, after = _extension(present(competition, ledger.changes()), team, to or "")
        _record(ledger, now, what=action, before=before, after=after, reason=reason, team=team)
    return _followed(competition)


def _extension(competition: Competition, team: Team, to: str) -> tuple[str, str]:
    """Returns a team's deadline before and after an extension."""
    if competition.deadline is None:
        raise UnusableInput("there is no deadline that could be extended")
    before = max(competition.deadline, team.deadline or competition.deadline)
    after = time_of(to)
    if after <= before:
        raise UnusableInput(f"team {team.name!r} may submit until {_text(before)} already: give a later time")
    return _text(before), _text(after)


def _record(
    ledger: Ledger, now: datetime, what: str, before: str, after: str, reason: str, team: Team | None = None
) -> None:
    reason = reason.strip()
    if not reason:
        raise UnusableInput("--reason: give a reason, a line that is published")
    check_line("reason", reason)
    of_team = {} if team is None else {"team": team.name, "team_id": team.id}
    ledger.append(now, "change", what=what, before=before, after=after, note=reason, **of_team)


def check_line(name: str, text: str) -> None:
    """Refuse a text that is too long or no single line of printable characters."""
    if not text.isprintable() or len(text) > LONGEST_TEXT:
        raise UnusableInput(f"--{name} must be a line of up to {LONGEST_TEXT} printable characters")


def _value(competition: Competition, name: str) -> object:
    return competition.settings.get(name) if name == "contact" else getattr(competition, name)


def _text(value: object) -> str:
    """Returns a setting's value as an event holds it."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return str(value) if value else NONE


def _check_total(competition: Competition, after: str, public_sets: int) -> None:
    """Refuse a total limit above what a hidden competition may have."""
    if competition.visibility == "practice":
        return
    most = max(usual_limit(public_sets), competition.total_limit or 0)
    if after == NONE or int(after) > most:
        raise UnusableInput(
            f"--total-limit: more than {most:,} submissions of a team could reveal the hidden labels"
        )


def _followed(competition: Competition) -> Competition:
    """Write a receipt of the newest row, and what it changes in the folder; returns the competition."""
    with opened(competition) as ledger:
        keep_change(competition, ledger.newest(), change=notice(ledger.changes()[-1]))
        return follow(competition, ledger)


def follow(competition: Competition, ledger: Ledger) -> Competition:
    """Write the settings and notices of now to ``public/competition.json``; returns the competition.

    A change is in the ledger before it is here, so that what is stopped in between follows later.
    """
    now = present(competition, ledger.changes())
    if now != competition and os.access(competition.public, os.W_OK):
        now.save()
    return now
