"""The exact optimal transport of COT and COTT, compiled."""

import numpy as np

from starter.data.images.kernel import kernel
from submission.arrays import FloatArray, IntArray


# One search has five arrays that all of its steps read and write: as functions of ten arguments each, the
# steps would be no easier to read, and a class is no option in compiled code that is kept on disk.
@kernel
def augmented_plan(  # noqa: C901, PLR0914, PLR0915
    gain: FloatArray, supply: IntArray, demand: IntArray, price: FloatArray
) -> IntArray:
    """Returns the plan, int64 (m, k) >= 0, with the largest sum of gain * plan and these row and column sums.

    Uses shortest augmenting paths with column prices (Jonker & Volgenant, "A Shortest Augmenting Path
    Algorithm for Dense and Sparse Linear Assignment Problems", Computing 1987), here with masses of more than
    one unit. Each row's mass goes to the column with the largest gain under the prices. If that column is
    full, rows there are moved along the cheapest path to a column with room (Dijkstra). That takes O(m k) for
    each row whose column is full, and few are if the prices at the start are near those at the end.

    Args:
        gain: Gain per unit of mass, float64 (m, k), finite.
        supply: Row sums, int64 (m,), >= 0.
        demand: Column sums, int64 (k,), >= 0, with the same total as `supply`.
        price: Prices of the columns at the start, float64 (k,); afterwards those at the end. Any prices lead
            to a plan with the largest sum.
    """
    m, k = gain.shape
    plan = np.zeros((k, m), np.int64)  # a column's rows lie side by side
    room = demand.copy()
    distance = np.empty(k)
    scanned = np.empty(k, np.bool_)
    by = np.empty(k, np.int64)
    came = np.empty(m, np.int64)
    reached = np.zeros(m, np.int64)
    search = 0  # the number of the search that reached a row
    for first in range(m):
        left = supply[first]
        while left > 0:
            search += 1
            scanned[:] = False
            reached[first] = search
            came[first] = -1
            for j in range(k):
                distance[j] = price[j] - gain[first, j]
                by[j] = first
            while True:
                near = -1
                for j in range(k):
                    if not scanned[j] and (near < 0 or distance[j] < distance[near]):
                        near = j
                scanned[near] = True
                if room[near] > 0:
                    break
                for i in range(m):
                    if plan[near, i] == 0 or reached[i] == search:
                        continue
                    reached[i] = search
                    came[i] = near
                    shift = distance[near] - (price[near] - gain[i, near])
                    for j in range(k):
                        through = shift + price[j] - gain[i, j]
                        if not scanned[j] and through < distance[j]:
                            distance[j] = through
                            by[j] = i
            for j in range(k):
                if scanned[j]:
                    price[j] += distance[near] - distance[j]
            moved = min(left, room[near])
            j = near
            while came[by[j]] >= 0:
                moved = min(moved, plan[came[by[j]], by[j]])
                j = came[by[j]]
            room[near] -= moved
            left -= moved
            j = near
            while True:
                i = by[j]
                plan[j, i] += moved
                if came[i] < 0:
                    break
                plan[came[i], i] -= moved
                j = came[i]
    return plan.T
