"""Functions that score submissions, record them in a ledger and publish the leaderboard.

The package needs NumPy and Jinja2 only.
"""

from leaderboard.history import Line, history, history_table
from leaderboard.ledger import Entry
from leaderboard.publish import Published, organizer_table, publish
from leaderboard.solutions import Rescored, rescore
from leaderboard.submissions import Receipt, left_text, select, submit
from leaderboard.teams import add_team, check_team, team_id
from leaderboard.verify import Verified, backup, verify

__all__ = [
    "Entry",
    "Line",
    "Published",
    "Receipt",
    "Rescored",
    "Verified",
    "add_team",
    "backup",
    "check_team",
    "history",
    "history_table",
    "left_text",
    "organizer_table",
    "publish",
    "rescore",
    "select",
    "submit",
    "team_id",
    "verify",
]
