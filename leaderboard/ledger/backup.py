"""A backup: one file with the organizer's private data, which can be written while submissions come in."""

import tempfile
import zipfile
from pathlib import Path

from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.versions import settle
from submission.competition import Competition
from submission.files import replacing

_MADE_ANEW = (
    "head",
    "ledger.sqlite",
    "ledger.sqlite-shm",
    "ledger.sqlite-wal",
    "entering",
    "predictions.bin",
)
"""Files that are written specially for the backup, or can be computed from the others."""


def backup(competition: Competition, out: Path) -> str:
    """Write ``private/`` as a zip that its owner alone can read, and return the head of its ledger.

    The ledger is copied by SQLite, with the contents of its write-ahead log, and no row is added in the
    meantime. Unpacked in the competition's folder, the zip restores the private part; `pack` writes the
    public part.

    Args:
        competition: Organizer's copy of the competition.
        out: Path of the zip, outside ``public/`` and ``private/``.

    Raises:
        UnusableInput: this is a participant's copy, the ledger is damaged or lacks a published row, or `out`
            cannot be used.
    """
    private = competition.require_private()
    competition.check_output(out, ".zip")
    ledger = Ledger(private / "ledger.sqlite")
    with (
        tempfile.TemporaryDirectory() as folder,
        ledger.transaction() as transaction,
        replacing(out) as temporary,
    ):
        settle(competition, transaction)
        snapshot = Path(folder) / "ledger.sqlite"
        head = ledger.snapshot(snapshot)
        temporary.touch(mode=0o600, exist_ok=False)
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for path in sorted(path for path in private.rglob("*") if path.is_file()):
                name = path.relative_to(private).as_posix()
                if name not in _MADE_ANEW and not path.name.startswith("."):
                    archive.write(path, f"private/{name}")
            archive.write(snapshot, "private/ledger.sqlite")
            archive.writestr("private/head", f"{head}\n")
    return head
