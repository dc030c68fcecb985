"""Functions that score submissions, record them in a ledger and publish the leaderboard.

The package needs NumPy and Jinja2 only.
"""

from leaderboard.board.history import Line, history, history_table
from leaderboard.board.publish import Published, publish
from leaderboard.board.results import Result, Results, results, tables
from leaderboard.board.table import Standing, leaderboard_csv, standings
from leaderboard.entry.limits import left_text
from leaderboard.entry.select import select
from leaderboard.entry.submit import Receipt, submit
from leaderboard.ledger.backup import backup
from leaderboard.ledger.ledger import Entry, Ledger
from leaderboard.ledger.rescore import Rescored, rescore
from leaderboard.ledger.teams import check_team, team_id
from leaderboard.ledger.verify import Verified, verify

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
    "backup",
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
    "submit",
    "tables",
    "team_id",
    "verify",
]
