"""The metrics that score predictions. Only here do fractions become percentage points."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from submission.arrays import FloatArray
from submission.ids import split_id
from submission.table import Tabular, cell

RANKED = 3
"""Smallest number of sets of a subject for a rank correlation; with two it would always be 1 or -1."""
LEVEL = 0.95
"""Share of intervals that should contain the true RMSE."""
CHI_SQUARE_LEVEL = 0.97
"""Level of the chi-square interval: at 0.95 it holds too few truths of heavy tails (docs/decisions/0086)."""
FEWEST_FAMILIES = 6
"""Smallest number of families: with fewer, no sign test falls below 0.05, and intervals are too narrow."""
INTERVAL_FAMILIES = 10
"""Smallest number of families for which a table shows an interval; of six it is twice as wide as the RMSE."""


@dataclass(frozen=True)
class Score(Tabular):
    """The error of predictions, and their rank correlation with the targets.

    Attributes:
        rmse: Root mean squared error in percentage points, 0 to 100, lower is better; it decides the ranks.
        mae: Mean absolute error in percentage points, 0 to 100, lower is better.
        spearman: Rank correlation, -1 to 1, higher is better; nan if it is undefined.
        n: Number of scored predictions, an int >= 1.
        r_squared: Square of the correlation, 0 to 1, higher is better; nan where Spearman's is.
    """

    rmse: float
    mae: float
    spearman: float
    n: int
    r_squared: float = math.nan

    def rounded(self, decimals: int) -> "Score":
        """Returns the score as it is published, the correlations to at least two decimals.

        >>> Score(rmse=4.9849, mae=3.14159, spearman=0.77777, n=48, r_squared=0.60493).rounded(2)
        Score(rmse=4.98, mae=3.14, spearman=0.78, n=48, r_squared=0.6)
        """
        rmse, mae = round(self.rmse, decimals), round(self.mae, decimals)
        spearman, r_squared = (round(each, max(decimals, 2)) for each in (self.spearman, self.r_squared))
        return Score(rmse, mae, spearman, self.n, r_squared)

    def _rows(self) -> list[list[str]]:
        numbers = map(cell, (self.rmse, self.mae, self.spearman))
        return [["RMSE", "MAE", "Spearman", "predictions"], [*numbers, f"{self.n:,}"]]


def score(predictions: Mapping[str, float], targets: Mapping[str, float]) -> Score:
    """Score the predictions, {id: fraction}, of the ids in `targets`; others are ignored.

    RMSE and MAE are pooled over all ids. Correlations are computed for each subject and then averaged, since
    across subjects they would reward knowing which subject is the better one. They are nan if they are
    undefined for any subject (fewer than `RANKED` sets, or all targets or all predictions equal).
    """
    predicted = np.array([predictions[name] for name in targets])
    true = np.array(list(targets.values()))
    subjects = np.array([split_id(name)[0] for name in targets])
    error = 100 * (predicted - true)
    pairs = [(predicted[mine], true[mine]) for mine in (subjects == name for name in np.unique(subjects))]
    ranked = all(len(own) >= RANKED for _, own in pairs)
    return Score(
        rmse=math.sqrt(np.mean(error**2)),
        mae=float(np.mean(np.abs(error))),
        spearman=float(np.mean([spearman(*pair) for pair in pairs])) if ranked else math.nan,
        n=len(true),
        r_squared=float(np.mean([pearson(*pair) ** 2 for pair in pairs])) if ranked else math.nan,
    )


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Returns Spearman's rank correlation of x (n,) and y (n,), -1 to 1; ties share their average rank.

    It is nan if it is undefined: n < 2, or all of x or all of y equal. (Spearman, "The proof and measurement
    of association between two things", 1904.)

    >>> spearman([0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.8, 0.7])
    0.8
    """
    return pearson(_ranks(np.asarray(x, dtype=np.float64)), _ranks(np.asarray(y, dtype=np.float64)))


def pearson(x: FloatArray, y: FloatArray) -> float:
    """Returns the correlation of x (n,) and y (n,), whose square is a line's R squared; nan as `spearman`."""
    if len(x) < 2:
        return math.nan
    a, b = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(np.clip(a @ b / scale, -1, 1)) if scale else math.nan


def skill(rmse: float, rmse_constant: float) -> float:
    """Returns 1 - (rmse / rmse_constant)^2, the explained share of the constant's squared error, at most 1.

    0 is as good as predicting the mean meta-train target for every set. It is nan if `rmse_constant` is 0.
    """
    return 1 - (rmse / rmse_constant) ** 2 if rmse_constant else math.nan


def deviation_floor(deviations: ArrayLike) -> float:
    """Returns the RMSE, in points, of chance alone if the targets have these standard deviations (m,)."""
    return 100 * math.sqrt(np.mean(np.square(np.asarray(deviations, dtype=np.float64))))


def rmse_interval(sums: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns the low and high ends (...) of the 95 % interval of RMSEs over g families.

    The mean square m is modelled as a scaled chi-square, m = s^2 chi2(d) / d, as for normal errors, between
    its 1.5 % and 98.5 % points, since 2.5 % and 97.5 % are too narrow for heavy tails (decision 0086). Its
    degrees of freedom d are estimated from its spread between families (Satterthwaite, Biometrics Bulletin
    1946): d = 2 / (v (t / z)^2), at least 1 and at most g. Here v is the jackknife variance of log m, with
    each family left out once (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 11). The factor
    t / z allows for the estimation of v from g families: the 97.5 % points of Student's distribution with g -
    1 degrees of freedom, and of the normal one. `sums` of squared errors are (..., g), of `sizes` (g,); both
    ends are nan with fewer than `FEWEST_FAMILIES` families.

    >>> low, high = rmse_interval(np.array([4.0, 9, 1, 16, 4, 9]), np.ones(6))
    >>> print(f"{low:.2f} {math.sqrt(43 / 6):.2f} {high:.2f}")
    1.65 2.68 6.51
    """
    families = sums.shape[-1]
    total = sums.sum(axis=-1)
    if families < FEWEST_FAMILIES:
        return np.full(total.shape, np.nan), np.full(total.shape, np.nan)
    mean = total / sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.log((total[..., None] - sums) / (sizes.sum() - sizes))
        spread = (families - 1) * without.var(axis=-1) * (t_quantile(families - 1) / _Z) ** 2
        # Where one family alone has errors, nothing is left without it, and the spread is without bound.
        freedom = np.clip(2 / np.where(np.isfinite(spread), spread, np.inf), 1, families)
    known, *ends = _chi_square_ends(families)
    low, high = (np.sqrt(mean) * np.interp(freedom, known, end) for end in ends)
    return low, high


@cache
def _chi_square_ends(families: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns degrees of freedom from 1 to `families`, and the ends' ratios to the RMSE with each."""
    known = np.geomspace(1, families, _POINTS)
    tail = (1 - CHI_SQUARE_LEVEL) / 2
    low, high = (np.sqrt(known / chi2_quantile(share, known)) for share in (1 - tail, tail))
    return known, low, high


_POINTS = 400  # between which quantiles are interpolated, within 1e-4 of their value
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


def t_quantile(freedom: float, z: float = _Z) -> float:
    """Returns the point of Student's t that has the probability of the normal distribution's point z.

    Uses the expansion of Cornish and Fisher (Abramowitz & Stegun 26.7.5): for 5 degrees of freedom or more,
    the 97.5 % point, which is the default, is within 0.003 of the exact value.
    """
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
        found = term.copy()
        step = 1
        while np.any(term > 1e-10 * found):
            term = term * x / (shape + step)
            found = found + term
            step = step + 1
        low, high = np.where(found < share, x, low), np.where(found < share, high, x)
    return low + high


def _ranks(values: FloatArray) -> FloatArray:
    """Returns ranks from 1; equal values share the average of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]
