"""The export in the form of the DataCV challenge: answers without ids, and a scoring program for them.

`starter.competition.materialize` writes the sets in the layout of DataCV's starter kit.
"""

import csv
import io
from datetime import datetime
from pathlib import Path

from leaderboard.export.program import Files, reference, scoring_program
from submission import Competition
from submission.datacv import write_answer
from submission.files import replacing, write_text
from submission.predictions import ANSWER


def write_datacv(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``participants/`` (sample answer, order of its lines) and ``host/`` (program, reference data).

    Args:
        competition: Organizer's copy of the competition.
        out: Folder to write to.
        start: Not used, since the program has no dates.

    Raises:
        UnusableInput: this is a participant's copy, or the solution was changed.
    """
    host, participants = out / "host", out / "participants"
    host.mkdir(mode=0o700, exist_ok=True)
    _write(host / "scoring_program", scoring_program())
    _write(host / "reference_public", reference(competition, "Public"))
    _write(host / "reference_final", reference(competition, "Private"))
    ids = competition.ids("test")
    write_answer(participants / ANSWER, dict.fromkeys(ids, 0.5))
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("line", "id"), *enumerate(ids, start=1)])
    write_text(participants / "order.csv", stream.getvalue())


def _write(folder: Path, files: Files) -> None:
    for name, data in files.items():
        with replacing(folder / name) as temporary:
            temporary.touch(mode=0o600, exist_ok=False)
            temporary.write_bytes(data)
