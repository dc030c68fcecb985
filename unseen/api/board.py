"""The functions `unseen.score`, `unseen.amend`, `unseen.team` and `unseen.leaderboard`."""

from datetime import datetime, timezone
from pathlib import Path

from leaderboard import changes
from leaderboard.publish import Published, publish
from leaderboard.submissions import Receipt, submit
from submission.competition import Competition
from submission.metrics import Score
from submission.scoretable import score_validation


def score(
    contest: Competition, file: Path | str, team: str | None = None, metric: str | None = None, note: str = ""
) -> Score | Receipt:
    """Score a file of predictions, on the labelled validation sets or, for a team, on the hidden labels.

    >>> import unseen
    >>> contest = unseen.open("contest")
    >>> file = unseen.predict(contest, "constant")
    >>> round(unseen.score(contest, contest.root / "validation/constant.csv").n)
    6
    >>> unseen.score(contest, file, team="Ada").number
    1

    Args:
        contest: The competition; with a team, the organizer's copy.
        file: File of predictions of the validation sets; with a team, of the test sets.
        team: Name of the team that hands the file in. The file is then entered in the ledger and counts
            towards the team's limits. None to score on the validation sets.
        metric: Metric to score on the validation sets; None for the one that ranks.
        note: with a team: a line of its own about the submission, which is not published.

    Returns:
        RMSE and MAE in points, and Spearman's correlation; with a team, the receipt with the answer to the
        team.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named.
        UnusableInput: the file cannot be read, or this copy cannot score it.
    """
    if team is None:
        return score_validation(contest, Path(file), metric)
    return submit(contest, Path(file), team, _now, note)


def amend(
    contest: Competition,
    *,
    reason: str,
    deadline: str | None = None,
    daily_limit: int | None = None,
    total_limit: int | None = None,
    contact: str | None = None,
) -> Competition:
    """Change the deadline, a limit or the contact of a running competition; None leaves it as it is.

    >>> import unseen
    >>> unseen.amend(unseen.open("contest"), reason="a public holiday", daily_limit=7).daily_limit
    7

    Args:
        contest: Organizer's copy of the competition.
        reason: Reason, a line that the board and the archive's README publish.
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
    return changes.amend(
        contest,
        reason,
        _now,
        deadline=deadline,
        daily_limit=daily_limit,
        total_limit=total_limit,
        contact=contact,
    )


def team(contest: Competition, name: str, action: str, to: str | None = None, *, reason: str) -> Competition:
    """Rename, merge, withdraw or disqualify a team, or give it a later deadline.

    All of the team's submissions stay in the ledger; the board shows what counts from now on.

    Args:
        contest: Organizer's copy of the competition.
        name: Name of the team.
        action: "rename", "merge", "withdraw", "disqualify" or "extend".
        to: With "rename" the new name, with "merge" the team for which the submissions count from now on,
            with "extend" the team's own deadline; else None.
        reason: Reason, a line that the board and the archive's README publish.

    Returns:
        The competition with a notice of the change.

    Raises:
        UnusableInput: the team is unknown or counts no more, the new name or time cannot be, or this is a
            participant's copy.
    """
    return changes.change_team(contest, name, action=action, to=to, reason=reason, clock=_now)


def _now() -> datetime:
    return datetime.now(timezone.utc)


def leaderboard(
    contest: Competition, final: bool = False, retired: bool = False, out: Path | str | None = None
) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger; a notebook shows the table.

    >>> import unseen
    >>> unseen.leaderboard(unseen.open("contest")).html.name
    'leaderboard.html'

    Args:
        contest: Organizer's copy of the competition.
        final: True to publish private scores, ranks and their changes too, after the end.
        retired: True, with `final`, to publish the scores of all methods too, if the test sets will not be
            used again.
        out: Folder to write to; None for the competition's folder.

    Returns:
        The published lines and the paths of the files.

    Raises:
        UnusableInput: this is a participant's copy, or `final` is True before the deadline.
    """
    return publish(contest, _now() if final else None, retired, Path(out) if out is not None else None)
