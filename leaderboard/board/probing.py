"""Signs that somebody probes for labels: submissions that differ from an earlier one in few rows.

Changing one row, or a few, and reading the change of the score solves for their labels.
"""

from collections.abc import Sequence

from leaderboard.ledger.ledger import Entry
from submission.arrays import FloatArray

FEW_ROWS = 0.1
"""Of all rows: an honest change of a method moves most of them."""
SUSPICIOUS = 5
"""So many near copies are told to the organizer."""
_LOOK_BACK = 200
_SHOWN = 5


def near_copies(predictions: FloatArray) -> list[int]:
    """Which of a team's submissions (k, n), in order, differ from some earlier one in one row or a few.

    Decoys in between hide nothing, since the 200 before are compared; an exact copy is no probe.

    >>> import numpy as np
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


def probing_warning(entries: Sequence[Entry], predictions: FloatArray) -> str | None:
    """A line for the organizer if a team's submissions look like probes.

    Args:
        entries: its scored submissions, in order.
        predictions: theirs, (k, n).
    """
    if len(entries) <= SUSPICIOUS:
        return None
    near = near_copies(predictions)
    if len(near) < SUSPICIOUS:
        return None
    numbers = ", ".join(str(entries[i].number) for i in near[:_SHOWN])
    more = ", ..." if len(near) > _SHOWN else ""
    few = max(2, int(FEW_ROWS * predictions.shape[1]))
    return (
        f"team {entries[-1].team!r}: {len(near)} of {len(entries)} submissions differ from an earlier one in "
        f"at most {few} of {predictions.shape[1]} rows (numbers {numbers}{more}): labels are probed that way"
    )
