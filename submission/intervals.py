"""The interval of an RMSE over families of sets, with NumPy alone.

Sets of one family share their operation or their source, so that their errors are alike. The width of an
interval therefore depends on the number of families, not on the number of sets.
"""

import math
from statistics import NormalDist

import numpy as np

from submission.arrays import FloatArray

LEVEL = 0.95
"""Share of intervals that should contain the true RMSE."""
CHI_SQUARE_LEVEL = 0.97
"""Level of the chi-square interval (docs/decisions/0137).

For heavy-tailed errors (Student's t, five degrees of freedom) that a family shares, the interval contains the
truth in 0.90 of the simulations with 48 families at a level of 0.95, and in 0.93 at 0.97.
"""
FEWEST_FAMILIES = 6
"""Smallest number of families: with fewer, no sign test falls below 0.05, and intervals are too narrow."""


def rmse_interval(sums: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns the low and high ends (...) of the 95 % interval of RMSEs over g families.

    The mean square m is modelled as a scaled chi-square, m = s^2 chi2(d) / d, as for normal errors, between
    its 1.5 % and 98.5 % points, since 2.5 % and 97.5 % are too narrow for heavy tails (decision 0137). Its
    degrees of freedom d are estimated from its spread between families (Satterthwaite, Biometrics Bulletin
    1946): d = 2 / (v (t / z)^2), at least 1 and at most g. Here v is the jackknife variance of log m, with
    each family left out once (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 11). The factor
    t / z allows for the estimation of v from g families; t is the 97.5 % point of Student's distribution with
    g - 1 degrees of freedom, and z that of the normal distribution. `benchmarks/results/intervals.py`
    measures the coverage.

    Args:
        sums: Sum of squared errors of each family (..., g), in any unit; nan gives nan.
        sizes: Number of errors of each family (g,).

    Returns: Two arrays (...), in the unit of the errors; nan with fewer than `FEWEST_FAMILIES` families.

    >>> low, high = rmse_interval(np.array([4.0, 9, 1, 16, 4, 9]), np.ones(6))
    >>> print(f"{low:.2f} {math.sqrt(43 / 6):.2f} {high:.2f}")
    1.65 2.68 6.51
    """
    families, total = sums.shape[-1], sums.sum(axis=-1)
    if families < FEWEST_FAMILIES:
        return np.full(total.shape, np.nan), np.full(total.shape, np.nan)
    mean = total / sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.log((total[..., None] - sums) / (sizes.sum() - sizes))
        spread = (families - 1) * without.var(axis=-1) * (t_quantile(families - 1) / _Z) ** 2
        # Where one family alone has errors, nothing is left without it, and the spread is without bound.
        freedom = np.clip(2 / np.where(np.isfinite(spread), spread, np.inf), 1, families)
    known = np.geomspace(1, families, _POINTS)
    tail = (1 - CHI_SQUARE_LEVEL) / 2
    low, high = (
        np.sqrt(mean) * np.interp(freedom, known, np.sqrt(known / chi2_quantile(share, known)))
        for share in (1 - tail, tail)
    )
    return low, high


_POINTS = 400  # between which quantiles are interpolated, within 1e-4 of their value
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


def t_quantile(freedom: int) -> float:
    """Returns the 97.5 % point of Student's t, for 5 degrees of freedom or more.

    Uses the expansion of Cornish and Fisher (Abramowitz & Stegun 26.7.5), within 0.003 of the exact value.
    """
    z = _Z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def chi2_quantile(share: float, freedom: FloatArray) -> FloatArray:
    """Returns the quantiles (m,) of chi-square with `freedom` (m,) degrees of freedom, each 1 or more.

    Uses bisection on the series of the regularised incomplete gamma function (Abramowitz & Stegun 6.5.29).
    """
    shape = freedom / 2
    scale = np.array([math.lgamma(each + 1) for each in shape])
    low, high = np.zeros(len(shape)), shape + 10 * np.sqrt(shape) + 10
    for _ in range(50):
        x = (low + high) / 2
        term = np.exp(shape * np.log(x) - x - scale)
        found, step = term.copy(), 1
        while np.any(term > 1e-10 * found):
            term = term * x / (shape + step)
            found, step = found + term, step + 1
        low, high = np.where(found < share, x, low), np.where(found < share, high, x)
    return low + high
