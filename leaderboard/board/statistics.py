"""The uncertainty of a ranking: a bootstrap and a paired test over families of sets.

Sets of one family share their operation or their source, and two subjects see the same images, so that their
errors are not independent. Therefore whole families are drawn or flipped, never single rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from submission.arrays import FloatArray, IntArray
from submission.intervals import FEWEST_FAMILIES, LEVEL, rmse_interval
from submission.random import BOOTSTRAP

DRAWS = 1000
"""Number of draws of the bootstrap, and of signs in the paired test."""
MOST = 20
"""Number of the best lines that are compared pair by pair."""
PAIR_DRAWS = 20_000
"""Number of draws of signs for pairs: with 190 pairs, the smallest p-value has to be below 0.05 / 190."""
_BLOCK = 200  # draws at a time, which bounds the memory


@dataclass(frozen=True)
class Families:
    """The families of the rows that are scored, and the groups within which they are drawn.

    Attributes:
        codes: Number of the family of every row (n,), 0 to g - 1.
        strata: Number of the stratum of every family (g,).
    """

    codes: IntArray
    strata: IntArray

    @classmethod
    def of(cls, families: Sequence[str], groups: Sequence[str]) -> "Families":
        """Returns the families of rows, given the names of each row's family and group (n,).

        A family in two groups counts as two. A group with a single family cannot vary, so it is joined with
        the smallest other group ("collapsed strata", Cochran, Sampling Techniques, 1977, 5A.12).
        """
        pairs = sorted(set(zip(groups, families, strict=True)))
        number = {pair: code for code, pair in enumerate(pairs)}
        codes = np.array([number[pair] for pair in zip(groups, families, strict=True)], dtype=np.int64)
        strata: list[list[int]] = []
        for group in sorted({group for group, _ in pairs}):
            strata.append([code for code, (of, _) in enumerate(pairs) if of == group])
        while len(strata) > 1 and len(min(strata, key=len)) == 1:
            first, second, *others = sorted(strata, key=len)
            strata = [*others, first + second]
        numbers = np.empty(len(pairs), dtype=np.int64)
        for stratum, members in enumerate(strata):
            numbers[members] = stratum
        return cls(codes, numbers)

    def __len__(self) -> int:
        return len(self.strata)

    def sums(self, values: FloatArray) -> FloatArray:
        """Returns the sums of `values` (..., n) over the rows of each family (..., g)."""
        return values @ (self.codes[:, None] == np.arange(len(self))).astype(np.float64)

    @property
    def sizes(self) -> FloatArray:
        """The number of rows of each family (g,)."""
        return np.bincount(self.codes, minlength=len(self)).astype(np.float64)


@dataclass(frozen=True)
class Uncertainty:
    """The uncertainty of the scores and ranks of t lines; every array is (t,), in the order of the lines.

    Attributes:
        low, high: Ends of the 95 % interval of the RMSE, in points.
        best, worst: Ends of the 95 % interval of the rank, which contains the rank itself; 0 for lines
            without.
        first: Share of draws in which the line is ranked first; nan for lines without a rank.
        above: p-value of the paired test against the line above; nan for the first line.
        groups: Numbers, from 1 on, of the groups to which each line belongs: two lines share a group if and
            only if the paired test does not tell them apart. Empty beyond the first `MOST` lines, or if
            errors are unknown.
    """

    low: FloatArray
    high: FloatArray
    best: IntArray
    worst: IntArray
    first: FloatArray
    above: FloatArray
    groups: tuple[tuple[int, ...], ...]


def uncertainty(
    squared: FloatArray, families: Families, ranked: NDArray[np.bool_], decimals: int
) -> Uncertainty | None:
    """Returns intervals of RMSE and rank, P(rank 1) and paired tests; None below `FEWEST_FAMILIES` families.

    The interval of the RMSE is `submission.intervals.rmse_interval`. That of a rank is the percentile
    bootstrap (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13): families are drawn with
    replacement within their stratum, with a fixed seed and the same families for every line, and every draw
    is ranked as the leaderboard is.

    Args:
        squared: Squared errors of the lines (t, n), in points^2, best line first. A line with nan gets no
            numbers, and the others are ranked without it.
        families: Families of the n rows.
        ranked: True (t,) for lines with a rank.
        decimals: Number of decimals of displayed scores, by which ranks are given.
    """
    if len(families) < FEWEST_FAMILIES or not len(squared):
        return None
    rng = BOOTSTRAP(0)
    sums = families.sums(squared)
    ranked = ranked & np.isfinite(sums).all(axis=1)
    drawn = resampled_rmse(sums, families, DRAWS, rng)
    tail = (1 - LEVEL) / 2
    low, high = rmse_interval(sums, families.sizes)
    best, worst, first = _ranks(drawn[ranked], np.sqrt(squared[ranked].mean(axis=1)), decimals, tail)
    full = (np.zeros(len(squared), np.int64), np.zeros(len(squared), np.int64), np.full(len(squared), np.nan))
    for values, found in zip(full, (best, worst, first), strict=True):
        values[ranked] = found
    above = np.concatenate([[np.nan], sign_test(np.diff(sums, axis=0), rng)])
    return Uncertainty(low, np.minimum(high, 100.0), *full, above, lines_together(sums, rng))


def resampled_rmse(sums: FloatArray, families: Families, draws: int, rng: np.random.Generator) -> FloatArray:
    """Returns the RMSE (t, draws) of lines with sums (t, g) of squared errors, over draws of families."""
    weights = np.zeros((draws, len(families)))
    for stratum in np.unique(families.strata):
        (members,) = np.nonzero(families.strata == stratum)
        weights[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), draws)
    return np.sqrt(sums @ weights.T / (weights @ families.sizes))


def competition_ranks(rmse: FloatArray, decimals: int) -> IntArray:
    """Ranks "1, 2, 2, 4" of displayed scores (..., t), along the last axis.

    >>> competition_ranks(np.array([4.004, 2.0, 9.0, 3.996]), 2).tolist()
    [2, 1, 4, 2]
    """
    shown = np.rint(rmse * 10.0**decimals)
    order = np.argsort(shown, axis=-1)
    ordered = np.take_along_axis(shown, order, axis=-1)
    leads = np.ones(shown.shape, dtype=bool)
    leads[..., 1:] = ordered[..., 1:] > ordered[..., :-1]
    place = np.where(leads, np.arange(1, shown.shape[-1] + 1), 0)
    ranks = np.empty(shown.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.maximum.accumulate(place, axis=-1), axis=-1)
    return ranks


def sign_test(differences: FloatArray, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Returns two-sided p-values (t,) of the hypothesis that paired differences are 0 up to chance.

    Under the hypothesis both signs of every family's sum are equally likely. The p-value is the share of all
    signs, or of `draws` random ones, whose total is at least as large (Fisher, The Design of Experiments,
    1935).

    Args:
        differences: Sums (t, g) of paired differences over the rows of each of g families.
        rng: Random generator of the signs.
        draws: Largest number of signs.
    """
    if not len(differences):
        return np.zeros(0)
    total = np.abs(differences.sum(axis=1)) * (1 - 1e-9)  # equal sums may differ in the last digits
    signs = _signs(differences.shape[1], draws, rng)
    reached = np.zeros(len(differences))
    for start in range(0, len(signs), _BLOCK):
        reached += (np.abs(differences @ signs[start : start + _BLOCK].T) >= total[:, None]).sum(axis=1)
    return np.where(np.isnan(total), np.nan, reached / len(signs))


def parted(sums: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Returns True (t, t) for pairs of lines that the paired test tells apart, at 0.05 over all pairs (Holm).

    Args:
        sums: Sums (t, g) of each line's squared errors over the rows of each family.
        rng: Random generator of the signs.
    """
    first, second = np.triu_indices(len(sums), 1)
    decided = holm(sign_test(sums[first] - sums[second], rng, PAIR_DRAWS)) <= 1 - LEVEL
    apart = np.zeros((len(sums), len(sums)), dtype=bool)
    apart[first, second] = apart[second, first] = decided
    return apart


def holm(values: FloatArray) -> FloatArray:
    """Returns the p-values (m,), adjusted by Holm to control the family-wise error rate of m tests.

    The smallest is multiplied by m, the next by m - 1, and so on (Holm, "A Simple Sequentially Rejective
    Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979).

    >>> holm(np.array([0.04, 0.01, 0.03])).tolist()
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(values, kind="stable")
    counted = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(counted), 1.0)
    return adjusted


def groups_not_parted(apart: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Returns the groups, numbered from 1 on, of each of t lines; two lines share a group if not `apart`.

    The groups are the maximal sets of lines within which no pair is told apart, found by insertion and
    absorption (Piepho, "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons", Journal
    of Computational and Graphical Statistics 13, 2004), best line first.

    >>> apart = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    >>> groups_not_parted(apart)
    [(1,), (1, 2), (2,)]
    """
    found = [frozenset(range(len(apart)))] if len(apart) else []
    for i, j in zip(*np.nonzero(np.triu(apart)), strict=True):
        divided = {
            group - {line} if {i, j} <= group else group for group in found for line in (int(i), int(j))
        }
        found = [group for group in divided if not any(group < other for other in divided)]
    found.sort(key=sorted)
    return [
        tuple(number for number, group in enumerate(found, 1) if line in group) for line in range(len(apart))
    ]


def lines_together(sums: FloatArray, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Returns the groups of t lines, best first, as in `Uncertainty.groups`, from sums by family (t, g)."""
    known = np.flatnonzero(np.isfinite(sums).all(axis=1))[:MOST]
    groups: list[tuple[int, ...]] = [()] * len(sums)
    for line, mine in zip(known, groups_not_parted(parted(sums[known], rng)), strict=True):
        groups[line] = mine
    return tuple(groups)


def _signs(count: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Returns rows of `count` signs: all of them, or the observed signs followed by random ones."""
    if 2**count <= draws:
        return 1.0 - 2.0 * (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.float64)
    signs = 1.0 - 2.0 * rng.integers(2, size=(draws, count)).astype(np.float64)
    signs[0] = 1
    return signs


def _ranks(
    drawn: FloatArray, observed: FloatArray, decimals: int, tail: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Returns the interval of the rank and P(rank 1) of t lines, from their drawn and observed RMSE.

    Args:
        drawn: RMSE in every draw (t, draws).
        observed: Observed RMSE (t,).
        decimals: Number of decimals of displayed scores.
        tail: Share of draws below and above the interval.
    """
    ranks = np.empty(drawn.shape, dtype=np.int32)
    for start in range(0, drawn.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        ranks[:, block] = competition_ranks(np.ascontiguousarray(drawn[:, block].T), decimals).T
    if not len(ranks):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rank = competition_ranks(observed, decimals)
    best = np.minimum(np.quantile(ranks, tail, axis=1, method="lower").astype(np.int64), rank)
    worst = np.maximum(np.quantile(ranks, 1 - tail, axis=1, method="higher").astype(np.int64), rank)
    return best, worst, (ranks == 1).mean(axis=1)
