"""Exports of a competition to other platforms, ready to upload, and their rehearsal."""

import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from leaderboard.export import codabench, datacv, kaggle
from leaderboard.export.program import REFERENCES, filled, scoring_files, write_private
from leaderboard.feedback import public_rows, scores_before_end
from leaderboard.solutions import counting_solution
from submission import Competition, UnusableInput
from submission.competition import FEW
from submission.files import claim_folder, csv_text, digest_of

PLATFORMS = {"codabench": codabench, "datacv": datacv, "kaggle": kaggle}
"""Modules with a function `write`, and `LIMITS`, a sentence about what the platform does not keep."""
SECONDS = 600
"""Longest time that a rehearsed scorer may take."""


def export(competition: Competition, platform: str, out: Path, start: datetime) -> Path:
    """Write a competition for a platform, with a README.md that explains which files to upload where.

    The same competition and start, in UTC, give the same bytes. `out` is new or empty, or of an earlier
    export of this competition; it gets mode 0700, since it holds hidden labels.
    """
    if platform not in PLATFORMS:
        raise UnusableInput(f"platform {platform!r} is unknown; there are {', '.join(PLATFORMS)}")
    if out.resolve().is_relative_to(competition.root.resolve()):
        raise UnusableInput(f"{out} is inside the competition {competition.root}: name a folder elsewhere")
    if not scores_before_end(competition, public_rows(competition)):
        raise UnusableInput(
            f"fewer than {FEW} sets are public: {platform} would give scores that reveal their labels; build "
            "with more test sets"
        )
    claim_folder(out, f"{platform} {digest_of(competition.name, competition.files)}\n")
    PLATFORMS[platform].write(competition, out, start)
    write_private(out, {"README.md": filled(f"{platform}.md", competition)})
    return out


def rehearse(competition: Competition, platform: str, start: datetime) -> list[tuple[str, str]]:
    """Returns what the platform would show of a good, a bad and an empty submission, on either part."""
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
