"""The rules of what is shown before the end, a function each.

A score of m public sets reveals their labels along one direction, so that m scores reveal them all, and a few
what errors have in common (benchmarks/attacks/feedback.py measures it). Several subjects' errors about a set
are alike: sets count, not rows.
"""

import numpy as np

from leaderboard.solutions import counting_solution
from submission.competition import FEW, Competition
from submission.table import text_table

SUBMISSIONS = (0, 1 / 5, 1 / 3, 1 / 2, 1, 2)
"""Numbers of submissions, as shares of the number of public sets, at which the errors were measured."""
LEFT_KNOWN = (1, 0.80, 0.66, 0.52, 0.16, 0.05)
"""Share of its error that the scores of 30 public sets leave a team that has the kit's methods, if it knows
which sets are public."""
LEFT_UNKNOWN = (1, 0.88, 0.85, 0.82, 0.77, 0.70)
"""The same of a team that only knows how many of all sets are public."""


def public_rows(competition: Competition) -> int:
    """Returns the number of rows from which the public score is computed."""
    return sum(row.usage == "Public" for row in counting_solution(competition))


def sets_of(competition: Competition, rows: int) -> int:
    """Returns the number of sets that have so many rows, one for each subject of a metric."""
    return rows * len(competition.metrics) // len(competition.subjects)


def scores_before_end(competition: Competition, rows: int) -> bool:
    """Returns True if a team gets the public score of a submission, of so many rows, before the end."""
    return competition.visibility == "practice" or sets_of(competition, rows) >= FEW


def public_score(competition: Competition, rmse: float) -> float:
    """Returns the public RMSE in points as a team gets it."""
    return round(rmse, competition.decimals)


def error_left(submissions: int, sets: int, known: bool) -> float:
    """Returns the share of a team's error about the labels of `sets` public sets that its scores leave.

    >>> error_left(6, 30, known=True), error_left(90, 30, known=False)
    (0.8, 0.7)
    """
    return float(np.interp(submissions / sets, SUBMISSIONS, LEFT_KNOWN if known else LEFT_UNKNOWN))


def price(competition: Competition) -> str:
    """Returns a table of what submissions cost; "" for practice, and where none are scored."""
    limit = competition.total_limit
    rows = public_rows(competition)
    if competition.visibility == "practice" or limit is None or not scores_before_end(competition, rows):
        return ""
    sets = sets_of(competition, rows)
    lines = [["submissions", "public sets known", "unknown"]]
    for count in sorted({limit, sets // 3, sets // 2, sets}):
        shares = [f"{error_left(count, sets, known):.2f}" for known in (True, False)]
        lines.append([f"{count:,}", *shares])
    pooling = -(-sets // limit)
    return (
        f"The limit is {limit:,} submissions of a team. Scores leave this share of a team's error about the "
        f"{sets} public labels, whether it knows which\nsets are public or not (measured on 30 sets):\n"
        f"{text_table(lines)}\n"
        f"Teams that pool their answers: {pooling:,} could compute every public label."
    )
