"""The part of an audit that reads the board: what was told about the public rows, and what can be."""

from dataclasses import dataclass
from datetime import datetime

from leaderboard.board.feedback import Listening, together
from leaderboard.board.shown import shown
from leaderboard.board.told import on_board
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Ledger
from submission.competition import Competition
from submission.price import price_text
from submission.told import KEPT


@dataclass(frozen=True)
class BoardAudit:
    """What was told, and what is left of the labels' error, in points.

    Attributes:
        rows: public ones.
        prior: a participant's own error.
        kit: numbers told by the kit alone, and what they leave.
        teams: the team, or teams of a like name, that were told the most: names, numbers and what is left.
        everybody: all numbers, as if one team had heard them, and what they leave.
        price: what submissions can tell, lines of text.
    """

    rows: int
    prior: float
    kit: tuple[int, float]
    teams: tuple[str, int, float] | None
    everybody: tuple[int, float]
    price: str

    @property
    def sound(self) -> bool:
        """Whether what the kit tells by itself leaves `KEPT` of the error."""
        return self.kit[1] >= KEPT * self.prior

    def __str__(self) -> str:
        lines = [
            f"told of the {self.rows} public rows, whose labels anybody knows to {self.prior:.1f} points:",
            f"  by the board alone  {self.kit[0]} numbers, {self.kit[1]:.1f} points left",
        ]
        if self.teams is not None:
            names, numbers, left = self.teams
            lines.append(f"  most to one team    {numbers} numbers, {left:.1f} left ({names})")
        lines.append(f"  if all teams share  {self.everybody[0]} numbers, {self.everybody[1]:.1f} left")
        return "\n".join([*lines, self.price])


def audit_board(competition: Competition, now: datetime) -> BoardAudit:
    """What the board and the answers to submissions have told, and can tell until the end.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger, the solution or the record is damaged.
    """
    ledger, known = Ledger(competition.require_private() / "ledger.sqlite"), shown(competition)
    listening = Listening.of(competition, ledger, known)
    hidden, entries = listening.hidden, [each for each in ledger.entries() if each.status == "scored"]
    predictions, _ = kept_table(competition, ledger, entries)
    groups = []
    for made in together(entries):
        names, heard = sorted({entry.team for entry in made}), listening.told(made, predictions)[1]
        groups.append((", ".join(names), heard.told, hidden.left(heard)))
    everybody = listening.hear_all(entries, predictions)
    kit = on_board(competition, hidden, known)[1]
    return BoardAudit(
        rows=len(hidden.newest.part),
        prior=hidden.error,
        kit=(kit.told, hidden.left(kit)),
        teams=min(groups, key=lambda group: group[2], default=None),
        everybody=(everybody.told, hidden.left(everybody)),
        price=price_text(competition, hidden.error, now),
    )
