"""Functions that score submissions and publish the leaderboard, with NumPy, pydantic and Jinja2 only."""
