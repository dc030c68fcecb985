"""Taking submissions in and publishing who stands where.

Needs NumPy and Jinja2 only.
"""

from leaderboard.ledger import Entry, Ledger
from leaderboard.publish import Published, publish, submit
from leaderboard.results import Result, Results, results, tables
from leaderboard.table import Standing, leaderboard_csv, standings
from leaderboard.teams import check_team, team_id

__all__ = [
    "Entry",
    "Ledger",
    "Published",
    "Result",
    "Results",
    "Standing",
    "check_team",
    "leaderboard_csv",
    "publish",
    "results",
    "standings",
    "submit",
    "tables",
    "team_id",
]
