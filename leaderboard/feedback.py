"""The rules of what is shown before the end, a function each.

A score of m public sets reveals their labels along one direction, so that q scores leave about
``sqrt(1 - q / m)`` of the errors of somebody who knows them, if these are independent
(benchmarks/attacks/feedback.py measures it). Several subjects' errors about one set are not: sets count.
"""

import math

from leaderboard.solutions import counting_solution
from submission.competition import Competition

FEW = 10
"""Smallest number of public sets from which a hidden competition gives scores before the end."""


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


def error_left(submissions: int, sets: int) -> float:
    """Returns the share of independent errors about the labels of `sets` public sets that these scores leave.

    >>> error_left(6, 30) > 0.89, error_left(30, 30)
    (True, 0.0)
    """
    return math.sqrt(max(0.0, 1 - submissions / sets))


def price(competition: Competition) -> str:
    """Returns a sentence on what submissions cost; "" for practice, and where none are scored."""
    limit = competition.total_limit
    rows = public_rows(competition)
    if competition.visibility == "practice" or limit is None or not scores_before_end(competition, rows):
        return ""
    sets = sets_of(competition, rows)
    return (
        f"each score tells something about the labels of the {sets} public sets: two tell a team the mean of "
        f"its errors, {limit:,} lower the rest by some {100 - 100 * error_left(limit, sets):.0f} %, {sets} "
        "to nothing"
    )
