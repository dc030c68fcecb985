"""The rehearsal of an export: runs of its scorer on a good, a bad and an empty submission."""

import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from leaderboard.export import export
from leaderboard.export.program import REFERENCES, scoring_files, write_private
from leaderboard.solutions import counting_solution
from submission import Competition
from submission.files import csv_text

SECONDS = 600


def rehearse(competition: Competition, platform: str, start: datetime) -> list[tuple[str, str]]:
    """Returns the texts that the platform would show for three submissions, on the public and private part.

    The export is tried, and its scorer runs in a Python without the kit. The good submission has the true
    values, which score 0; the bad one lacks a prediction; the empty one has no bytes.
    """
    truth = {row.id: row.prediction for row in counting_solution(competition)}
    good = [("id", "prediction"), *((name, repr(truth.get(name, 0.5))) for name in competition.ids("test"))]
    submissions = {"good": csv_text(good), "bad": csv_text([*good[:-1], (good[-1][0], "")]), "empty": ""}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(competition, platform, folder / platform, start)
        write_private(folder, scoring_files(competition))
        return [
            (f"{kind}, {part.lower()}", _scored(folder, folder / f"{kind} {part}", labels, text))
            for part, labels in REFERENCES.items()
            for kind, text in submissions.items()
        ]


def _scored(program: Path, inputs: Path, labels: str, text: str) -> str:
    """Returns the output of the scorer on one line, with its exit code if that is not 0."""
    (inputs / "res").mkdir(parents=True)
    (inputs / "ref").symlink_to(program / labels)
    (inputs / "res/mine.csv").write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", str(program / "scoring_program/score.py"), str(inputs), str(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    shown = " | ".join(line.strip() for line in (done.stdout + done.stderr).strip().splitlines())
    return f"{shown} (exit code {done.returncode})" if done.returncode else shown
