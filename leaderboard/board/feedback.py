"""What a team hears of its submissions, by the competition's kind of feedback."""

from collections.abc import Callable, Sequence

from leaderboard.board.ladder import ladder
from leaderboard.board.part import Part
from leaderboard.board.statistics import Families, FloatArray
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Entry, Ledger
from submission.competition import Competition
from submission.metrics import Score


def standing(
    competition: Competition,
    entries: Sequence[Entry],
    errors: Callable[[Entry], FloatArray],
    families: Families,
) -> list[Entry]:
    """Which submission stands for a team after each of its scored ones, by the public score.

    With the feedback "rounded" it is the one with the lowest displayed RMSE, the earlier of equal ones; with
    "ladder" see :func:`leaderboard.board.ladder.ladder`.

    Args:
        competition: whose feedback and decimals count.
        entries: the scored submissions of one team, in order.
        errors: of a submission, its errors (n,) on the public rows.
        families: of the public rows.
    """
    points = [0.0 if entry.public is None else entry.public for entry in entries]
    if competition.feedback == "ladder":
        squared = [value**2 for value in points]
        places = ladder(squared, lambda place: errors(entries[place]) ** 2, families)
        return [entries[place] for place in places]
    shown = [round(value, competition.decimals) for value in points]
    best, found = 0, []
    for place, value in enumerate(shown):
        best = place if value < shown[best] else best
        found.append(entries[best])
    return found


def heard(competition: Competition, ledger: Ledger, number: int) -> tuple[int, Score]:
    """What a team is told of submission `number`, a scored one, where the feedback is "ladder": which of its
    submissions stands then, and that one's public score at full precision.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger or a kept file is damaged.
    """
    entries = ledger.entries()
    (new,) = (entry for entry in entries if entry.number == number)
    made = [e for e in entries if e.team_id == new.team_id and e.number <= number and e.status == "scored"]
    public = Part.of(competition, competition.solution(), "Public")
    predictions, _ = kept_table(competition, ledger, made)
    stood = standing(competition, made, lambda e: public.errors(predictions[e.number - 1]), public.families)
    best = stood[-1].number
    return best, public.score(predictions[best - 1])
