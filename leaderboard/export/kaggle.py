"""The files that the host of a Kaggle competition uploads: the metric, the solution, participants' data."""

from datetime import datetime
from pathlib import Path

from leaderboard.export.program import scorer, write_private
from leaderboard.solutions import counting_solution
from submission import Competition
from submission.files import csv_text, write_text
from submission.pack import write_archive

SAMPLE = "sample_submission.csv"
LIMITS = "Kaggle keeps a daily limit and a deadline that you set on its pages, but no total limit."


def write(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``host/`` (metric, solution) and ``data/``; rows that do not count are Ignored, without label."""
    counting = {row.id: row for row in counting_solution(competition)}
    rows = [
        (name, repr(row.prediction), row.usage) if (row := counting.get(name)) else (name, 0.0, "Ignored")
        for name in competition.ids("test")
    ]
    solution = csv_text([("id", "target", "Usage"), *rows]).encode()
    write_private(out / "host", {"metric.py": scorer(competition), "solution.csv": solution})
    write_text(out / "data" / SAMPLE, competition.text(SAMPLE))
    write_archive(competition, out / "data/participants.zip")
