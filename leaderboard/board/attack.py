"""An attack on the board: an integer programme that infers public rows and labels from published numbers.

It is a demonstration with a time limit; the measure of safety is `submission.told`, since a solver that finds
nothing proves nothing. The attacker knows the baselines' scores on the board, their predictions, which can be
reproduced, and the number n of public rows. With p a baseline's prediction and q the best guess, in points,
``n RMSE^2 = sum((p - q)^2 z - 2 (p - q) u) + sum(u^2)`` over all rows is linear in the unknowns: z, 1 for
public rows; u, the difference of label and guess, which is 0 if z is 0; and the sum of u^2. Of all solutions,
the one with the labels closest to the guess is taken. Then MAE, and the fact that a label is a fraction of
the set's images, give the exact labels.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from submission.arrays import FloatArray, IntArray

GUESSED_BY = 6
"""Number of the best baselines whose mean, weighted by 1 / RMSE^2, is the guess."""
REACH = 4.0
"""Largest difference of a label from the guess, as a multiple of the best baseline's RMSE."""


@dataclass(frozen=True)
class Told:
    """The knowledge of a participant who reads the board.

    Attributes:
        predictions: Predictions of each of k baselines for the test rows (k, n), in points.
        rmse: RMSE of each baseline on the public rows (k,), in points.
        mae: MAE of each baseline on the public rows (k,), in points; None if it is not published.
        step: Points to multiples of which both are rounded.
        public: Number of public rows.
        sets: Number of each row's set (n,); all rows of a set are public, or none.
        images: Number of images of each row's set (n,), of which the label is a fraction; None if labels are
            no such fractions.
    """

    predictions: FloatArray
    rmse: FloatArray
    mae: FloatArray | None
    step: float
    public: int
    sets: IntArray
    images: IntArray | None

    @property
    def guess(self) -> FloatArray:
        """The guess of all labels (n,), in points: the weighted mean of the best baselines."""
        best = np.argsort(self.rmse, kind="stable")[:GUESSED_BY]
        return np.average(self.predictions[best], axis=0, weights=1 / np.maximum(self.rmse[best], 0.1) ** 2)

    @property
    def squares(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and largest sum of squared errors of each baseline (k,), given its rounded RMSE."""
        half = self.step / 2
        return self.public * np.maximum(self.rmse - half, 0) ** 2, self.public * (self.rmse + half) ** 2


def solve(told: Told, seconds: float) -> tuple[NDArray[np.bool_], FloatArray] | None:
    """Returns True (n,) for public rows, and labels (n,) in points, that fit the board; None for none.

    Rows that are not public get the guess as their label.

    Args:
        told: The knowledge of the attacker.
        seconds: Time limit of the solver HiGHS in seconds.
    """
    start = time.monotonic()
    found = _which(told, seconds)
    if found is None:
        return None
    public, labels = found
    if told.mae is not None and told.images is not None:
        exact = _labels(told, public, seconds - (time.monotonic() - start))
        labels[public] = labels[public] if exact is None else exact
    return found


def _reach(told: Told) -> tuple[FloatArray, FloatArray]:
    """Returns the smallest (<= 0) and largest difference of each label from the guess (n,), in points."""
    most = REACH * max(float(told.rmse.min()), told.step)
    return np.maximum(-most, -told.guess), np.minimum(most, 100 - told.guess)


def _which(told: Told, seconds: float) -> tuple[NDArray[np.bool_], FloatArray] | None:
    """Solve the integer programme over z of the sets (s,), u (n,), |u| (n,) and the sum of u^2.

    Returns:
        True (n,) for public rows, and the labels (n,) in points; None if the solver finds no solution.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n, s = len(told.sets), int(told.sets.max()) + 1
    of, off = np.eye(s)[told.sets], told.predictions - told.guess
    low, high = _reach(told)
    one, no, none = np.eye(n), np.zeros((n, s)), np.zeros((n, n))
    rows = [
        (np.hstack([of.sum(axis=0), np.zeros(2 * n + 1)])[None], told.public, told.public),
        (np.hstack([-low[:, None] * of, one, none, np.zeros((n, 1))]), 0.0, np.inf),
        (np.hstack([-high[:, None] * of, one, none, np.zeros((n, 1))]), -np.inf, 0.0),
        (np.hstack([no, -one, one, np.zeros((n, 1))]), 0.0, np.inf),
        (np.hstack([no, one, one, np.zeros((n, 1))]), 0.0, np.inf),
        (np.hstack([off**2 @ of, -2 * off, np.zeros_like(off), np.ones((len(off), 1))]), *told.squares),
    ]
    most = float(np.maximum(-low, high).max())
    ends = np.concatenate([np.ones(s), high, np.full(n, most), [told.public * most**2]])
    found = milp(
        np.concatenate([np.zeros(s + n), np.ones(n), [0.0]]),
        integrality=np.concatenate([np.ones(s), np.zeros(2 * n + 1)]),
        bounds=Bounds(np.concatenate([np.zeros(s), low, np.zeros(n + 1)]), ends),
        constraints=[LinearConstraint(*row) for row in rows],
        options={"time_limit": seconds},
    )
    if found.x is None:
        return None
    return (of @ found.x[:s]) > 0.5, told.guess + found.x[s : s + n]


def _labels(told: Told, public: NDArray[np.bool_], seconds: float) -> FloatArray | None:
    """Returns the labels of the public rows (m,), in points, as fractions of images that fit RMSE and MAE.

    The unknowns are the number of correct images (m,), the sum of u^2, and the columns of `_distances`. The
    result is None if the solver finds no solution.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    assert told.images is not None
    share, guess = 100 / told.images[public], told.guess[public]
    low, high = _narrowed(told, public)
    distances, upper = _distances(told, public, low, high)
    off, m = told.predictions[:, public] - guess, len(share)
    squared = np.zeros((len(off), m + 1 + len(upper)))
    squared[:, :m], squared[:, m] = -2 * off * share, 1.0
    known = (off**2 + 2 * off * guess).sum(axis=1)
    found = milp(
        np.zeros(m + 1 + len(upper)),
        integrality=np.concatenate([np.ones(m), [0.0], np.tile([0.0, 1.0], len(upper) // 2)]),
        bounds=Bounds(
            np.concatenate([np.ceil(low / share - 1e-6), np.zeros(1 + len(upper))]),
            np.concatenate([np.floor(high / share + 1e-6), [np.inf], upper]),
        ),
        constraints=[LinearConstraint(squared, *(end - known for end in told.squares)), *distances],
        options={"time_limit": max(seconds, 1.0)},
    )
    return None if found.x is None else np.round(found.x[:m]) * share


def _distances(
    told: Told, public: NDArray[np.bool_], low: FloatArray, high: FloatArray
) -> tuple[list[Any], FloatArray]:
    """Returns the constraints that follow from MAE, and the upper bounds of the columns (2 e,) that they add.

    ``|p - y|`` is linear if p is outside the range of y. In the e other cases it is p - y + 2 max(y - p, 0);
    each adds a column for max(y - p, 0) and a binary column that is 1 if y > p.
    """
    from scipy.optimize import LinearConstraint

    assert told.mae is not None
    assert told.images is not None
    predictions, share = told.predictions[:, public], 100 / told.images[public]
    is_either = (low < predictions) & (predictions < high)
    sides = np.where(is_either | (predictions >= high), 1.0, -1.0)
    either = np.argwhere(is_either)
    (k, m), width = predictions.shape, len(low) + 1 + 2 * len(either)
    absolute, rows = np.zeros((k, width)), np.zeros((len(either), 3, width))
    absolute[:, :m] = -sides * share
    least, upper = np.zeros((len(either), 3)), np.ones((len(either), 2))
    for place, (method, row) in enumerate(either):
        below, p = m + 1 + 2 * place, predictions[method, row]
        absolute[method, below] = 2.0
        rows[place, 0, [below, row]] = 1.0, -share[row]
        rows[place, 1, [below, below + 1]] = -1.0, high[row] - p
        rows[place, 2, [below, row, below + 1]] = -1.0, share[row], low[row] - p
        least[place] = -p, 0.0, low[row]
        upper[place, 0] = high[row] - p
    middle, half = told.public * told.mae - (sides * predictions).sum(axis=1), told.public * told.step / 2
    found = [LinearConstraint(absolute, middle - half, middle + half)]
    if len(either):
        found.append(LinearConstraint(rows.reshape(-1, width), least.ravel()))
    return found, upper.ravel()


def _narrowed(told: Told, public: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Returns the lowest and the highest label of each public row (m,), in points, that fit all RMSE."""
    from scipy.optimize import linprog

    guess, (low, high) = told.guess[public], _reach(told)
    off = told.predictions[:, public] - guess
    rows = np.hstack([-2 * off, np.ones((len(off), 1))])
    least, most = (end - (off**2).sum(axis=1) for end in told.squares)
    limits = [*zip(low[public], high[public], strict=True), (0.0, None)]
    ends = []
    for cost in np.concatenate([np.eye(len(guess)), -np.eye(len(guess))]):
        found = linprog(
            np.append(cost, 0.0), np.vstack([rows, -rows]), np.concatenate([most, -least]), bounds=limits
        )
        ends.append(found.fun if found.success else float(min(cost @ low[public], cost @ high[public])))
    below, above = np.array(ends).reshape(2, -1)
    return guess + below - 1e-6, guess - above + 1e-6
