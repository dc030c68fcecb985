"""Submissions to the competition of made-up numbers, and a clock that moves an hour a look."""

from datetime import datetime, timedelta, timezone

import pytest

from submission.predictions import write_predictions
from submission.solution import solution_of


@pytest.fixture
def clock():
    times = (datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(hours=n) for n in range(1, 100))
    return lambda: next(times)


@pytest.fixture
def halves(competition, tmp_path):
    """A submission that predicts 0.5 everywhere: errors in points, public 40 0 30 10, private 20 20 30 40."""
    path = tmp_path / "halves.csv"
    write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5))
    return path


@pytest.fixture
def perfect(competition, tmp_path):
    path = tmp_path / "perfect.csv"
    write_predictions(path, {row.id: row.prediction for row in solution_of(competition)})
    return path
