"""What the host of a Kaggle competition uploads: the metric, the solution, and the participants' data."""

import csv
import io
from datetime import datetime
from pathlib import Path

from submission import Competition, pack, write_sample
from submission.files import replacing, write_text
from submission.solution import solution_of

SOLUTION_COLUMNS = ("id", "target", "Usage")


def write_kaggle(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``host/`` (``metric.py``, ``solution.csv``) and ``data/`` (sample submission, participants' zip).

    Args:
        competition: the organizer's copy.
        out: the folder to write to.
        start: not used: dates are set on Kaggle's pages.

    Raises:
        UnusableInput: this is a participant's copy, or one of its files was changed.
    """
    host, data = out / "host", out / "data"
    host.mkdir(mode=0o700, exist_ok=True)
    write_text(host / "metric.py", metric(competition.decimals))
    with replacing(host / "solution.csv") as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(_solution(competition), encoding="utf-8", newline="")
    write_sample(data / "sample_submission.csv", (row.id for row in solution_of(competition)))
    pack(competition, data / "participants.zip")


def metric(decimals: int) -> str:
    """The text of the metric's module, which rounds to `decimals` unless the host says otherwise."""
    text = Path(__file__).with_name("kaggle_metric.py").read_text(encoding="utf-8")
    return text.replace("decimals: int = 2", f"decimals: int = {decimals}")


def _solution(competition: Competition) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(SOLUTION_COLUMNS)
    writer.writerows([row.id, repr(row.prediction), row.usage] for row in solution_of(competition))
    return stream.getvalue()
