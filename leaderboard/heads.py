"""Published heads: ``heads.json`` beside each board, and as a second source the receipts.

A head that is told has to be in the ledger from then on. So it is written to ``heads.json`` once the ledger
holds it on disk, and before any page shows it: what is stopped in between leaves a file that names a row of
the ledger, and a page that is no newer than the file. It is written while the ledger is read, when no other
process can commit, so that it never goes back. A head reveals nothing, since rows have nonces.
"""

import heapq
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from submission.errors import UnusableInput, unusable
from submission.files import read_head, read_text, write_text

RECEIPTS = "receipts"
CHANGES = "changes"
"""The folder of receipts of choices and changes, in that of the submissions' receipts."""
HEADS = "heads.json"
BOARDS = ("leaderboard.html", "leaderboard.md")
"""Files of a board, beside which there has to be `HEADS`."""
RECENT = 100
"""Number of the newest receipts whose rows must be there; a chain that holds a row holds all before it."""
_LARGEST = 1 << 20
_DIGEST = re.compile("[0-9a-f]{64}")


def write_heads(folder: Path, head: str) -> None:
    """Write the newest head into a board's folder, in the ledger's transaction, before the board."""
    write_text(folder / HEADS, json.dumps({"heads": [head]}) + "\n")


def read_heads(folder: Path) -> list[str]:
    """Returns the heads that were written beside a board; none if no board is there."""
    path = folder / HEADS
    board = next((name for name in BOARDS if (folder / name).is_file()), "")  # looked for before the heads
    if not path.exists():
        if board:
            raise UnusableInput(
                f"{path} is missing beside {board}, and nobody can tell whether the ledger is the newest: "
                "restore it, or see docs/how-to/verifying.md"
            )
        return []
    try:
        heads = json.loads(read_text(path, _LARGEST))["heads"]
        whole = len(heads) > 0 and all(_DIGEST.fullmatch(head) for head in heads)
    except (ValueError, LookupError, TypeError):
        whole = False
    if not whole:
        raise unusable(path, "this is no list of heads: restore it, or see docs/how-to/verifying.md")
    return list(heads)


def receipt_rows(folder: Path) -> Iterator[str]:
    """Yield the hashes of rows in the newest receipts of a folder; what is no receipt is passed over."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(".json")]
    for name in heapq.nlargest(RECENT, names, key=lambda name: (len(name), name)):
        try:
            row = json.loads(read_head(folder / name, _LARGEST))["row"]
        except (ValueError, LookupError, TypeError, UnusableInput):
            continue
        if isinstance(row, str) and _DIGEST.fullmatch(row):
            yield row


def keep_receipt(path: Path, facts: Mapping[str, object]) -> None:
    """Write a receipt, never over another; if that fails, what it tells still counts."""
    with suppress(OSError, UnusableInput):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            write_text(path, json.dumps(facts) + "\n")


def published_heads(root: Path) -> list[str]:
    """Returns the heads beside the board in a competition's folder, and those in its receipts."""
    receipts = root / RECEIPTS
    return [*read_heads(root), *receipt_rows(receipts), *receipt_rows(receipts / CHANGES)]
