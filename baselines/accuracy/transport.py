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
    row = np.empty(k, np.int64)
    origin = np.empty(k, np.int64)
    for first in range(m):
        left = supply[first]
        while left > 0:
            row[:] = first
            origin[:] = -1
            end = _cheapest_path(price, room, cheapest, loss, row, origin, price - gain[first])
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
    price: FloatArray,
    room: IntArray,
    cheapest: IntArray,
    loss: FloatArray,
    row: IntArray,
    origin: IntArray,
    distance: FloatArray,
) -> int:
    """Returns the column with room that a row reaches at the lowest cost, and updates the prices.

    `row` (k,) and `origin` (k,) say which row is moved into a column and from which column, -1 for the row
    that has no column yet: at first that row everywhere, afterwards the path. `distance` (k,) is at first the
    cost of that row in each column.
    """
    k = len(price)
    scanned = np.zeros(k, np.bool_)
    near = _nearest(distance, scanned)
    while room[near] == 0:
        scanned[near] = True
        before = distance[near] - price[near]
        for j in range(k):
            through = before + loss[near, j] + price[j]
            if through < distance[j] and not scanned[j]:
                distance[j] = through
                row[j] = cheapest[near, j]
                origin[j] = near
        near = _nearest(distance, scanned)
    for j in range(k):
        if scanned[j]:
            price[j] += distance[near] - distance[j]
    return near


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
    to = np.flatnonzero(cheapest == i)
    if len(to) == 0:
        return
    loss[to] = np.inf
    for other in range(gain.shape[0]):
        if plan[a, other] == 0:
            continue
        for b in to:
            lost = gain[other, a] - gain[other, b]
            if lost < loss[b]:
                loss[b] = lost
                cheapest[b] = other
