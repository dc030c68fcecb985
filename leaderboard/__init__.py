"""Taking submissions in and publishing who stands where.

Needs NumPy and Jinja2 only.
"""

from leaderboard.history import Line, history, history_table
from leaderboard.ledger import Entry, Ledger
from leaderboard.limits import left_text
from leaderboard.publish import Published, publish
from leaderboard.rescore import Rescored, rescore
from leaderboard.results import Result, Results, results, tables
from leaderboard.select import select, submissions_of
from leaderboard.submit import Receipt, submit
from leaderboard.table import Standing, leaderboard_csv, standings
from leaderboard.teams import check_team, team_id
from leaderboard.verify import Verified, verify

__all__ = [
    "Entry",
    "Ledger",
    "Line",
    "Published",
    "Receipt",
    "Rescored",
    "Result",
    "Results",
    "Standing",
    "Verified",
    "check_team",
    "history",
    "history_table",
    "leaderboard_csv",
    "left_text",
    "publish",
    "rescore",
    "results",
    "select",
    "standings",
    "submissions_of",
    "submit",
    "tables",
    "team_id",
    "verify",
]
