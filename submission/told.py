"""How accurately published scores reveal hidden labels: the error of the labels' posterior, in points.

A participant starts from predictions with a known error, the prior, and knows the predictions p behind every
published RMSE s of n rows with labels y. With e the labels' errors about the prior, ``u = e^2``, and d the
differences between p and the prior, ``n s^2 = ||y - p||^2 = sum(u) - 2 d e + d d`` is linear in e and u. So
every published number is a linear equation with Gaussian noise, that of its rounding, and the posterior is
Gaussian (Kalman, "A new approach to linear filtering and prediction problems", 1960). It is assumed that the
participant knows which rows count, and does not use that labels are fractions of whole images;
benchmarks/attacks/board.py has a solver that uses it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from submission.arrays import FloatArray

KEPT = 0.9
"""Share of a participant's own error; labels whose error falls below this share are no longer hidden."""
BIT = 1 - 2 / math.pi
"""Smallest share of a variance that remains after one bit: the variance of half a normal distribution."""
UNKNOWN = 100 / math.sqrt(12)
"""Error in points of a participant who knows nothing: labels are uniform from 0 to 100."""
LEAST = 1e-6
"""Smallest error in points with which anybody is said to know the labels: steps are shares of it."""
PROBE = 20.0
"""Points by which the submissions of :func:`left_after` differ from the prior."""


class Knowledge:
    """The knowledge of a participant about the labels of n rows, updated by every published number.

    A row whose label was corrected counts as two rows, since earlier scores are about the old label.

    Args:
        error: Error of the prior in points: the standard deviation of every label about it, above 0.
        rows: Number of rows n, an int >= 1.
    """

    def __init__(self, error: float, rows: int) -> None:
        self.prior = error
        self.told = 0
        self._variance = np.concatenate([np.full(rows, error**2), np.full(rows, 2 * error**4)])
        self._learnt = np.zeros((2 * rows, 0))

    def copy(self) -> "Knowledge":
        """Returns a copy, on which the effect of a further number can be tried."""
        other = object.__new__(Knowledge)
        other.__dict__.update(self.__dict__)
        return other

    def number(
        self, added: FloatArray, score: float, step: float, rows: NDArray[np.bool_] | None = None
    ) -> None:
        """Update the knowledge by a published RMSE; even a coarse one is assumed to reveal one bit.

        Args:
            added: Differences (n,) between the scored predictions and the prior, in points.
            score: RMSE in points.
            step: Points to multiples of which the score is rounded.
            rows: True (n,) for the rows that are scored; None for all.
        """
        scored = np.ones(len(added), dtype=bool) if rows is None else rows
        rounding = (2 * scored.sum() * max(score, step) * step) ** 2 / 12
        self._learn(np.concatenate([np.where(scored, -2 * added, 0.0), scored.astype(float)]), rounding)

    def bit(self, added: FloatArray, other: FloatArray, rows: NDArray[np.bool_] | None = None) -> None:
        """Update the knowledge by the answer to which of two predictions is better.

        Args:
            added: Differences (n,) between the first predictions and the prior, in points.
            other: Differences (n,) between the second predictions and the prior, in points.
            rows: True (n,) for the rows that are compared; None for all.
        """
        scored = np.ones(len(added), dtype=bool) if rows is None else rows
        self._learn(
            np.concatenate([np.where(scored, -2 * (added - other), 0.0), np.zeros(len(added))]), np.inf
        )

    def _learn(self, gradient: FloatArray, noise: float) -> None:
        covered = self._variance * gradient - self._learnt @ (self._learnt.T @ gradient)
        variance = float(gradient @ covered)
        self.told += 1
        if variance <= 1e-9 * float(gradient**2 @ self._variance):
            return  # known before
        noise = min(noise, variance * BIT / (1 - BIT))
        column = covered / math.sqrt(variance + noise)
        self._learnt = np.concatenate([self._learnt, column[:, None]], axis=1)

    def error(self, rows: NDArray[np.bool_] | None = None) -> float:
        """Returns the remaining error of the labels in points, over all rows or those True in `rows` (n,)."""
        n = len(self._variance) // 2
        left = (self._variance - (self._learnt**2).sum(axis=1))[:n]
        return math.sqrt(max(float(np.mean(left if rows is None else left[rows])), 0.0))


def left_after(numbers: int, rows: int, error: float, step: float, ladder: bool = False) -> float:
    """Returns the remaining error of the labels in points, after `numbers` submissions made to find them.

    Each submission changes every row at random by `PROBE` points. After q exact scores of n rows the error is
    about sqrt(1 - q / n) of the prior's.

    Args:
        numbers: Number of scored submissions, an int >= 0; at most twice the number of rows are computed.
        rows: Number of public rows.
        error: Error of the prior in points.
        step: Points to multiples of which scores are rounded.
        ladder: True if a submission is only compared with the best one; nearly every second one is better.
    """
    known, rng = Knowledge(error, rows), np.random.Generator(np.random.Philox(key=[0, 80]))
    known.number(np.zeros(rows), error, step)
    for _ in range(min(numbers, 2 * rows)):
        added = PROBE * rng.choice([-1.0, 1.0], size=rows)
        if ladder:
            known.bit(added, np.zeros(rows))
        else:
            known.number(added, math.hypot(error, PROBE), step)
    return known.error()


def coarse_step(rows: int, error: float) -> float:
    """Returns the standard error of an RMSE of `rows` rows in points, rounded up to 1, 2 or 5 times 10^k.

    >>> coarse_step(30, 5.7)
    1.0
    """
    sampling = error / math.sqrt(2 * rows)
    power = 10.0 ** math.floor(math.log10(sampling))
    return next(round(times * power, 9) for times in (1, 2, 5, 10) if times * power >= sampling)
