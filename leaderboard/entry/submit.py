"""Taking a submission in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from leaderboard.board.feedback import heard
from leaderboard.board.results import baseline_names
from leaderboard.board.table import published
from leaderboard.entry.limits import check_open, left_text
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.teams import check_team, plain
from leaderboard.ledger.versions import settle
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.metrics import Score
from submission.predictions import read_bytes
from submission.scoring import SCORER, parse_submission, score_against
from submission.solution import solution_of


@dataclass(frozen=True)
class Receipt:
    """What a team is told of a valid submission.

    Attributes:
        number: of its entry in the ledger.
        public: the public score, as it is published; with the feedback "ladder" that of submission `stands`.
        stands: the number of the submission that stands for the team now, where the feedback is "ladder";
            else that of this one.
        left: how many more submissions the team may make today; None for any number.
    """

    number: int
    public: Score
    stands: int
    left: int | None


def submit(competition: Competition, path: Path, team: str, clock: Callable[[], datetime]) -> Receipt:
    """Validate and score a team's file, and enter it in the ledger.

    An invalid file is entered too, as invalid, and counts as a submission. The hidden labels are opened after
    the file was found valid. Limits are checked and the row added while no other process can add one.

    Args:
        competition: the organizer's copy.
        path: the submitted file.
        team: the team's name; that of a baseline, a file in ``submissions/``, is refused.
        clock: the time now, with its time zone; read when it is this process's turn.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named, and that it was entered.
        UnusableInput: the competition is over, the team has used its submissions up, file (a link is none),
            team or ledger cannot be used, or this is a participant's copy. Nothing is entered then.
    """
    team = check_team(team)
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
        left = check_open(competition, team, transaction.times(team), now)
        solution = settle(competition, transaction)
        scores = score_against(predictions, solution_of(competition)) if predictions else None
        number = transaction.submit(now, team, data, scores, SCORER, solution)
    if scores is None:
        assert invalid is not None
        entered = f"entered as submission {number}; invalid ones count too{left_text(competition, left)}"
        raise InvalidSubmission(invalid.name, invalid.problems, entered) from invalid
    stands, public = number, scores.public
    if competition.feedback == "ladder":
        stands, public = heard(competition, ledger, number)
    return Receipt(number, published(public, competition.decimals), stands, left)
