"""The predictions in the kept files of submissions, and a table of all of them on disk.

With the table, publishing does not have to parse every file again. ``private/predictions.bin`` has a record
for every submission: the predictions in the order of the ids, and the SHA-256 of the submitted file. A record
without the right SHA-256, for example an incomplete one, is read from the file again. So the table may be
deleted at any time, and processes that write it at the same time write the same bytes.
"""

import contextlib
import errno
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leaderboard.ledger.ledger import Entry, Ledger
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.scoring import parse_submission


def kept_predictions(competition: Competition, ledger: Ledger, entry: Entry) -> dict[str, float]:
    """Returns the predictions in the kept file of a valid submission, {id: fraction}.

    Raises:
        UnusableInput: the file is missing, unreadable or invalid, or is not the one that was submitted.
    """
    path = ledger.file(entry)
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != entry.digest:
        raise UnusableInput(
            f"{path} is missing, or is not the file of submission {entry.number}: restore it from a backup"
        )
    try:
        return parse_submission(competition, data, path)
    except InvalidSubmission as error:
        raise UnusableInput(
            f"{path}, the file of submission {entry.number}, is no longer valid: {error.problems[0]}"
        ) from error


def kept_table(
    competition: Competition, ledger: Ledger, entries: Sequence[Entry]
) -> tuple[FloatArray, tuple[str, ...]]:
    """Returns the predictions of the submissions 1, 2, ... (k, ids), and warnings.

    Rows of invalid submissions have no meaning. If a file cannot be read, its row is nan, and a warning says
    so. The table is mapped from disk, so that only the used rows are read; it is in memory for a read-only
    copy, and where the disk is full.
    """
    path = ledger.path.with_name("predictions.bin")
    ids = competition.ids("test")
    record = np.dtype([("values", "<f8", (len(ids),)), ("digest", "S64")])
    scored = {entry.number: entry for entry in entries if entry.status == "scored"}
    wanted = np.zeros(max(scored, default=0), dtype="S64")
    wanted[[number - 1 for number in scored]] = [entry.digest.encode() for entry in scored.values()]
    if not len(wanted):
        return np.zeros((0, len(ids))), ()
    known = np.zeros_like(wanted)
    held = min(len(wanted), path.stat().st_size // record.itemsize) if path.is_file() else 0
    known[:held] = _map(path, record, held)["digest"]
    missing = [scored[index + 1] for index in np.nonzero((wanted != known) & (wanted != b""))[0].tolist()]
    if not ledger.read_only():
        with contextlib.suppress(OSError):  # a full disk
            return _completed(competition, ledger, path, record, missing, len(wanted))
    warnings: list[str] = []
    table = np.zeros(len(wanted), dtype=record)
    table[:held] = _map(path, record, held)
    for entry in missing:
        table[entry.number - 1] = _record(competition, ledger, entry, record, warnings)[0]
    return table["values"], tuple(warnings)


def _completed(
    competition: Competition,
    ledger: Ledger,
    path: Path,
    record: np.dtype,
    missing: Sequence[Entry],
    count: int,
) -> tuple[FloatArray, tuple[str, ...]]:
    """Add the missing records to the table on disk, and return its first `count` rows, and warnings.

    Raises:
        OSError: the table cannot be written.
    """
    warnings: list[str] = []
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for entry in missing:
            data = _record(competition, ledger, entry, record, warnings).tobytes()
            if os.pwrite(descriptor, data, (entry.number - 1) * record.itemsize) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(descriptor)
    return _map(path, record, count)["values"], tuple(warnings)


def _record(
    competition: Competition, ledger: Ledger, entry: Entry, record: np.dtype, warnings: list[str]
) -> NDArray[np.void]:
    """Returns the record of a submission (1,); nan, and a line in `warnings`, if its file is unreadable."""
    row = np.zeros(1, dtype=record)
    try:
        row["values"] = list(kept_predictions(competition, ledger, entry).values())
        row["digest"] = entry.digest.encode()
    except UnusableInput as error:
        row["values"] = np.nan
        warnings.append(f"{error}; numbers that depend on it are left out")
    return row


def _map(path: Path, record: np.dtype, count: int) -> NDArray[np.void]:
    return np.memmap(path, dtype=record, mode="r", shape=(count,)) if count else np.zeros(0, dtype=record)
