"""Which differences between the columns of a table are real: the board's statistics for any benchmark."""

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np

from leaderboard.standings import MOST, decided_pairs, paired_rank_groups
from submission.arrays import FloatArray
from submission.errors import unusable
from submission.files import read_rows
from submission.metrics import FEWEST_FAMILIES, LEVEL, t_quantile
from submission.page import harmless
from submission.random import BOOTSTRAP
from submission.scoretable import Families
from submission.table import cell, text_table

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
    order = np.argsort(values.mean(axis=1) * (1 if lower else -1), kind="stable")
    values = values[order]
    sums, half = drawn.sums(values), t_quantile(len(drawn) - 1) * standard_error(values, drawn)
    found = paired_rank_groups(sums, BOOTSTRAP(0))
    first, second = np.triu_indices(min(len(values), MOST), 1)
    alone, together = resolvable(values[first] - values[second], drawn)
    decimals = 1 - math.floor(math.log10(alone)) if alone > 0 else 2
    rows = [["system", "mean", f"{100 * LEVEL:.0f} % interval", "rank group"]]
    for place, mean, around, groups in zip(order, values.mean(axis=1), half, found, strict=True):
        ends = " to ".join(cell(end, decimals) for end in (mean - around, mean + around))
        rows.append([harmless(names[place]), cell(mean, decimals), ends, " ".join(map(str, groups))])
    told = f"{len(kinds)} items" + (f" of {len(drawn)} families" if families else "")
    best = "lower" if lower else "higher"
    sentences = [f"{told}; {best} is better. Systems that share a rank group are not told apart."]
    if len(first):
        most = f" The first {MOST} systems are compared." if len(values) > MOST else ""
        reach, few = cell(together, decimals), ""
        if 2.0 ** (1 - len(drawn)) * len(first) > 1 - LEVEL:
            reach, few = "none", ": too few items or families"
        both = f" if only this pair is compared, and {reach} if all {len(first)} pairs are{few}"
        sentences += [
            f"{decided_pairs(found)}{most}",
            f"With {told}, a true difference of {cell(alone, decimals)} would be found {10 * POWER:.0f} "
            f"times in 10{both * (len(first) > 1)}.",
        ]
    return "\n".join([text_table(rows), "", *sentences])


def read_scores(path: Path, families: str) -> tuple[list[str], FloatArray, list[str]]:
    """Returns the names of s systems, their scores (s, n), and the name of each of n items' family."""
    rows = list(read_rows(path, [families] if families else []))
    names = [name for name in (rows[0][1] if rows else ()) if name != families]
    if names and (
        names[0].lower() in ("", "id", "item", "unnamed: 0")
        or not any(_number(row[names[0]]) for _, row in rows)
    ):
        del names[0]
    if not names:
        raise unusable(
            path, "no scores: give a row for each item and a column for each system, separated by commas"
        )
    for line, row in rows:
        for name in names:
            if not _number(row[name]):
                told = f"{row[name]!r} is not a number" + "; is it a column for --families?" * (not families)
                told = told if row[name] else "an empty cell: remove this item, or fill in a score"
                raise unusable(path, f"line {line}, column {name!r}: {told}")
    values = np.array([[float(row[name]) for _, row in rows] for name in names])
    return names, values, [row[families] if families else str(line) for line, row in rows]


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def standard_error(values: FloatArray, families: Families) -> FloatArray:
    """Returns the standard errors (...) of the means of values (..., n), from how families' means vary.

    It is that of a ratio of sums over families of unequal sizes (Cochran, Sampling Techniques, 1977, 2.11).
    """
    count, mean = len(families), values.mean(axis=-1, keepdims=True)
    apart = families.sums(values) - mean * families.sizes
    return np.asarray(np.sqrt(count / (count - 1) * (apart**2).sum(axis=-1)) / values.shape[-1])


def resolvable(differences: FloatArray, families: Families) -> tuple[float, float]:
    """Returns the mean difference found with `POWER` in one pair alone, and in the first of Holm's tests.

    `differences` (p, n) are those of p pairs, of which the one with the median standard error counts.
    """
    if not len(differences):
        return 0.0, 0.0
    error, normal = float(np.median(standard_error(differences, families))), NormalDist()
    points = (normal.inv_cdf(1 - (1 - LEVEL) / 2 / tests) for tests in (1, len(differences)))
    alone, together = (t_quantile(len(families) - 1, point) + normal.inv_cdf(POWER) for point in points)
    return alone * error, together * error
