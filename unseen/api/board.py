"""The functions `unseen.score` and `unseen.leaderboard`."""

from pathlib import Path

from leaderboard.events import now
from leaderboard.publish import Published, publish
from leaderboard.submissions import Receipt, submit
from submission.errors import UnusableInput
from submission.metrics import Score
from submission.pack import AnyCompetition, competition_of
from submission.scoretable import score_validation


def score(
    contest: AnyCompetition, file: Path | str, team: str | None = None, note: str = ""
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
        contest: The competition, or its path; with a team, the organizer's copy.
        file: File of predictions of the validation sets; with a team, of the test sets.
        team: Name of the team that hands the file in. The file is then entered in the ledger and counts
            towards the team's limits. None to score on the validation sets.
        note: with a team: a line of its own about the submission, which is not published.

    Returns:
        RMSE and MAE in points, and Spearman's correlation; with a team, the receipt with the answer to the
        team.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named.
        UnusableInput: the file cannot be read, or this copy cannot score it.
    """
    contest = competition_of(contest)
    if not isinstance(file, Path | str):
        index = getattr(getattr(file, "index", None), "name", None) == "id"
        written = f': .to_csv("mine.csv", index={index}) writes one' if hasattr(file, "to_csv") else ""
        raise UnusableInput(f"give a CSV's path, of id,prediction, not a {type(file).__name__}{written}")
    if team is None:
        return score_validation(contest, Path(file))
    return submit(contest, Path(file), team, note=note)


def leaderboard(
    contest: AnyCompetition, final: bool = False, retired: bool = False, out: Path | str | None = None
) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger; a notebook shows the table.

    >>> import unseen
    >>> unseen.leaderboard(unseen.open("contest")).html.name
    'leaderboard.html'

    Args:
        contest: Organizer's copy of the competition, or its path.
        final: True to publish private scores, ranks and their changes too, after the end.
        retired: True, with `final`, to publish the scores of all methods too, if the test sets will not be
            used again.
        out: Folder to write to; None for the competition's folder.

    Returns:
        The published lines and the paths of the files.

    Raises:
        UnusableInput: this is a participant's copy, or `final` is True before the deadline.
    """
    place = Path(out) if out is not None else None
    return publish(competition_of(contest), now() if final else None, retired, place)
