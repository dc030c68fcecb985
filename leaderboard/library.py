"""Scoring and the leaderboard as Python functions: what `import unseen` gives of them."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from leaderboard.board.publish import Published, publish
from leaderboard.entry.submit import Receipt, submit
from submission.competition import Competition
from submission.metrics import Score
from submission.options import now
from submission.scoring import score_validation


def score(
    contest: Competition,
    file: Path | str,
    team: str | None = None,
    metric: str | None = None,
    clock: Callable[[], datetime] = now,
    note: str = "",
) -> Score | Receipt:
    """Score a file of predictions: on the labelled validation sets or, for a team, on the hidden labels.

    >>> import unseen
    >>> contest = unseen.open("contest")
    >>> file = unseen.predict(contest, "constant")
    >>> round(unseen.score(contest, contest.root / "validation/constant.csv").n)
    6
    >>> unseen.score(contest, file, team="Ada").number
    1

    Args:
        contest: the competition; with a team the organizer's copy.
        file: predictions for the validation sets; with a team for the test sets.
        team: who hands it in: the file is entered in the ledger, and counts towards the team's limits.
        metric: of the validation sets; the one that ranks unless given.
        clock: the time of a submission, UTC.
        note: with a team: a line of its own about the submission, which is not published.

    Returns:
        RMSE, MAE (points) and Spearman's correlation; with a team the receipt, and what the team is told.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named.
        UnusableInput: it cannot be read, or this copy cannot score it.
    """
    if team is None:
        return score_validation(contest, Path(file), metric)
    return submit(contest, Path(file), team, clock, note)


def leaderboard(
    contest: Competition, final: bool = False, retired: bool = False, out: Path | str | None = None
) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger; a notebook shows the table.

    >>> import unseen
    >>> unseen.leaderboard(unseen.open("contest")).html.name
    'leaderboard.html'

    Args:
        contest: the organizer's copy.
        final: after the end: private scores, ranks and the shake-up too.
        retired: with `final`, for sets that are not used again: all methods on them too.
        out: the folder to write to; the competition's own unless given.

    Raises:
        UnusableInput: this is a participant's copy, or private scores are asked for before the deadline.
    """
    ended = now() if final else None
    return publish(contest, ended, retired, Path(out) if out is not None else None)
