"""The exact optimal transport of COT and COTT, compiled."""

import numpy as np

from starter.data.operations.kernels import kernel
from submission.arrays import BoolArray, FloatArray, IntArray


@kernel
def augmented_plan(gain: FloatArray, supply: IntArray, demand: IntArray, price: FloatArray) -> IntArray:
    """Returns the plan, int64 (m, k) >= 0, with the largest sum of gain * plan and these row and column sums.

    Uses shortest augmenting paths with column prices (Jonker & Volgenant, "A Shortest Augmenting Path
    Algorithm for Dense and Sparse Linear Assignment Problems", Computing 1987), here with masses of more than
    one unit. Each row's mass goes to the column with the largest gain under the prices. If that column is
    full, rows there are moved along the cheapest path to a column with room (Dijkstra). Which row is the
    cheapest to move from one column to another, and what is lost by it, is kept for each pair of columns, so
    that a search takes O(k) for each column on its way, and a move O(m) for the column that a row leaves. Any
    prices at the start lead to such a plan; afterwards they are those at the end.
    """
    m, k = gain.shape
    plan = np.zeros((k, m), np.int64)  # a column's rows lie side by side
    cheapest = np.full((k, k), -1, np.int64)
    loss = np.full((k, k), np.inf)  # a column of demand 0 has no rows
    room = demand.copy()
    for first in range(m):
        left = supply[first]
        while left > 0:
            end, row, origin = _cheapest_path(first, gain[first], price, room, cheapest, loss)
            moved = min(left, room[end])
            j = end
            while origin[j] >= 0:
                moved = min(moved, plan[origin[j], row[j]])
                j = origin[j]
            _move(moved, end, (row, origin), plan, gain, cheapest, loss)
            room[end] -= moved
            left -= moved
    return plan.T


@kernel
def _cheapest_path(
    first: int, gain: FloatArray, price: FloatArray, room: IntArray, cheapest: IntArray, loss: FloatArray
) -> tuple[int, IntArray, IntArray]:
    """Returns the column with room that a row reaches at the lowest cost, and the path; updates the prices.

    The path says for each column which row is moved into it (k,) and from which column (k,), -1 for the row
    `first`, whose gains (k,) are given and which has no column yet.
    """
    k = len(price)
    row, origin = np.full(k, first), np.full(k, -1)
    distance = price - gain
    scanned = np.zeros(k, np.bool_)
    near = _nearest(distance, scanned)
    while room[near] == 0:
        scanned[near] = True
        before = distance[near] - price[near]
        for j in range(k):
            through = before + loss[near, j] + price[j]
            if through < distance[j] - 1e-14 and not scanned[j]:  # less is rounding: detours that split rows
                distance[j] = through
                row[j] = cheapest[near, j]
                origin[j] = near
        near = _nearest(distance, scanned)
    for j in range(k):
        if scanned[j]:
            price[j] += distance[near] - distance[j]
    return near, row, origin


@kernel
def _nearest(distance: FloatArray, scanned: BoolArray) -> int:
    """Returns the column at the smallest distance that was not scanned yet."""
    near = -1
    for j in range(len(distance)):
        if not scanned[j] and (near < 0 or distance[j] < distance[near]):
            near = j
    return near


@kernel
def _move(
    moved: int,
    end: int,
    path: tuple[IntArray, IntArray],
    plan: IntArray,
    gain: FloatArray,
    cheapest: IntArray,
    loss: FloatArray,
) -> None:
    """Move mass along the path, and keep for each pair of columns which row is the cheapest to move."""
    row, origin = path
    j = end
    while j >= 0:
        i = row[j]
        _enter(i, gain[i], j, cheapest[j], loss[j])
        plan[j, i] += moved
        j = origin[j]
    j = end
    while origin[j] >= 0:
        i = row[j]
        a = origin[j]
        plan[a, i] -= moved
        if plan[a, i] == 0:
            _leave(i, a, plan, gain, cheapest[a], loss[a])
        j = a


@kernel
def _enter(i: int, gain: FloatArray, a: int, cheapest: IntArray, loss: FloatArray) -> None:
    """Compare a row that enters the column `a` with the rows that were the cheapest to move from it."""
    for b in range(len(gain)):
        lost = gain[a] - gain[b]
        if lost < loss[b]:
            loss[b] = lost
            cheapest[b] = i


@kernel
def _leave(i: int, a: int, plan: IntArray, gain: FloatArray, cheapest: IntArray, loss: FloatArray) -> None:
    """Find the cheapest rows to move from the column `a` anew, where that was a row that has left."""
    lost = cheapest == i
    if not lost.any():
        return
    loss[lost] = np.inf
    for other in range(gain.shape[0]):
        if plan[a, other] > 0:
            _enter(other, gain[other], a, cheapest, loss)
