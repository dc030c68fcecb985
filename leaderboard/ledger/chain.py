"""The rows of the ledger as a chain: each holds the hash of the row before it, so that changes are noticed.

The hash of a row is computed from its values as a JSON list. They include a nonce of 128 random bits: the
newest hash, the chain's head, is published, and without the nonce somebody could test guessed labels against
it.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

COLUMNS = (
    *("number", "time", "event", "entry", "team", "team_id", "digest", "status", "public", "private"),
    *("scorer", "solution", "note", "nonce", "previous"),
)
"""The columns of a row, without its hash."""
GENESIS = "0" * 64
"""The previous hash of the first row."""


def link(values: Sequence[object]) -> str:
    """Returns the hash of a row: the SHA-256 of its values in the order of `COLUMNS`, in hexadecimal (64).

    >>> link([1, "a", 0.1])[:16]
    '6b864608c3d61b9e'
    """
    return hashlib.sha256(json.dumps(list(values), separators=(",", ":")).encode()).hexdigest()


def chain_problems(rows: Iterable[Sequence[object]]) -> list[str]:
    """Returns a line for every break in a chain of rows, each of which has the `COLUMNS` and its hash."""
    problems, previous = [], GENESIS
    for number, (*values, digest) in enumerate(rows, 1):
        if values[0] != number:
            problems.append(f"row {values[0]} is where row {number} should be: rows were removed or moved")
        elif link(values) != digest:
            problems.append(f"row {number} was altered: its hash does not fit")
        elif values[-1] != previous:
            problems.append(f"row {number} does not follow the row before it")
        previous = str(digest)
    return problems


def order_problems(rows: Iterable[Sequence[object]]) -> list[str]:
    """Returns a line for every row that is older than the row before it."""
    problems, previous = [], ""
    for number, row in enumerate(rows, 1):
        time = str(row[COLUMNS.index("time")])
        if time < previous:
            problems.append(f"row {number} is of {time}, before the row above it: a clock went back")
        previous = max(previous, time)
    return problems
