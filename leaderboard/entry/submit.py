"""A submission: checked, scored, and entered in the ledger."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from leaderboard.board.feedback import Answer, heard
from leaderboard.board.results import baseline_names
from leaderboard.entry.limits import check_open, left_text
from leaderboard.entry.receipts import check_note, keep_receipt
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.teams import check_team, plain, taken
from leaderboard.ledger.versions import settle
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.predictions import read_bytes
from submission.scoring import SCORER, SubmissionScore, parse_submission, score_against
from submission.solution import solution_of


@dataclass(frozen=True)
class Receipt:
    """The answer to a valid submission, with further facts for the team.

    Attributes:
        number: Number of its entry in the ledger.
        answer: Score that the team gets; with the ladder that of its best submission so far, or none.
        rows: Number of predictions from which the score is computed.
        left: Number of further submissions that the team may make today; None for any number.
        same: Number of the team's earlier submission of the same file; None if there is none.
    """

    number: int
    answer: Answer
    rows: int
    left: int | None
    same: int | None = None

    def text(self, decimals: int) -> str:
        """Returns the answer in words."""
        answer = self.answer
        if answer.silent:
            return "entered, without a score, since another score could reveal hidden labels"
        if answer.score is None:
            return "not better than the best baseline by more than chance"
        told = f"public RMSE {answer.score:.{decimals}f} points"
        if answer.stands == self.number:
            return told
        return f"not better by more than chance than submission {answer.stands}, the best so far: {told}"

    def record(self, decimals: int) -> dict[str, object]:
        """Returns the answer as plain values; the score is None if there is none."""
        score = self.answer.score
        return {
            "number": self.number,
            "score": None if score is None else round(score, decimals),
            "stands": self.answer.stands,
            "told": self.text(decimals),
            "rows": self.rows,
            "left": self.left,
            "same": self.same,
        }


def submit(
    competition: Competition, path: Path, team: str, clock: Callable[[], datetime], note: str = ""
) -> Receipt:
    """Validate and score a team's file, and enter it in the ledger.

    An invalid file is entered as invalid and counts as a submission. The hidden labels are read only after
    the file was found valid. Limits are checked and the row is added while no other process can add one. The
    answer is written as a receipt for the team (`leaderboard.entry.receipts`).

    Args:
        competition: Organizer's copy of the competition.
        path: Path of the submitted file, not a link.
        team: Name of the team. The name of a baseline is refused, and so is a name that differs from another
            team's only in marks and spaces.
        clock: Function that returns the present time, with its time zone; it is called when the ledger is
            free.
        note: The team's remark on the submission, which is never published.

    Returns:
        The answer to the submission.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named. The file was entered as
            invalid.
        UnusableInput: the competition is over, the team has no submissions left, the file, the team, the note
            or the ledger cannot be used, or this is a participant's copy. Then nothing is entered, except
            where the message says so: without a file of the organizer's that is damaged, or on a full disk,
            no answer of a ladder can be computed.
    """
    team, note = check_team(team), check_note(note)
    baseline = baseline_names(competition).get(plain(team))
    if baseline:
        raise UnusableInput(f"team name {team!r} reads like the baseline {baseline!r}: choose another name")
    ledger = Ledger(competition.require_private() / "ledger.sqlite")
    data, predictions, invalid = None, None, None
    try:
        data = read_bytes(path, competition.ids("test"), follow=False)
        predictions = parse_submission(competition, data, path)
    except InvalidSubmission as error:
        invalid = error
    with ledger.transaction() as transaction:
        now = transaction.now(clock())
        times = transaction.times(team)
        if not times and (other := taken(team, {entry.team for entry in ledger.entries()})):
            raise UnusableInput(f"team name {team!r} reads like team {other!r}: use that or another name")
        left = check_open(competition, team, times, now)
        digest = "" if data is None else hashlib.sha256(data).hexdigest()
        same = transaction.same(team, digest) if digest else None
        solution = settle(competition, transaction)
        scores = score_against(predictions, solution_of(competition)) if predictions else None
        number = transaction.submit(now, team, data, scores, SCORER, solution, note)
        entry = {"team": team, "time": _utc(now), "file": digest, "note": note, "row": transaction.head()}
    if scores is None:
        assert invalid is not None
        keep_receipt(competition, number, {**entry, "told": "invalid"})
        entered = f"entered as submission {number}; invalid ones count too{left_text(competition, left)}"
        raise InvalidSubmission(invalid.name, invalid.problems, entered) from invalid
    try:
        told, rows = _answer(competition, ledger, number, scores)
    except (OSError, UnusableInput) as error:
        keep_receipt(competition, number, {**entry, "told": "entered"})
        raise UnusableInput(f"submission {number} is entered, but cannot be answered now: {error}") from error
    receipt = Receipt(number, told, rows, left, same)
    keep_receipt(competition, number, {**entry, **receipt.record(competition.decimals)})
    return receipt


def _answer(
    competition: Competition, ledger: Ledger, number: int, scores: SubmissionScore
) -> tuple[Answer, int]:
    """Returns the answer to a scored submission, and the number of rows from which it is computed."""
    if competition.feedback == "rounded":
        return Answer(number, round(scores.public.rmse, competition.decimals)), scores.public.n
    return heard(competition, ledger, number)


def _utc(time: datetime) -> str:
    return time.astimezone(timezone.utc).isoformat(timespec="seconds")
