"""The rules of what is shown before the end, a function each.

A score of m public rows reveals their labels along one direction, so that q scores leave about
``sqrt(1 - q / m)`` of the error with which somebody knows them (benchmarks/attacks/feedback.py measures it).
"""

import math

from leaderboard.solutions import counting_solution
from submission.competition import Competition

FEW = 10
"""Smallest number of public rows from which a hidden competition gives scores before the end."""


def public_rows(competition: Competition) -> int:
    """Returns the number of rows from which the public score is computed."""
    return sum(row.usage == "Public" for row in counting_solution(competition))


def scores_before_end(competition: Competition, rows: int) -> bool:
    """Returns True if a team gets the public score of a submission, of so many rows, before the end."""
    return competition.visibility == "practice" or rows >= FEW


def methods_among_teams(competition: Competition) -> bool:
    """Returns True if the public scores of the kit's methods are shown before the end."""
    return competition.visibility == "practice"


def public_score(competition: Competition, rmse: float) -> float:
    """Returns the public RMSE in points as a team gets it."""
    return round(rmse, competition.decimals)


def error_left(submissions: int, rows: int) -> float:
    """Returns the share of the error about the labels of `rows` public rows that these scores leave.

    >>> error_left(6, 30) > 0.89, error_left(30, 30)
    (True, 0.0)
    """
    return math.sqrt(max(0.0, 1 - submissions / rows))


def price(competition: Competition) -> str:
    """Returns a sentence on what more submissions would cost; "" for practice, and where none are scored."""
    limit, rows = competition.total_limit, public_rows(competition)
    if competition.visibility == "practice" or limit is None or not scores_before_end(competition, rows):
        return ""
    return (
        f"each score tells something about the labels of the {rows} public rows: with {limit:,} submissions "
        f"a team can lower its error about them by at most {100 - 100 * error_left(limit, rows):.0f} %, with "
        f"{rows // 2} by {100 - 100 * error_left(rows // 2, rows):.0f} %, with {rows} to nothing"
    )
