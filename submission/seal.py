"""Hashes of files that a build wrote, in ``private/build.json``; scoring refuses a changed file.

They guard against mistakes, not against the organizer, who could write others.
"""

import hashlib
import json
from pathlib import Path

from submission.errors import UnusableInput
from submission.files import replacing, sha256

RECORD = "private/build.json"
DESCRIPTION = "public/competition.json"
SOLUTION = "private/solution.csv"
DEVIATIONS = "private/noise.csv"
"""File with the standard deviation of each hidden target by chance alone, in tracks that measure it."""


def write_seal(root: Path, description: str) -> None:
    """Add the SHA-256 of solution, deviations and `description`, the text of competition.json.

    They are written before competition.json, which ends a build: finishing an interrupted build writes both.
    """
    record = json.loads((root / RECORD).read_text(encoding="utf-8")) if (root / RECORD).exists() else {}
    hashes = {file: sha256(root / file) for file in (SOLUTION, DEVIATIONS) if (root / file).exists()}
    record["sha256"] = {**hashes, DESCRIPTION: hashlib.sha256(description.encode()).hexdigest()}
    with replacing(root / RECORD) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def check_sealed(root: Path, file: str) -> None:
    """Check that `file`, `DESCRIPTION`, `SOLUTION` or `DEVIATIONS`, is the one that the build wrote.

    Raises:
        UnusableInput: the file was changed, or the record lacks its hash; the message says what to do.
    """
    try:
        known = json.loads((root / RECORD).read_text(encoding="utf-8"))["sha256"][file]
    except (OSError, ValueError, LookupError, TypeError):
        known = ""
    if sha256(root / file) != known:
        raise UnusableInput(
            f"{root / file} is not the file that the build recorded in {RECORD}: restore it from a backup, "
            f"or remove {root / DESCRIPTION} and run the same `unseen build` again (to correct a label: "
            "unseen rescore)"
        )
