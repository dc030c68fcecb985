"""Versions of the solution, all of which are kept as ``private/solutions/<SHA-256>.csv``.

The ledger names the newest version. ``private/solution.csv`` is a copy of it, which is restored if an
interruption left another one there.
"""

import hashlib
from pathlib import Path

from leaderboard.ledger.chain import COLUMNS
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.transaction import Transaction
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import replacing, sha256
from submission.seal import SOLUTION, check_sealed, replace_solution
from submission.solution import SolutionRow, read_solution

_SOLUTION = COLUMNS.index("solution")


def version_file(competition: Competition, digest: str) -> Path:
    """Returns the path for the version with this SHA-256; a version that was never replaced has no file."""
    return competition.private / "solutions" / f"{digest}.csv"


def keep_version(competition: Competition, data: bytes) -> str:
    """Keep the bytes of a version, readable by the organizer alone, and return its SHA-256."""
    digest = hashlib.sha256(data).hexdigest()
    path = version_file(competition, digest)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with replacing(path) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_bytes(data)
    return digest


def settle(competition: Competition, transaction: Transaction) -> str:
    """Make ``private/solution.csv`` the newest version in the ledger, and return its SHA-256.

    Raises:
        UnusableInput: the file is another version or is not sealed, and the newest version is not kept.
    """
    digest, newest = sha256(competition.root / SOLUTION), transaction.solution()
    kept = newest and version_file(competition, newest)
    if kept and kept.is_file():
        if digest != newest or not _sealed(competition):
            replace_solution(competition.root, kept.read_bytes())
        return newest or ""
    check_sealed(competition.root, SOLUTION)
    if newest is not None and digest != newest:
        raise UnusableInput(
            f"{competition.root / SOLUTION} is not the version {newest[:12]} that the ledger names: "
            "restore it from a backup"
        )
    return digest


def settle_interrupted(competition: Competition, ledger: Ledger) -> None:
    """Finish a correction of the solution if it was interrupted.

    Raises:
        UnusableInput: as :func:`settle`; or this is a participant's copy, or a read-only copy that would need
            to be finished.
    """
    competition.require_private()
    if not (competition.private / "solutions").is_dir():
        return
    if not ledger.read_only():
        with ledger.transaction() as transaction:
            settle(competition, transaction)
        return
    newest = next((row[_SOLUTION] for row in reversed(ledger.rows()) if row[_SOLUTION]), None)
    if newest is not None and not (sha256(competition.root / SOLUTION) == newest and _sealed(competition)):
        raise UnusableInput(
            f"{competition.root} was copied while its solution was being corrected, and cannot be written: "
            "make it writable, or copy it again"
        )


def read_version(competition: Competition, digest: str) -> tuple[SolutionRow, ...] | None:
    """Returns all rows of the version with this SHA-256; None if it is not kept or was changed.

    Raises:
        UnusableInput: its rows do not match the competition.
    """
    for path in (version_file(competition, digest), competition.root / SOLUTION):
        if path.is_file() and sha256(path) == digest:
            return read_solution(path, competition.ids("test"))
    return None


def _sealed(competition: Competition) -> bool:
    try:
        check_sealed(competition.root, SOLUTION)
    except UnusableInput:
        return False
    return True
