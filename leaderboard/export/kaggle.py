"""The files that the host of a Kaggle competition uploads: the metric, the solution, participants' data."""

import csv
import io
from datetime import datetime
from pathlib import Path

from leaderboard.export.program import scorer, write_private
from leaderboard.solutions import counting_solution
from submission import Competition
from submission.files import write_text
from submission.pack import write_archive

SAMPLE = "sample_submission.csv"
LIMITS = ("Kaggle keeps a daily limit and a deadline that you set on its pages, but no total limit.",)


def write_kaggle(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``host/`` (metric and solution) and ``data/`` (sample submission, participants' zip)."""
    (out / "host").mkdir(mode=0o700, exist_ok=True)
    write_private(
        out / "host", {"metric.py": scorer(competition), "solution.csv": _solution(competition).encode()}
    )
    write_text(out / "data" / SAMPLE, competition.text(SAMPLE))
    write_archive(competition, out / "data/participants.zip")


def _solution(competition: Competition) -> str:
    """Returns the solution as CSV, a line for every id; rows that do not count are Ignored, without label."""
    counting = {row.id: row for row in counting_solution(competition)}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("id", "target", "Usage"))
    for name in competition.ids("test"):
        row = counting.get(name)
        writer.writerow([name, repr(row.prediction), row.usage] if row else [name, 0.0, "Ignored"])
    return stream.getvalue()
