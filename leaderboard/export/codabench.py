"""The competition bundle for Codabench (version 2; docs.codabench.org): one zip, ready to upload."""

import tempfile
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

from leaderboard.export.program import Files, filled, scoring_files
from submission import Competition, UnusableInput
from submission.files import replacing
from submission.pack import add_file, file_entry, write_archive

BUNDLE = "bundle.zip"
DAYS = 60
"""Length of the public phase in days if the competition has no deadline."""
FINAL_DAYS = 7
"""Length of the final phase in days."""
LIMITS = "Codabench counts submissions by account, not by team, and who deletes one may hand in again."
_PAGES = ("overview.md", "evaluation.md", "terms.md")


def write(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``bundle.zip`` with two phases: the public part, then the private one with one submission."""
    end = competition.deadline or start + timedelta(days=DAYS)
    if end <= start:
        raise UnusableInput(f"--start {start:%Y-%m-%d} is not before the deadline, {end:%Y-%m-%d %H:%M:%S}")
    final = {"final_start": end + timedelta(seconds=1), "final_end": end + timedelta(days=FINAL_DAYS)}
    files: Files = {
        "competition.yaml": filled("competition.yaml", competition, start=start, end=end, **final),
        "logo.png": Path(__file__).with_name("logo.png").read_bytes(),
        **{f"pages/{page}": filled(page, competition) for page in _PAGES},
        **scoring_files(competition),
    }
    with (
        tempfile.TemporaryDirectory(dir=out) as folder,
        replacing(out / BUNDLE, private=True) as temporary,
        zipfile.ZipFile(temporary, "w") as bundle,
    ):
        for name, data in files.items():
            bundle.writestr(file_entry(name), data)
        archive = write_archive(competition, Path(folder) / "participants.zip")
        add_file(bundle, archive.name, archive, zipfile.ZIP_STORED)
