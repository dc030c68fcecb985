"""The published heads of the chain: on the leaderboard, and in ``private/head`` after every change.

A ledger without a row for one of these heads is not the newest one: it was rolled back, lost, or copied
without its write-ahead log. A ledger of an older release has no ``private/head`` and gets one on its next
change.
"""

import re
from collections.abc import Callable
from pathlib import Path

from leaderboard.ledger.chain import GENESIS
from submission.errors import UnusableInput
from submission.files import read_head, replacing

PUBLISHED = ("leaderboard.csv", "leaderboard.html", "leaderboard.md")
"""Published files whose groups of 64 hexadecimal digits are heads of the chain."""
_HEAD = re.compile(r"\b[0-9a-f]{64}\b")
_MOST = 1 << 30


def told_heads(ledger: Path) -> dict[str, str]:
    """Returns the heads in ``private/head`` and in the leaderboard's files, by a text with the place.

    Raises:
        UnusableInput: one of these files cannot be read.
    """
    found: dict[str, str] = {}
    for path in (_noted(ledger), *(ledger.parent.parent / name for name in PUBLISHED)):
        if path.is_file():
            text = read_head(path, _MOST).decode("utf-8", errors="replace")
            found |= {f"{path}, head {head}": head for head in _HEAD.findall(text)}
    return found


def check_heads(ledger: Path, rows: int, known: Callable[[str], bool]) -> None:
    """Check that the chain has every published head.

    Args:
        ledger: Path of the SQLite file, in the folder of ``head``.
        rows: Number of rows in the ledger.
        known: Function that returns True if a row has this hash.

    Raises:
        UnusableInput: a row is missing; the message names it and says how to restore it.
    """
    for where, head in told_heads(ledger).items():
        if head != GENESIS and not known(head):
            there = f"has {rows:,} rows" if ledger.exists() else "is missing"
            raise UnusableInput(
                f"{ledger} {there}, but none for {where}: it is out of date or incomplete. Restore the "
                f"newest {ledger.name}, with its {ledger.name}-wal if there is one, or `unseen backup`; if "
                "both are lost, see docs/how-to/verifying.md"
            )


def write_head(ledger: Path, head: str) -> None:
    """Write the newest head to ``private/head``, if it is not there already, and wait until it is on disk."""
    path = _noted(ledger)
    text = f"{head}\n".encode()
    if path.is_file() and path.read_bytes() == text:
        return
    with replacing(path) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_bytes(text)


def _noted(ledger: Path) -> Path:
    return ledger.with_name("head")
