"""Which differences between the columns of a table are real: the board's statistics for any benchmark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import NormalDist

import numpy as np

from leaderboard.standings import MOST, decided_pairs, paired_rank_groups
from submission.arrays import FloatArray
from submission.errors import unusable
from submission.files import read_rows
from submission.metrics import FEWEST_FAMILIES, LEVEL, t_quantile
from submission.page import harmless
from submission.parser import NUMBER
from submission.random import BOOTSTRAP
from submission.scoretable import Families
from submission.table import cell, text_table

VERDICTS = {"true": 1.0, "pass": 1.0, "passed": 1.0, "false": 0.0, "fail": 0.0, "failed": 0.0}
"""Scores of words, in lower case."""
MISSING = ("", "nan", "na", "n/a", "null", "none")
"""Words for a score that is missing, in lower case."""
LARGEST = 1e100
"""Largest size of a score, whose square is still a number."""
POWER = 0.8
"""Probability with which a difference that counts as resolvable is found."""


def compare(scores: Path, *, families: str = "", lower: bool = False) -> str:
    """Say which of a benchmark's systems can be told apart.

    The file is a CSV with a row for each item and a column of numbers for each system; a first column of
    texts, or named item or id, names the items. Prints each system's mean with its interval, which pairs a
    paired test tells apart after Holm's correction, and the difference that so many items can resolve.

    Args:
        scores: Table, items x systems.
        families: Column of what items share, such as their source; "" for none.
        lower: True if lower is better, as for errors.
    """
    names, values, kinds = read_scores(scores, families)
    drawn = Families.of(kinds, ["all"] * len(kinds))
    if len(drawn) < FEWEST_FAMILIES:
        raise unusable(scores, f"{len(drawn)} independent items or families: give {FEWEST_FAMILIES} or more")
    sign = 1 if lower else -1
    order = np.argsort(sign * values.mean(axis=1), kind="stable")
    ranked = Ranked([names[place] for place in order], values[order], drawn)
    items = f"{len(kinds)} items of {len(drawn)} families" if families else f"{len(kinds)} items"
    return "\n".join([text_table(ranked.rows()), "", *ranked.sentences(items, lower)])


@dataclass(frozen=True)
class Ranked:
    """Systems, the best first, with their scores (s, n) and the families of the n items."""

    names: Sequence[str]
    values: FloatArray
    families: Families

    @cached_property
    def rank_groups(self) -> list[tuple[int, ...]]:
        """The rank groups of each system: two that share one are not told apart."""
        return paired_rank_groups(self.families.sums(self.values), BOOTSTRAP(0))

    @cached_property
    def resolvable(self) -> tuple[float, float]:
        """The differences of `resolvable` for the pairs that are compared."""
        first, second = np.triu_indices(min(len(self.values), MOST), 1)
        return resolvable(self.values[first] - self.values[second], self.families)

    @property
    def decimals(self) -> int:
        """The number of decimals at which a resolvable difference has two digits."""
        alone, _ = self.resolvable
        return 1 - math.floor(math.log10(alone)) if alone > 0 else 2

    def rows(self) -> list[list[str]]:
        """Returns the cells of the table: means with their intervals, and groups."""
        half = t_quantile(len(self.families) - 1) * standard_error(self.values, self.families)
        rows = [["system", "mean", f"{100 * LEVEL:.0f} % interval", "rank group"]]
        for name, mean, around, groups in zip(
            self.names, self.values.mean(axis=1), half, self.rank_groups, strict=True
        ):
            ends = " to ".join(cell(end, self.decimals) for end in (mean - around, mean + around))
            rows.append([harmless(name), cell(mean, self.decimals), ends, " ".join(map(str, groups))])
        return rows

    def sentences(self, items: str, lower: bool) -> list[str]:
        """Returns what the table says, and which differences so many `items` can resolve."""
        best = "lower" if lower else "higher"
        about = f"{items}; {best} is better. Systems that share a rank group are not told apart."
        pairs = math.comb(min(len(self.values), MOST), 2)
        if not pairs:
            return [about]
        most = f" The first {MOST} systems are compared." if len(self.values) > MOST else ""
        alone, _ = self.resolvable
        found = f"With {items}, a true difference of {cell(alone, self.decimals)} would be found"
        all_pairs = f" if only this pair is compared, and {self._reach(pairs)}" if pairs > 1 else ""
        often = f"{10 * POWER:.0f} times in 10"
        return [about, f"{decided_pairs(self.rank_groups)}{most}", f"{found} {often}{all_pairs}."]

    def _reach(self, pairs: int) -> str:
        """Returns the difference that is found if so many pairs are compared, in words."""
        smallest = 2.0 ** (1 - len(self.families))  # p-value of the paired test
        if smallest * pairs > 1 - LEVEL:
            return f"none if all {pairs} pairs are: too few items or families"
        _, together = self.resolvable
        return f"{cell(together, self.decimals)} if all {pairs} pairs are"


def read_scores(path: Path, families: str) -> tuple[list[str], FloatArray, list[str]]:
    """Returns the names of s systems, their scores (s, n), and the name of each of n items' family."""
    rows = list(read_rows(path, [families] if families else []))
    names = [name for name in (rows[0][1] if rows else ()) if name != families]
    if names and (
        names[0].lower() in ("", "id", "item", "unnamed: 0")
        or all(_score(row[names[0]]) is None for _, row in rows)
    ):
        del names[0]
    if not names:
        raise unusable(
            path, "no scores: give a row for each item and a column for each system, separated by commas"
        )
    for line, row in rows:
        for name in names:
            if _score(row[name]) is None:
                raise unusable(path, f"line {line}, column {name!r}: {_no_number(row[name], families)}")
    values = np.array([[_score(row[name]) for _, row in rows] for name in names], dtype=np.float64)
    return names, values, [row[families] if families else str(line) for line, row in rows]


def _no_number(text: str, families: str) -> str:
    """Returns what is wrong with a field that is no score."""
    if text.strip().casefold() in MISSING:
        return "an empty cell: remove this item, or fill in a score"
    if NUMBER.fullmatch(text.strip()):
        return f"{text!r} is too large"
    problem = f"{text!r} is not a number"
    return problem if families else f"{problem}; is it a column for --families?"


def _score(text: str) -> float | None:
    """Returns the score in a field: a number, a share in percent, or a verdict; None for anything else."""
    plain = text.strip().casefold()
    if plain in VERDICTS:
        return VERDICTS[plain]
    if not NUMBER.fullmatch(plain.removesuffix("%")):
        return None
    score = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    return score if abs(score) <= LARGEST else None


def standard_error(values: FloatArray, families: Families) -> FloatArray:
    """Returns the standard errors (...) of the means of values (..., n), from how families' means vary.

    It is that of a ratio of sums over families of unequal sizes (Cochran, Sampling Techniques, 1977, 2.11).
    """
    count = len(families)
    mean = values.mean(axis=-1, keepdims=True)
    apart = families.sums(values) - mean * families.sizes
    return np.asarray(np.sqrt(count / (count - 1) * (apart**2).sum(axis=-1)) / values.shape[-1])


def resolvable(differences: FloatArray, families: Families) -> tuple[float, float]:
    """Returns the mean difference found with `POWER` in one pair alone, and in the first of Holm's tests.

    `differences` (p, n) are those of p pairs, of which the one with the median standard error counts.
    """
    if not len(differences):
        return 0.0, 0.0
    error = float(np.median(standard_error(differences, families)))
    normal = NormalDist()
    points = (normal.inv_cdf(1 - (1 - LEVEL) / 2 / tests) for tests in (1, len(differences)))
    alone, together = (t_quantile(len(families) - 1, point) + normal.inv_cdf(POWER) for point in points)
    return alone * error, together * error
