"""The files that the host of a Kaggle competition uploads: the metric, the solution, participants' data."""

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from submission import Competition, pack
from submission.files import replacing, write_text
from submission.solution import solution_of

SOLUTION_COLUMNS = ("id", "target", "Usage")
SAMPLE = "sample_submission.csv"


def write_kaggle(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``host/`` (``metric.py``, ``solution.csv``) and ``data/`` (sample submission, participants' zip).

    Args:
        competition: Organizer's copy of the competition.
        out: Folder to write to.
        start: Not used, since dates are set on Kaggle's pages.

    Raises:
        UnusableInput: this is a participant's copy, or one of its files was changed.
    """
    host, data = out / "host", out / "data"
    host.mkdir(mode=0o700, exist_ok=True)
    write_text(host / "metric.py", metric(competition.decimals, competition.ids("test")))
    with replacing(host / "solution.csv") as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(_solution(competition), encoding="utf-8", newline="")
    write_text(data / SAMPLE, competition.text(SAMPLE))
    pack(competition, data / "participants.zip")


def metric(decimals: int, ids: Sequence[str]) -> str:
    """Returns the text of the metric's module, which rounds to `decimals` and requires `ids`."""
    text = Path(__file__).with_name("kaggle_metric.py").read_text(encoding="utf-8")
    text = text.replace("decimals: int = 2", f"decimals: int = {decimals}")
    # As the metric's own `digest`, whose module needs pandas.
    digest = hashlib.sha256(json.dumps(sorted(ids)).encode()).hexdigest()
    return text.replace('IDS = ""', f'IDS = "{digest}"')


def _solution(competition: Competition) -> str:
    """Returns the solution as CSV, a line for every id; rows that do not count are Ignored, without label."""
    counting = {row.id: row for row in solution_of(competition)}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(SOLUTION_COLUMNS)
    for name in competition.ids("test"):
        row = counting.get(name)
        writer.writerow([name, repr(row.prediction), row.usage] if row else [name, 0.0, "Ignored"])
    return stream.getvalue()
