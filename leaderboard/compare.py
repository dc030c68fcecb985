"""Which differences between the columns of a table are real: the board's statistics for any benchmark."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from statistics import NormalDist

import numpy as np

from leaderboard.items import Items, read_items
from leaderboard.pairs import (
    BOUND,
    ENOUGH,
    PAIR_DRAWS,
    decided_pairs,
    least_differences,
    paired_rank_groups,
    sign_bound,
)
from submission.arrays import FloatArray
from submission.errors import unusable
from submission.metrics import FEWEST_FAMILIES, LEVEL, t_quantile
from submission.page import harmless
from submission.random import BOOTSTRAP
from submission.scoretable import Families
from submission.table import cell, text_table

POWER = 0.8
"""Probability with which a difference that counts as resolvable is found."""
OTHER_SCALE = 5.0
"""How many times the others' largest score a system's is, for a remark on its scale."""


def compare(scores: Path, *, families: str = "", lower: bool = False, as_json: bool = False) -> str:
    """Returns what `unseen compare` prints of a table, items x systems: which systems can be told apart."""
    items = read_items(scores, families)
    ranked = Ranked.of(items, lower)
    filled = ranked.families.sums(np.isfinite(ranked.values).astype(np.float64)) > 0
    for name, count in zip(ranked.names, filled.sum(axis=1), strict=True):
        if count < FEWEST_FAMILIES:
            few = f"{name!r} has scores on {count} items or families (a row is an item)"
            raise unusable(scores, f"{few}: give {FEWEST_FAMILIES} or more, or leave it out")
    best = "lower" if lower else "higher"
    sentences = [*ranked.sentences(best), *items.notes]
    if as_json:
        return json.dumps({"systems": [asdict(system) for system in ranked.systems], "notes": sentences})
    return "\n".join([text_table(ranked.rows()), "", *sentences])


@dataclass(frozen=True)
class System:
    """A system's mean over its own items, the ends of its interval, and its rank groups."""

    name: str
    items: int
    mean: float
    low: float
    high: float
    rank_groups: tuple[int, ...]


@dataclass(frozen=True)
class Ranked:
    """Systems, the best first, with their scores (s, n), nan where missing, and the families of the items."""

    names: Sequence[str]
    values: FloatArray
    families: Families
    grouped: bool

    @classmethod
    def of(cls, items: Items, lower: bool) -> "Ranked":
        """Returns the systems of a table, the same for every order of its rows."""
        there = ~np.isnan(items.scores).all(axis=0)
        scores = items.scores[:, there]
        kinds = np.array(list(items.families) or [""] * items.scores.shape[1])
        _, codes = np.unique(kinds[there], return_inverse=True)
        order = np.lexsort([*scores[np.argsort(items.systems)], codes])
        codes = codes[order] if items.families else np.arange(len(order))
        drawn = Families(codes)
        means = _means(scores[:, order])
        best = np.argsort(means if lower else -means, kind="stable")
        names = [items.systems[place] for place in best]
        return cls(names, scores[:, order][best], drawn, bool(items.families))

    @cached_property
    def systems(self) -> list[System]:
        """The systems' means, intervals and rank groups; two that share one are not told apart."""
        groups = paired_rank_groups(self.values, self.families, BOOTSTRAP(0))
        low, high = interval(self.values, self.families)
        counts = np.isfinite(self.values).sum(axis=1).tolist()
        columns = (self.names, counts, _means(self.values).tolist(), low.tolist(), high.tolist(), groups)
        return [System(*row) for row in zip(*columns, strict=True)]

    @cached_property
    def resolvable(self) -> tuple[float, float]:
        """The differences of `resolvable` for the pairs that vary; 0 if there is none."""
        pairs = [
            standard_error(one - self.values[place + 1 :], self.families)
            for place, one in enumerate(self.values[:-1])
        ]
        errors = np.concatenate([np.zeros(0), *pairs])
        if not errors.any():
            return 0.0, 0.0
        equal = float(effective_families(self.values, self.families).min())
        few = len(self.families) < ENOUGH
        least = float(np.median(least_differences(self.values, self.families))) if few else 0.0
        return resolvable(errors[errors > 0], equal, self.pairs, least)

    @property
    def pairs(self) -> int:
        """The number of pairs of systems."""
        return math.comb(len(self.values), 2)

    @property
    def decimals(self) -> int:
        """The number of decimals at which a resolvable difference has two digits."""
        alone, _ = self.resolvable
        return 1 - math.floor(math.log10(alone)) if alone else 2

    def rows(self) -> list[list[str]]:
        """Returns the cells of the table: means with their intervals, and groups."""
        rows = [["system", "mean", f"{100 * LEVEL:.0f} % interval", "rank group", "items"]]
        for system in self.systems:
            ends = " to ".join(cell(end, self.decimals) for end in (system.low, system.high))
            mean = cell(system.mean, self.decimals)
            rows.append([harmless(system.name), mean, ends, runs(system.rank_groups), str(system.items)])
        complete = not np.isnan(self.values).any()
        return [row[:-1] for row in rows] if complete else rows

    def sentences(self, best: str) -> list[str]:
        """Returns what the table says, and which differences so many items can resolve."""
        count, missing = self.values.shape[1], int(np.isnan(self.values).sum())
        items = f"{count} items of {len(self.families)} families" if self.grouped else f"{count} items"
        equal = float(effective_families(np.zeros(count), self.families))
        sizes = f", in size as {equal:.0f} equal ones" if round(equal) < len(self.families) else ""
        said = [f"{items}{sizes}; {best} is better. Systems that share a rank group are not told apart."]
        if self.pairs:
            said.append(decided_pairs(system.rank_groups for system in self.systems))
        alone, _ = self.resolvable
        if alone:
            found = f"With {items}, a true difference of {cell(alone, self.decimals)} would be found"
            all_pairs = f" if only this pair is compared, and {self._reach()}" if self.pairs > 1 else ""
            said.append(f"{found} {10 * POWER:.0f} times in 10{all_pairs}.")
        if self.pairs and len(self.families) < ENOUGH:
            rare = f"Fewer than {ENOUGH} may lack a tenth of all kinds, where the order could be reversed"
            said.append(f"{rare}: a pair also needs means apart by a ninth of its largest score.")
        if missing:
            said.append(
                f"Missing scores: {missing}. Means are over a system's items, tests over those of both."
            )
        return [*said, *self._identical(), *self._other_scales()]

    def _identical(self) -> list[str]:
        """Returns sentences about systems with the same scores."""
        alike: dict[bytes, list[str]] = {}
        for name, row in zip(self.names, self.values, strict=True):
            alike.setdefault(row.tobytes(), []).append(harmless(name))
        return [f"{', '.join(names)} are identical." for names in alike.values() if len(names) > 1]

    def _other_scales(self) -> list[str]:
        """Returns sentences about systems whose scores are far larger than most others'."""
        largest = np.nanmax(np.abs(self.values), axis=1)
        usual = float(np.median(largest))
        return [
            f"Scores of {harmless(name)} reach {cell(size, 2)}, others' {cell(usual, 2)}: is it a system, in "
            "the same unit? Leave other columns out of the file."
            for name, size in zip(self.names, largest.tolist(), strict=True)
            if size > OTHER_SCALE * usual
        ]

    def _reach(self) -> str:
        """Returns the difference that is found if all pairs are compared, in words."""
        count = len(self.families)
        drawn = 2.0 ** (1 - count) if 2**count <= PAIR_DRAWS else 1 / PAIR_DRAWS
        smallest = min(drawn, float(sign_bound(np.sqrt([count]))[0]))
        if smallest * self.pairs > 1 - LEVEL:
            return f"none if all {self.pairs} pairs are: too few items or families"
        _, together = self.resolvable
        return f"{cell(together, self.decimals)} if all {self.pairs} pairs are"


def runs(numbers: Sequence[int]) -> str:
    """Returns ascending numbers as text, three or more in a row by their ends.

    >>> runs((1, 2, 4, 5, 6, 7))
    '1 2 4-7'
    """
    rows = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    found = [[number for _, number in row] for _, row in rows]
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else " ".join(map(str, run)) for run in found)


def _means(values: FloatArray) -> FloatArray:
    """Returns the means (...) of values (..., n) that are there, nan if none is."""
    there = np.isfinite(values)
    count = there.sum(axis=-1)
    return np.where(count, np.where(there, values, 0).sum(axis=-1) / np.maximum(count, 1), np.nan)


def effective_families(values: FloatArray, families: Families) -> FloatArray:
    """Returns how many equal families (...) those of (..., n) are worth (Kish, Survey Sampling, 1965)."""
    sizes = families.sums(np.isfinite(values).astype(np.float64))
    return np.asarray(sizes.sum(axis=-1) ** 2 / np.maximum((sizes**2).sum(axis=-1), 1))


def standard_error(values: FloatArray, families: Families) -> FloatArray:
    """Returns the standard errors (...) of the means of values (..., n), from how families' means vary.

    Values that are nan are left out. It is that of a ratio of sums over families of unequal sizes (Cochran,
    Sampling Techniques, 1977, 2.11), whose number is `effective_families`: a large one is near its own mean.
    """
    there = np.isfinite(values)
    count = np.maximum(effective_families(values, families), 2)  # of fewer, nothing is known
    apart = families.sums(np.nan_to_num(values - _means(values)[..., None]))
    spread = np.sqrt(count / (count - 1) * (apart**2).sum(axis=-1))
    return np.asarray(spread / np.maximum(there.sum(axis=-1), 1))


def interval(values: FloatArray, families: Families) -> tuple[FloatArray, FloatArray]:
    """Returns the ends (s,) of the 95 % intervals of the means of values (s, n), nan where missing.

    They are Student's t over `effective_families`. Where all values lie in [0, 1], or are 0 or 100, they are
    Wilson's (Journal of the American Statistical Association 22, 1927), with the number of independent items
    of this error (Korn & Graubard, Survey Methodology 24, 1998), or of families if all values are equal.
    """
    mean, error = _means(values), standard_error(values, families)
    counts = effective_families(values, families)
    point = np.array([t_quantile(max(count - 1, 1)) for count in counts.tolist()])
    percent = np.nanmax(values) == 100 and (np.isnan(values) | np.isin(values, (0, 100))).all()
    top = 100.0 if percent else 1.0
    if np.nanmin(values) < 0 or np.nanmax(values) > top:
        return mean - point * error, mean + point * error
    variance = mean * (top - mean)
    varied = error > 1e-12
    share = point**2 * np.where(varied, error**2 / np.where(varied, variance, 1), 1 / counts)
    centre = (mean + top * share / 2) / (1 + share)
    half = np.sqrt(variance * share + (top * share / 2) ** 2) / (1 + share)
    return np.maximum(centre - half, 0), np.minimum(centre + half, top)


def resolvable(errors: FloatArray, families: float, pairs: int, least: float = 0.0) -> tuple[float, float]:
    """Returns the mean difference found with `POWER` in one pair alone, and in the first of Holm's tests.

    Of the standard errors (p,) of pairs' differences the median counts; no difference below `least` is found.
    """
    error = float(np.median(errors))
    normal = NormalDist()
    strict = pairs if (1 - LEVEL) / pairs >= 1 / PAIR_DRAWS else pairs * BOUND
    points = (normal.inv_cdf(1 - (1 - LEVEL) / 2 / tests) for tests in (1, strict))
    alone, together = (max(t_quantile(max(families - 1, 1), point) * error, least) for point in points)
    return alone + normal.inv_cdf(POWER) * error, together + normal.inv_cdf(POWER) * error
