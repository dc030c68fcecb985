"""Submissions to the competition of made-up numbers, and a clock that moves an hour a look."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from submission import Competition
from submission.predictions import write_predictions
from submission.solution import solution_of

Clock = Callable[[], datetime]


@pytest.fixture
def clock() -> Clock:
    times = (datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(hours=n) for n in range(1, 100))
    return lambda: next(times)


@pytest.fixture
def halves(competition: Competition, tmp_path: Path) -> Path:
    """A submission that predicts 0.5 everywhere: errors in points, public 40 0 30 10, private 20 20 30 40."""
    path = tmp_path / "halves.csv"
    write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5))
    return path


@pytest.fixture
def perfect(competition: Competition, tmp_path: Path) -> Path:
    path = tmp_path / "perfect.csv"
    write_predictions(path, {row.id: row.prediction for row in solution_of(competition)})
    return path
