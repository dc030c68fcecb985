"""The competition bundle for Codabench (version 2): one zip, ready to upload.

Facts about the format: docs.codabench.org, YAML Structure and Competition Bundle Structure.
"""

import tempfile
import zipfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from leaderboard.export.program import Files, filled, reference, scoring_program
from submission import Competition, UnusableInput, pack
from submission.files import replacing

BUNDLE = "bundle.zip"
DAYS = 60
"""Length of the public phase in days if the competition has no deadline."""
FINAL_DAYS = 7
"""Length of the final phase in days."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_PAGES = ("overview.md", "evaluation.md", "terms.md")


def write_codabench(competition: Competition, out: Path, start: datetime) -> None:
    """Write ``bundle.zip`` with two phases: the public part, then the private part with one submission.

    Only the reference data hold hidden labels; Codabench hides these from participants, who get the
    participants' archive as the public data.

    Args:
        competition: Organizer's copy of the competition.
        out: Folder to write to.
        start: Start of the public phase, UTC.

    Raises:
        UnusableInput: this is a participant's copy, one of its files was changed, or `start` is not before
            the deadline, or the final phase would end after the year 9999.
    """
    times = _times(competition.deadline, start)
    files: Files = {
        "competition.yaml": filled("competition.yaml", competition, **times),
        "logo.png": Path(__file__).with_name("logo.png").read_bytes(),
    }
    files |= {f"pages/{page}": filled(page, competition) for page in _PAGES}
    files |= _below("scoring_program", scoring_program())
    files |= _below("reference_public", reference(competition, "Public"))
    files |= _below("reference_final", reference(competition, "Private"))
    with tempfile.TemporaryDirectory(dir=out) as folder:
        archive = pack(competition, Path(folder) / "participants.zip")
        _write_zip(out / BUNDLE, files, {"participants.zip": archive})


def _times(deadline: datetime | None, start: datetime) -> dict[str, datetime]:
    """Returns the first and the last second of both phases."""
    try:
        end = deadline or start + timedelta(days=DAYS)
        final_end = end + timedelta(days=FINAL_DAYS)
    except OverflowError as error:
        raise UnusableInput("a final phase after the year 9999 has no date: choose an earlier one") from error
    if end <= start:
        raise UnusableInput(f"--start {start:%Y-%m-%d} is not before the deadline, {end:%Y-%m-%d %H:%M:%S}")
    return {
        "start": start,
        "end": end,
        "final_start": end + timedelta(seconds=1),
        "final_end": final_end,
    }


def _below(folder: str, files: Files) -> Files:
    return {f"{folder}/{name}": data for name, data in files.items()}


def _write_zip(path: Path, files: Files, large: Mapping[str, Path]) -> None:
    """Write a zip readable by its owner only: files in memory, and large ones on disk uncompressed."""
    with replacing(path) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(_entry(name, zipfile.ZIP_DEFLATED), data)
            for name, file in large.items():
                entry = _entry(name, zipfile.ZIP_STORED)
                with file.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                    while block := source.read(1 << 20):
                        target.write(block)


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = compression
    entry.external_attr = 0o644 << 16
    return entry
