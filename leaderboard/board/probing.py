"""Detection of teams that probe for labels: submissions that differ in as many directions as public rows.

Each score reveals the labels along one direction, the difference from another submission. A team with as many
directions as there are public rows knows all labels, whatever the differences look like; changing single rows
is the simplest way.
"""

from collections.abc import Sequence

import numpy as np

from leaderboard.ledger.ledger import Entry
from submission.arrays import FloatArray, IntArray

FEW_ROWS = 0.1
"""Share of all rows up to which a change is suspicious; an honest change of a method changes most rows."""
SMALL = 0.1
"""Share of the largest change of a row below which another row counts as unchanged."""
SUSPICIOUS = 5
"""Number of near copies from which on the organizer is warned."""
DIRECTIONS = 0.5
"""Share of the public rows; this number of directions leaves 0.7 of the labels' error."""
_LOOK_BACK = 200
_SHOWN = 5


def near_copies(predictions: FloatArray) -> list[int]:
    """Returns the indices of a team's submissions (k, n) that differ from an earlier one in only a few rows.

    Each is compared with the 200 submissions before it, so decoys in between do not help. Rows that change by
    less than `SMALL` of the largest change do not count, so that small changes elsewhere hide no probe. Exact
    copies do not count.

    >>> base = np.full(40, 0.6)
    >>> probes = np.where(np.eye(3, 40) > 0, 1.0, base)
    >>> near_copies(np.concatenate([[base, base], probes]))
    [2, 3, 4]
    """
    few = max(2, int(FEW_ROWS * predictions.shape[1]))
    found = []
    for number in range(1, len(predictions)):
        earlier = predictions[max(0, number - _LOOK_BACK) : number]
        changes = np.abs(earlier - predictions[number])
        differing = (changes > SMALL * changes.max(axis=1, keepdims=True)).sum(axis=1)
        if ((differing > 0) & (differing <= few)).any():
            found.append(number)
    return found


def directions(predictions: FloatArray, step: float) -> int:
    """Returns the number of directions in which submissions (k, n) differ by enough to change a score.

    Args:
        predictions: Predictions of the public rows (k, n), fractions.
        step: Points to multiples of which scores are rounded.

    >>> base = np.full(40, 0.6)
    >>> directions(np.stack([base, base + 0.1, base + 0.2, base * 1.001]), 0.01)
    1
    """
    known = predictions[np.isfinite(predictions).all(axis=1)]
    if len(known) < 2:
        return 0
    sizes = np.linalg.svd(100 * (known - known[0]), compute_uv=False)
    return int((sizes > known.shape[1] * step / np.sqrt(12)).sum())


def probing_warnings(
    entries: Sequence[Entry], predictions: FloatArray, public: IntArray, step: float
) -> list[str]:
    """Returns warnings for the organizer if a team's submissions look like probes for labels.

    Args:
        entries: Scored submissions, in order, of a team, or of teams with similar names.
        predictions: Their predictions (k, ids).
        public: Columns of the public rows (n,).
        step: Points to multiples of which scores are rounded.
    """
    if not entries:
        return []
    teams = " and ".join(map(repr, sorted({entry.team for entry in entries})))
    who = f"team{'s' if len({entry.team for entry in entries}) > 1 else ''} {teams}: "
    found = []
    near = near_copies(predictions) if len(entries) > SUSPICIOUS else []
    if len(near) >= SUSPICIOUS:
        numbers = ", ".join(str(entries[i].number) for i in near[:_SHOWN])
        more = ", ..." if len(near) > _SHOWN else ""
        few = max(2, int(FEW_ROWS * predictions.shape[1]))
        found.append(
            f"{who}{len(near)} of {len(entries)} submissions differ from an earlier one, but for small "
            f"changes, in at most {few} of {predictions.shape[1]} rows (numbers {numbers}{more}), a way to "
            "find out labels"
        )
    rank = directions(predictions[:, public], step) if len(entries) > DIRECTIONS * len(public) else 0
    if rank >= max(DIRECTIONS * len(public), 2):
        found.append(
            f"{who}{len(entries)} submissions differ in {rank} directions, with {len(public)} public rows: "
            "scores in as many directions as rows reveal every label (see unseen audit)"
        )
    return found
