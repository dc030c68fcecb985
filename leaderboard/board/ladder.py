"""The parameter-free Ladder: only what betters a team's best submission by more than chance is told of.

Source: Blum & Hardt, The Ladder: A Reliable Leaderboard for Machine Learning Competitions, ICML 2015
(arXiv 1502.04585), section 4. There, points are independent; here, families are.
"""

import math
from collections.abc import Callable, Sequence

from leaderboard.board.statistics import Families, FloatArray

_ROUNDING = 1 + 1e-9


def standard_error(differences: FloatArray, families: Families) -> float:
    """Of the mean of paired loss differences (n,), in their unit, with families as what is sampled.

    With a row a family it is their standard deviation over the root of n; 0 where there is one family.

    >>> import numpy as np
    >>> rows = Families.of(["a", "b", "c"], ["x", "x", "x"])
    >>> standard_error(np.array([1.0, 2.0, 3.0]), rows) == (1 / 3) ** 0.5
    True
    """
    count = len(families)
    if count < 2:
        return 0.0
    residuals = families.sums(differences - differences.mean())
    return math.sqrt(count / (count - 1) * float(residuals @ residuals)) / len(differences)


def ladder(means: Sequence[float], squared: Callable[[int], FloatArray], families: Families) -> list[int]:
    """Which submission stands after each of k submissions of a team, 0 to k - 1: the first, until another's
    mean loss is lower by more than the standard error of the paired difference.

    A change within one family alone, of the others' size, never is: its gain equals its standard error.

    Args:
        means: of every submission, its mean squared error.
        squared: of a submission, its squared errors (n,); asked for only where its mean is the lower one.
        families: of the n rows.
    """
    standing: list[int] = []
    best = 0
    for candidate, mean in enumerate(means):
        gain = means[best] - mean
        if gain > 0 and gain > _ROUNDING * standard_error(squared(best) - squared(candidate), families):
            best = candidate
        standing.append(best)
    return standing
