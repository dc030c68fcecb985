"""What a team hears of its submissions, by the competition's kind of feedback.

The parameter-free Ladder: only what betters a team's best submission by more than chance is told of.

Source: Blum & Hardt, The Ladder: A Reliable Leaderboard for Machine Learning Competitions, ICML 2015
(arXiv 1502.04585), section 4. There, points are independent; here, families are.
"""

import math
from collections.abc import Callable, Sequence

from leaderboard.board.part import Part
from leaderboard.board.statistics import Families
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Entry, Ledger
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.metrics import Score
from submission.solution import solution_of

_ROUNDING = 1 + 1e-9


def standard_error(differences: FloatArray, families: Families) -> float:
    """Of the mean of paired loss differences (n,), in their unit, with families as what is sampled.

    With a row a family it is their standard deviation over the root of n; 0 where there is one family.

    >>> import numpy as np
    >>> rows = Families.of(["a", "b", "c"], ["x", "x", "x"])
    >>> standard_error(np.array([1.0, 2.0, 3.0]), rows) == (1 / 3) ** 0.5
    True
    """
    count = len(families)
    if count < 2:
        return 0.0
    residuals = families.sums(differences - differences.mean())
    return math.sqrt(count / (count - 1) * float(residuals @ residuals)) / len(differences)


def ladder(means: Sequence[float], squared: Callable[[int], FloatArray], families: Families) -> list[int]:
    """Which submission stands after each of k submissions of a team, 0 to k - 1: the first, until another's
    mean loss is lower by more than the standard error of the paired difference.

    A change within one family alone, of the others' size, never is: its gain equals its standard error.

    Args:
        means: of every submission, its mean squared error.
        squared: of a submission, its squared errors (n,); asked for only where its mean is the lower one.
        families: of the n rows.
    """
    standing: list[int] = []
    best = 0
    for candidate, mean in enumerate(means):
        gain = means[best] - mean
        if gain > 0 and gain > _ROUNDING * standard_error(squared(best) - squared(candidate), families):
            best = candidate
        standing.append(best)
    return standing


def standing(
    competition: Competition,
    entries: Sequence[Entry],
    errors: Callable[[Entry], FloatArray],
    families: Families,
) -> list[Entry]:
    """Which submission stands for a team after each of its scored ones, by the public score.

    With the feedback "rounded" it is the one with the lowest displayed RMSE, the earlier of equal ones; with
    "ladder" see :func:`leaderboard.board.feedback.ladder`.

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
    public = Part.of(competition, solution_of(competition), "Public")
    predictions, _ = kept_table(competition, ledger, made)
    stood = standing(competition, made, lambda e: public.errors(predictions[e.number - 1]), public.families)
    best = stood[-1].number
    return best, public.score(predictions[best - 1])
