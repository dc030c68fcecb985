"""The DataCV challenge: answers without ids and their scoring program; `materialize` writes the sets."""

from datetime import datetime
from pathlib import Path

from leaderboard.export.program import scoring_files, write_private
from submission import Competition
from submission.files import csv_text, write_text
from submission.parser import ANSWER
from submission.predictions import write_answer

LIMITS = "The program scores every file: limits and the deadline of the competition are yours to keep."


def write(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``participants/`` (sample answer, order of its lines) and ``host/`` (program, reference data)."""
    write_private(out / "host", scoring_files(competition))
    ids = competition.ids("test")
    write_answer(out / "participants" / ANSWER, dict.fromkeys(ids, 0.5))
    write_text(out / "participants/order.csv", csv_text([("line", "id"), *enumerate(ids, start=1)]))
