"""Record of the files that `unseen predict` wrote: a hash of each, kept in ``private/predicted/``.

Anybody's CSV may be in ``submissions/``, but only predictions of the kit itself may be shown as baselines.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import read_text, sha256, write_text

FOLDER = "predicted"


def keep_hash(competition: Competition, path: Path) -> None:
    """Record that `unseen predict` wrote the present content of `path`, a file in the competition's folder.

    In a participant's copy, which has no ``private/``, nothing is recorded.
    """
    if competition.private.is_dir() and os.access(competition.private, os.W_OK):
        write_text(_note(competition, path), sha256(path) + "\n")


def is_predicted(competition: Competition, path: Path) -> bool:
    """Returns True if `unseen predict` wrote the present content of `path`."""
    note = _note(competition, path)
    try:
        return note.is_file() and read_text(note).strip() == sha256(path)
    except (OSError, UnusableInput):
        return False


def predicted_names(competition: Competition) -> Sequence[str]:
    """Returns the names of the methods with recorded predictions of the test sets whose files still exist."""
    notes = sorted((competition.private / FOLDER / "submissions").glob("*.csv"))
    return [note.stem for note in notes if (competition.root / "submissions" / note.name).exists()]


def _note(competition: Competition, path: Path) -> Path:
    return competition.private / FOLDER / path.parent.name / path.name
