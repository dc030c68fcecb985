"""The rehearsal of an export: runs of its scorer on a good, a bad and an empty submission."""

import csv
import io
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from leaderboard.export import export
from leaderboard.export.program import scoring_files, write_private
from leaderboard.solutions import counting_solution
from submission import Competition

SECONDS = 600
PARTS = {"public": "reference_public", "private": "reference_final"}
"""The folder with the labels of each part."""


def rehearse(competition: Competition, platform: str, start: datetime) -> list[tuple[str, str]]:
    """Returns the texts that the platform would show for three submissions, on the public and private part.

    The export is tried, and its scorer runs in a Python without the kit. The good submission has the true
    values, which score 0; the bad one lacks a prediction; the empty one has no bytes.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(competition, platform, folder / platform, start)
        write_private(folder, scoring_files(competition))
        return [
            (f"{kind}, {part}", _scored(folder, folder / f"{kind} {part}", labels, data))
            for part, labels in PARTS.items()
            for kind, data in submissions(competition).items()
        ]


def submissions(competition: Competition) -> Mapping[str, bytes]:
    """Returns three submissions by name: "good" is perfect, "bad" lacks a number, "empty" has no bytes."""
    truth = {row.id: row.prediction for row in counting_solution(competition)}
    good = [(name, repr(truth.get(name, 0.5))) for name in competition.ids("test")]
    return {"good": _csv(good), "bad": _csv([*good[:-1], (good[-1][0], "")]), "empty": b""}


def _csv(rows: list[tuple[str, str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("id", "prediction"), *rows])
    return stream.getvalue().encode()


def _scored(program: Path, inputs: Path, labels: str, data: bytes) -> str:
    """Returns the output of the scorer on one line, with its exit code if that is not 0."""
    (inputs / "res").mkdir(parents=True)
    (inputs / "ref").symlink_to(program / labels)
    (inputs / "res/mine.csv").write_bytes(data)
    command = [sys.executable, "-I", str(program / "scoring_program/score.py"), str(inputs), str(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    text = " | ".join(line.strip() for line in (done.stdout + done.stderr).strip().splitlines())
    return f"{text} (exit code {done.returncode})" if done.returncode else text
