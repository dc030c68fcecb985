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
from submission.scoring import SCORER, parse_submission, score_against
from submission.solution import solution_of


@dataclass(frozen=True)
class Receipt:
    """What a team is told of a valid submission.

    Attributes:
        number: of its entry in the ledger.
        answer: the score that is told: with the ladder that of the team's best submission so far, or none.
        rows: how many predictions it rests on.
        left: how many more submissions the team may make today; None for any number.
        same: the number of the team's earlier submission of the very same file; None where there is none.
    """

    number: int
    answer: Answer
    rows: int
    left: int | None
    same: int | None = None

    def text(self, decimals: int) -> str:
        """Returns what a team is told, in words."""
        answer = self.answer
        if answer.silent:
            return "entered; no score is told, since it would give hidden labels away"
        if answer.score is None:
            return "no better than the best baseline by more than chance"
        told = f"public RMSE {answer.score:.{decimals}f} points"
        if answer.stands == self.number:
            return told
        return f"no better by more than chance than submission {answer.stands}, whose {told} stands"

    def record(self, decimals: int) -> dict[str, object]:
        """Returns what is told as plain values; the score is None where none is told."""
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

    An invalid file is entered too, as invalid, and counts as a submission. The hidden labels are opened after
    the file was found valid. Limits are checked and the row added while no other process can add one. What
    the team is told is kept as a receipt for it (`leaderboard.entry.receipts`).

    Args:
        competition: the organizer's copy.
        path: the submitted file.
        team: the team's name; that of a baseline, a method that was predicted, is refused, and one that reads
            like another team's but for marks and spaces.
        clock: the time now, with its time zone; read when it is this process's turn.
        note: a line of the team's about it, for the team and the organizer: it is never published.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named, and that it was entered.
        UnusableInput: the competition is over, the team has used its submissions up, file (a link is none),
            the team, the note or the ledger cannot be used, or this is a participant's copy. Nothing is
            entered then.
    """
    team, note = check_team(team), check_note(note)
    baseline = baseline_names(competition).get(plain(team))
    if baseline:
        raise UnusableInput(f"team name {team!r} reads like the baseline {baseline!r}: take another")
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
            raise UnusableInput(f"team name {team!r} reads like team {other!r}: take that one or another")
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
    if competition.feedback == "rounded":
        told = Answer(number, round(scores.public.rmse, competition.decimals))
        receipt = Receipt(number, told, scores.public.n, left, same)
    else:
        receipt = Receipt(number, *heard(competition, ledger, number), left, same)
    keep_receipt(competition, number, {**entry, **receipt.record(competition.decimals)})
    return receipt


def _utc(time: datetime) -> str:
    return time.astimezone(timezone.utc).isoformat(timespec="seconds")
