"""Functions that score submissions, record them in a ledger and publish the leaderboard.

The package needs NumPy, pydantic and Jinja2 only.
"""
