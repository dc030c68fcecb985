"""Changes while a competition runs, each an event of the ledger: of settings, and of teams."""

import os
from collections.abc import Callable
from datetime import datetime

from leaderboard.events import GONE, NONE, SETTINGS, Team, check_line, checked_reason, notice, now, present
from leaderboard.feedback import public_rows, scores_before_end, sets_of
from leaderboard.ledger import Ledger, opened
from leaderboard.submissions import keep_change
from leaderboard.teams import check_new_name, check_team, registered
from submission.competition import Competition, future_of, usual_limit
from submission.errors import UnusableInput
from submission.pack import AnyCompetition, competition_of

ACTIONS = ("rename", "merge", "withdraw", "disqualify", "extend")
MOST_SUBMISSIONS = 1_000_000


def amend(
    contest: AnyCompetition,
    reason: str,
    clock: Callable[[], datetime] = now,
    *,
    deadline: str | None = None,
    daily_limit: int | None = None,
    total_limit: int | None = None,
    contact: str | None = None,
) -> Competition:
    """Change the deadline, a limit or the contact of a running competition; None leaves it as it is.

    Args:
        contest: Organizer's copy of the competition, or its path.
        reason: Reason, a line that the board and the archive's README publish.
        clock: Function that returns the present time, with its time zone.
        deadline: New end, as "2026-12-31T23:59" (UTC, or with an offset); "none" for no end.
        daily_limit: Submissions of a team per day (UTC); 0 for any number.
        total_limit: Submissions of a team in total; 0 for any number. In a hidden competition it is at most a
            fifth of the public sets, or what it was.
        contact: Contact for participants; "" for none.

    Returns:
        The competition with the changed settings and a notice of each change.

    Raises:
        UnusableInput: nothing would change, a value cannot be, or this is a participant's copy.
    """
    contest = competition_of(contest)
    asked: dict[str, object] = {"daily_limit": daily_limit, "total_limit": total_limit, "contact": contact}
    if deadline is not None:
        none = deadline.strip().casefold() == NONE
        asked["deadline"] = NONE if none else future_of("--deadline", deadline, clock())
    check_line("contact", contact or "")
    for name in ("daily_limit", "total_limit"):
        if not 0 <= int(str(asked[name] or 0)) <= MOST_SUBMISSIONS:
            raise UnusableInput(f"--{name.replace('_', '-')} must be a number from 0 to {MOST_SUBMISSIONS:,}")
    after = {name: _text(value) for name, value in asked.items() if value is not None}
    public_sets = sets_of(contest, public_rows(contest))
    with opened(contest, writing=True) as ledger:
        current = present(contest, ledger.changes())
        values = {**current.settings, **vars(current)}
        before = {name: _text(values.get(name)) for name in SETTINGS}
        changed = [name for name in SETTINGS if after.get(name, before[name]) != before[name]]
        if not changed:
            raise UnusableInput(
                "nothing would change: give --deadline, --daily-limit, --total-limit or --contact, "
                "other than they are"
            )
        if "total_limit" in changed:
            _check_total(current, after["total_limit"], public_sets)
        for name in changed:
            texts = {"before": before[name], "after": after[name], "note": checked_reason(reason)}
            ledger.append(clock(), "change", what=name, **texts)
    return _followed(contest)


def team(
    contest: AnyCompetition,
    name: str,
    action: str,
    to: str | None = None,
    reason: str = "",
    clock: Callable[[], datetime] = now,
) -> Competition:
    """Rename, merge, withdraw or disqualify a team, or give it a later deadline.

    All of the team's submissions stay in the ledger; the board shows what counts from now on.

    Args:
        contest: Organizer's copy of the competition, or its path.
        name: Name of the team.
        action: "rename", "merge", "withdraw", "disqualify" or "extend".
        to: With "rename" the new name, with "merge" the team for which the submissions count from now on,
            with "extend" the team's own deadline; else None.
        reason: Reason, a line that the board and the archive's README publish.
        clock: Function that returns the present time, with its time zone.

    Returns:
        The competition with a notice of the change.

    Raises:
        UnusableInput: the team is unknown or counts no more, the new name or time cannot be, or this is a
            participant's copy.
    """
    contest = competition_of(contest)
    if action not in ACTIONS or (to is None) != (action in GONE):
        raise UnusableInput(
            "give rename or merge --to NAME, extend --to TIME, or withdraw or disqualify without --to"
        )
    with opened(contest, writing=True) as ledger:
        time = clock()
        changed = registered(contest, ledger, check_team(name), time)
        before, after = changed.name, GONE.get(action, "")
        if action == "rename":
            after = check_team(to or "")
            check_new_name(contest, ledger, after, but=changed)
        elif action == "merge":
            other = registered(contest, ledger, check_team(to or ""), time)
            if other.id == changed.id:
                raise UnusableInput(f"team {changed.name!r} cannot be merged with itself")
            after = other.name
        elif action == "extend":
            before, after = _extension(present(contest, ledger.changes()), changed, to or "", time)
        texts = {"before": before, "after": after, "note": checked_reason(reason)}
        ledger.append(time, "change", what=action, team=changed.name, team_id=changed.id, **texts)
    return _followed(contest)


def _extension(competition: Competition, team: Team, to: str, now: datetime) -> tuple[str, str]:
    """Returns a team's deadline before and after an extension."""
    if competition.deadline is None:
        raise UnusableInput("there is no deadline that could be extended")
    before = max(competition.deadline, team.deadline or competition.deadline)
    after = future_of("--to", to, now)
    if after <= before:
        raise UnusableInput(f"team {team.name!r} may submit until {_text(before)} already: give a later time")
    return _text(before), _text(after)


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
        raise UnusableInput(f"--total-limit: more than {most:,} could reveal the hidden labels")


def _followed(competition: Competition) -> Competition:
    """Write a receipt of the newest row, and what it changes in the folder; returns the competition."""
    with opened(competition) as ledger:
        keep_change(competition, ledger.newest(), change=notice(ledger.changes()[-1]))
        return follow(competition, ledger)


def follow(competition: Competition, ledger: Ledger) -> Competition:
    """Write the settings and notices of now, which the ledger has first, to the competition; returns it."""
    changed = present(competition, ledger.changes())
    silent = not scores_before_end(competition, public_rows(competition))
    changed = changed.model_copy(update={"silent": silent})
    if changed != competition and os.access(competition.public, os.W_OK):
        changed.save()
    return changed
