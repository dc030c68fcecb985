"""Which pairs of lines differ: a paired test over families that rare large losses do not mislead.

(docs/decisions/0028-families-are-drawn.md)
"""

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import combinations

import numpy as np
from numpy.random import Generator

from submission.arrays import BoolArray, FloatArray
from submission.metrics import LEVEL
from submission.scoretable import Families

PAIR_DRAWS = 20_000
"""Number of draws of signs for pairs: with 190 pairs, the smallest p-value has to be below 0.05 / 190."""
BOUND = 1 / (2 * math.erfc(1))
"""Smallest factor, 3.18, by which normal p-values bound those of signs (see `sign_bound`)."""
RARE = 0.1
"""Share of all families that may differ from those seen, where so few are seen that they may lack it."""
ENOUGH = math.ceil(math.log(1 - LEVEL) / math.log(1 - RARE))
"""Number of families, 29, of which in 95 % of draws one or more are from such a share."""


def paired_rank_groups(values: FloatArray, families: Families, rng: Generator) -> list[tuple[int, ...]]:
    """Returns the rank groups of t lines, best first, from their values (t, n), nan where there is none."""
    pairs = np.triu_indices(len(values), 1)
    chance = np.maximum(sign_test(values, families, rng), tail_test(values, families))
    apart = np.zeros(chance.shape, dtype=bool)
    apart[pairs] = holm(chance[pairs]) <= 1 - LEVEL
    return groups_not_apart(apart)


def tail_test(values: FloatArray, families: Families) -> FloatArray:
    """Returns two-sided p-values (t, t), above the diagonal, that many small gains do not lower.

    They are `skew_test`'s, and 1 where a pair has fewer than `ENOUGH` families and its mean difference is no
    more than `least_differences`. `values` (t, n) are nan where a line has none.
    """
    found = np.ones((len(values), len(values)))
    least = least_differences(values, families)
    for line, one in enumerate(values[:-1]):
        differences = one - values[line + 1 :]
        sums = families.sums(np.nan_to_num(differences))
        rows = families.sums(np.isfinite(differences).astype(np.float64))
        mean = np.abs(sums.sum(axis=1)) / np.maximum(rows.sum(axis=1), 1)
        large = ((rows > 0).sum(axis=1) >= ENOUGH) | (mean > least[line, line + 1 :])
        found[line, line + 1 :] = np.where(large, skew_test(sums, rows > 0), 1.0)
    return found


def skew_test(sums: FloatArray, there: BoolArray) -> FloatArray:
    """Returns two-sided p-values (p,) of the means of sums (p, g), where `there`, whose skewness is removed.

    With many small gains and a rare large loss a mean varies most where it is low, and Student's t, as signs,
    finds gains too often. Hall's transformation of t is t + u t^2 + u^2 t^3 / 3 + u / 2 with
    u = skewness / (3 sqrt(g)); it is near normal ("On the Removal of Skewness by Transformation", Journal of
    the Royal Statistical Society B 54, 1992). Sums that do not vary have no skewness: 0.
    """
    count = np.maximum(there.sum(axis=1), 2)
    mean = sums.sum(axis=1) / count
    apart = np.where(there, sums - mean[:, None], 0)
    spread = np.sqrt((apart**2).sum(axis=1) / (count - 1))
    varied = spread > 1e-9 * np.abs(mean)
    spread = np.where(varied, spread, 1)
    size = np.sqrt(count) * np.abs(mean) / spread
    skewness = np.sign(mean) * (apart**3).sum(axis=1) / count / spread**3
    lean = skewness / (3 * np.sqrt(count))
    even = size + lean * size**2 + lean**2 * size**3 / 3 + lean / 2
    return np.where(varied, _two_sided(np.maximum(even, 0)), 0.0)


def least_differences(values: FloatArray, families: Families) -> FloatArray:
    """Returns the mean differences (t, t) that an unseen share `RARE` of all families could outweigh.

    There the better line could be as bad, and the other as good, as any mean from 0 to the outermost that
    either has in a family.
    """
    rows = families.sums(np.isfinite(values).astype(np.float64))
    means = families.sums(np.nan_to_num(values)) / np.maximum(rows, 1)
    top, bottom = (np.maximum(sign * means, 0).max(axis=1) for sign in (1, -1))
    scale = np.maximum.outer(top, top) + np.maximum.outer(bottom, bottom)
    return np.asarray(RARE / (1 - RARE) * scale)


def sign_test(values: FloatArray, families: Families, rng: Generator) -> FloatArray:
    """Returns two-sided p-values (t, t), above the diagonal, of lines that differ by chance alone.

    `values` (t, n) are nan where a line has none: two lines are compared on the rows that both have. Under
    the hypothesis both signs of a family's sum of differences are equally likely; the p-value is the share of
    all signs, or of `PAIR_DRAWS` random ones, whose total is at least as large (Fisher, The Design of
    Experiments, 1935), or `sign_bound` if that is smaller: among thousands of pairs draws decide nothing.
    """
    shape = (len(values), len(values))
    total, bound, reached = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for line, one in enumerate(values[:-1]):
        sums = families.sums(np.nan_to_num(one - values[line + 1 :]))
        total[line, line + 1 :] = np.abs(sums.sum(axis=1))
        length = np.sqrt((sums**2).sum(axis=1))
        bound[line, line + 1 :] = sign_bound(total[line, line + 1 :] / np.where(length, length, 1))
    total *= 1 - 1e-9  # equal sums may differ in the last digits
    filled = np.nan_to_num(values)
    sums = families.sums(filled)
    missing = np.isnan(values)
    gaps = []
    for rows in missing if missing.any() else ():
        touched = np.unique(families.codes[rows])  # families with gaps, and their sums of all lines there
        gaps.append((touched, families.sums(np.where(rows, filled, 0))[:, touched]))
    draws = 0
    for signs in _signs(len(families), rng):
        draws += signs.shape[1]
        drawn = sums @ signs
        shared = np.broadcast_to(drawn, (len(values), *drawn.shape))  # totals on the rows that each line has
        if gaps:
            shared = np.stack([drawn - extra @ signs[touched] for touched, extra in gaps])
        for line in range(len(values) - 1):
            totals = np.abs(shared[line + 1 :, line] - shared[line, line + 1 :])
            reached[line, line + 1 :] += (totals >= total[line, line + 1 :, None]).sum(axis=1)
    return np.minimum(reached / draws, bound)


def sign_bound(size: FloatArray) -> FloatArray:
    """Returns an upper bound (p,) of the p-values of sign tests whose totals are `size` standard deviations.

    It is `BOUND` times the normal p-value (Bentkus & Dzindzalieta, "A Tight Gaussian Bound for Weighted Sums
    of Rademacher Random Variables", Bernoulli 21, 2015).
    """
    return np.minimum(BOUND * _two_sided(size), 1.0)


def _two_sided(size: FloatArray) -> FloatArray:
    return np.array([math.erfc(each / math.sqrt(2)) for each in size])


def _signs(count: int, rng: Generator) -> Iterator[FloatArray]:
    """Yield all signs (count, b) of so many families, or random ones, in blocks; the first are all 1."""
    exact = 2**count <= PAIR_DRAWS
    draws = 2**count if exact else PAIR_DRAWS
    for start in range(0, draws, 100):
        places = np.arange(start, min(start + 100, draws))[:, None]
        random = np.unpackbits(rng.integers(256, size=(len(places), count // 8 + 1), dtype=np.uint8), axis=1)
        minus = places >> np.arange(count) & 1 if exact else random[:, :count] * (places > 0)
        yield np.ascontiguousarray(1.0 - 2.0 * minus.T)


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


def groups_not_apart(apart: BoolArray) -> list[tuple[int, ...]]:
    """Returns the rank groups, numbered from 1 on, of each of t lines; two share one if not `apart`.

    They are the maximal sets of lines within which no pair is told apart, best line first (Piepho, "An
    Algorithm for a Letter-Based Representation of All-Pairwise Comparisons", Journal of Computational and
    Graphical Statistics 13, 2004).

    >>> apart = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    >>> groups_not_apart(apart)
    [(1,), (1, 2), (2,)]
    """
    near = [frozenset(np.flatnonzero(~row).tolist()) - {line} for line, row in enumerate(apart | apart.T)]
    groups = sorted(map(sorted, _cliques(near, frozenset(), set(range(len(apart))), set())))
    mine: list[list[int]] = [[] for _ in apart]
    for number, group in enumerate(groups, 1):
        for line in group:
            mine[line].append(number)
    return [tuple(numbers) for numbers in mine]


def _cliques(
    near: Sequence[Set[int]], clique: frozenset[int], candidates: set[int], seen: set[int]
) -> Iterator[frozenset[int]]:
    """Yield the maximal cliques with one, without `seen` (Bron & Kerbosch, CACM 16, 1973, by pivots)."""
    if not candidates:
        if clique and not seen:
            yield clique
        return
    pivot = max(candidates | seen, key=lambda line: len(candidates & near[line]))
    for line in candidates - near[pivot]:
        yield from _cliques(near, clique | {line}, candidates & near[line], seen & near[line])
        candidates.remove(line)
        seen.add(line)


def decided_pairs(groups: Iterable[Sequence[int]]) -> str:
    """Returns a sentence about the pairs that are told apart; "" if no pair was compared.

    >>> decided_pairs([(1,), (1, 2), (2,), ()])
    'For 1 of 3 pairs (33 %) the difference is significant (paired test, 5 % over all pairs by Holm).'
    """
    apart = [set(one).isdisjoint(other) for one, other in combinations(filter(None, groups), 2)]
    if not apart:
        return ""
    share = f"{sum(apart)} of {len(apart)} pairs ({100 * sum(apart) / len(apart):.0f} %)"
    return f"For {share} the difference is significant (paired test, 5 % over all pairs by Holm)."
