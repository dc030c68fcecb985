"""Signs that somebody probes for labels: submissions in as many directions as there are public rows.

Each score tells the labels along one direction, the change from another submission. Whoever has as many as
there are public rows knows all labels, whatever the changes look like; single rows are the plainest way.
"""

from collections.abc import Sequence

import numpy as np

from leaderboard.ledger.ledger import Entry
from submission.arrays import FloatArray, IntArray

FEW_ROWS = 0.1
"""Of all rows: an honest change of a method moves most of them."""
SUSPICIOUS = 5
"""So many near copies are told to the organizer."""
DIRECTIONS = 0.5
"""Of the public rows: so many directions leave .7 of the labels' error."""
_LOOK_BACK = 200
_SHOWN = 5


def near_copies(predictions: FloatArray) -> list[int]:
    """Which of a team's submissions (k, n), in order, differ from some earlier one in one row or a few.

    Decoys in between hide nothing, since the 200 before are compared; an exact copy is no probe.

    >>> base = np.full(40, 0.6)
    >>> probes = np.where(np.eye(3, 40) > 0, 1.0, base)
    >>> near_copies(np.concatenate([[base, base], probes]))
    [2, 3, 4]
    """
    few = max(2, int(FEW_ROWS * predictions.shape[1]))
    found = []
    for number in range(1, len(predictions)):
        earlier = predictions[max(0, number - _LOOK_BACK) : number]
        differing = (earlier != predictions[number]).sum(axis=1)
        if ((differing > 0) & (differing <= few)).any():
            found.append(number)
    return found


def directions(predictions: FloatArray, step: float) -> int:
    """In how many directions submissions (k, n) differ by enough to change a score.

    Args:
        predictions: for the public rows, fractions.
        step: to which scores are rounded, in points.

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
    """A line or two for the organizer if a team's submissions look like probes.

    Args:
        entries: scored submissions, in order, of a team, or of teams of a like name.
        predictions: theirs (k, ids).
        public: the columns of the public rows (n,).
        step: to which scores are rounded, in points.
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
            f"{who}{len(near)} of {len(entries)} submissions differ from an earlier one in at most {few} of "
            f"{predictions.shape[1]} rows (numbers {numbers}{more}): labels are probed that way"
        )
    rank = directions(predictions[:, public], step) if len(entries) > DIRECTIONS * len(public) else 0
    if rank >= max(DIRECTIONS * len(public), 2):
        found.append(
            f"{who}{len(entries)} submissions differ in {rank} directions, with {len(public)} public rows: "
            "scores in as many directions as rows tell every label (unseen audit says how well)"
        )
    return found
