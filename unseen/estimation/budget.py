"""A budget of labels: the images to label, and the estimates once labels of some of them are known.

The images of a set are drawn in proportion over predicted classes and the confidences in each, so a sample
of any size holds each of these strata as often as the set does. Labelled images are grouped in this order,
and the rate of right predictions among a group's labels is the prediction for all of its images
(prediction-powered inference: Angelopoulos et al., Science 2023; by strata: Fisch et al., arXiv 2406.04291).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from baselines.accuracy.atc import confidence_log_odds
from starter.observing.observation import Observation
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.errors import unusable
from submission.files import digest_of, read_rows
from submission.page import harmless
from unseen.estimation.estimates import Estimates, SetEstimate, fallen

SMALL = 8
"""Largest number of neighbouring images that are drawn in any order."""
GROUP = 5
"""Number of labelled images in a group of neighbours."""
PLAIN = 20
"""Number of labels that count as evidence against a gain by groups, which few labels can show by chance."""
APART = 1.5
"""Number of standard errors between labels and label-free estimate from which on its weight falls."""
Files = Mapping[str, Sequence[str]]
"""The names of the images' files, by set."""
Answers = Mapping[tuple[str, int], str]
"""The text in the column ``label``, "" for an image that is not labelled, by set and row."""
NO_FILES: Files = MappingProxyType({})
NO_ANSWERS: Answers = MappingProxyType({})
Kind = TypeVar("Kind", bound=Estimates)
NO_CLASS = "none"
"""The label of an image of none of the classes, on which every prediction is wrong."""
OUTSIDE = -1
"""The column of such an image."""


def proportional_order(rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Returns rows (n,) in a random order of which each beginning holds each part in proportion.

    Parts are the halves of `rows`, their halves, and so on: of m first rows, a part of a rows holds m * a / n
    up to rounding (Madow's systematic sampling at each halving). Each row is equally likely in each place.
    """
    n = len(rows)
    if n <= SMALL:
        return rng.permutation(rows)
    steps = np.floor(np.arange(n + 1) * (n // 2) / n + rng.uniform())
    of_lower = np.diff(steps) > 0
    order = np.empty_like(rows)
    order[of_lower] = proportional_order(rows[: n // 2], rng)
    order[~of_lower] = proportional_order(rows[n // 2 :], rng)
    return order


def in_strata(seen: Observation) -> IntArray:
    """Returns the rows (n,) of a set by class, in the order of their mean confidence, and confidence in each.

    Confidences rise in one class and fall in the next, so that neighbours are alike.
    """
    sure = pd.Series(confidence_log_odds(seen))
    places = sure.groupby(seen.predicted).transform("mean").rank(method="dense")
    return np.lexsort((sure * (-1) ** places, places))


def draw(
    estimates: Estimates,
    count: int,
    answers: Answers = NO_ANSWERS,
    files: Files = NO_FILES,
    seed: int = 0,
) -> pd.DataFrame:
    """Returns a table of `count` images of each set to label: set, row (from 0), file, check and label.

    With the same seed, a larger count adds images to those of a smaller one. Images whose labels are known
    come first, whether drawn or not.
    """
    labels = dict(answers)
    sets = {seen.set_name: seen for seen in estimates.seen}
    for seen in estimates.seen:
        order = proportional_order(in_strata(seen), np.random.default_rng(seed))
        for row in order[:count].tolist():
            labels.setdefault((seen.set_name, row), "")
    lines = [
        (harmless(name), row, _file(files, name, row), _check(sets[name], row), label)
        for (name, row), label in labels.items()
    ]
    table = pd.DataFrame(lines, columns=["set", "row", "file", "check", "label"])
    return table if files else table.drop(columns="file")


def read_answers(path: Path, estimates: Estimates, files: Files = NO_FILES) -> dict[tuple[str, int], str]:
    """Returns the labels in a CSV as `draw` makes it; one that is of no image or of no class is refused."""
    names = {harmless(seen.set_name): seen for seen in estimates.seen}
    known = _classes(estimates)
    answers = dict[tuple[str, int], str]()
    for line, cells in read_rows(path, ("set", "row", "label")):
        seen = names.get(cells["set"])
        if seen is None:
            raise unusable(
                path, f"line {line}: no set {cells['set']!r} is estimated: there is {', '.join(names)}"
            )
        row = cells["row"].removesuffix(".0")
        label = cells["label"]
        problem = _problem_of_row(seen, row, cells, files)
        if not problem and (seen.set_name, int(row)) in answers:
            problem = f"row {row} of {seen.set_name} is given twice"
        if not problem and label and label not in known:
            example = " or ".join(dict.fromkeys((estimates.classes[0], "0")))
            problem = f"no class is called {label}: give a class, such as {example}, or {NO_CLASS}"
        if problem:
            raise unusable(path, f"line {line}: {problem}")
        answers[seen.set_name, int(row)] = label
    return answers


def _problem_of_row(seen: Observation, row: str, cells: Mapping[str, str], files: Files) -> str:
    """Returns why a line is of no image of the set; "" if it is of one."""
    if not (row.isdecimal() and int(row) < len(seen)):
        return f"{seen.set_name} has no row {row}: it has 0 to {len(seen) - 1}"
    file = _file(files, seen.set_name, int(row))
    if cells.get("file", file) != file:
        return f"row {row} of {seen.set_name} is {file}, not {cells['file']}"
    if cells.get("check", "") not in ("", _check(seen, int(row))):
        return f"row {row} of {seen.set_name} was another when it was asked: these labels are of other data"
    return ""


def _check(seen: Observation, row: int) -> str:
    """Returns digits that depend on what the model says of an image, but do not show it to who labels it."""
    digits = digest_of(row, int(seen.predicted[row]))[:4]
    return f"c{digits}"  # which no program that reads tables takes for a number


def with_columns(table: pd.DataFrame, path: Path | None) -> pd.DataFrame:
    """Returns a table of `draw` with what other columns a CSV of answers has, such as notes."""
    if path is None:
        return table
    own = pd.read_csv(path, dtype=str, keep_default_na=False).astype({"row": float}).set_index(["set", "row"])
    return table.join(own[own.columns.difference(table.columns)], on=["set", "row"])


def _file(files: Files, name: str, row: int) -> str:
    """Returns the name of an image's file as a table shows it; "" for a set without files."""
    return harmless(files[name][row]) if name in files else ""


def _classes(estimates: Estimates) -> dict[str, int]:
    """Returns the column of each class by its number and name; where both are the same, the name counts.

    Tables write numbers as 3 or 3.0, names that are numbers too.
    """
    names = estimates.classes
    numbers = [str(i) for i in range(len(names))]
    columns = {NO_CLASS: OUTSIDE}
    for point in (".0", ""):
        columns |= {f"{number}{point}": i for i, number in enumerate(numbers)}
        columns |= {f"{name}{point}": i for i, name in enumerate(names)}
    return columns


def answered(estimates: Kind, answers: Answers) -> Kind:
    """Returns the estimates with labels of some images; sets without a label stay as they are.

    The interval of a set with labels is that of the labels alone, which holds however wrong the label-free
    estimate is; its `remarks` say what each of the two says, and how many rows have no answer.
    """
    known = _classes(estimates)
    sets = []
    for each, seen in zip(estimates.sets, estimates.seen, strict=True):
        of_set = {row: label for (name, row), label in answers.items() if name == each.name}
        labels = {row: known[label] for row, label in of_set.items() if label}
        labelled = _with_labels(estimates, each, seen, labels) if labels else each
        if waiting := len(of_set) - len(labels):
            remark = f"{waiting} rows have no label: if they are the hard ones, the estimate is too high"
            labelled = replace(labelled, remarks=(*labelled.remarks, remark))
        sets.append(labelled)
    return replace(estimates, sets=tuple(sets))


def _with_labels(
    estimates: Estimates, each: SetEstimate, seen: Observation, labels: Mapping[int, int]
) -> SetEstimate:
    """Returns the estimate of a set with the classes of some of its rows."""
    ranks = np.argsort(in_strata(seen))
    rows = np.array(list(labels))
    right = seen.predicted[rows] == np.array(list(labels.values()))
    own = ByLabels.of(right, ranks[rows], len(seen), estimates.level)
    wider = max(each.high - each.accuracy, each.accuracy - each.low)
    error = wider / float(norm.ppf((1 + estimates.level) / 2))
    accuracy = own.shrunk(each.accuracy, error)
    outside = "" if own.low <= each.accuracy <= own.high else ", outside it: the further, the less it counts"
    remark = (
        f"your {len(labels)} labels give {100 * own.accuracy:.1f} %, and the interval; the estimate "
        f"without labels is {100 * each.accuracy:.1f} %{outside}"
    )
    return replace(
        each,
        accuracy=accuracy,
        low=own.low,
        high=own.high,
        difference=accuracy - estimates.accuracy,
        fallen=fallen(own.low, own.high, estimates.accuracy - estimates.margin),
        least=own.low,
        promised=True,
        labels=len(labels),
        by_labels=own.accuracy,
        remarks=(remark,),
    )


def in_groups(right: BoolArray, ranks: IntArray, images: int) -> tuple[list[BoolArray], FloatArray]:
    """Returns labels (n,) in groups of neighbours, and the share of the images that each group stands for.

    A group has `GROUP` labels or a few more; limits lie midway between the labels of two groups.
    """
    rows = np.array_split(np.argsort(ranks), max(1, len(right) // GROUP))
    limits = [(ranks[one[-1]] + ranks[other[0]] + 1) / 2 for one, other in pairwise(rows)]
    return [right[each] for each in rows], np.diff([0, *limits, images]) / images


def worth_of(sizes: IntArray, rates: FloatArray, weights: FloatArray, images: int) -> float:
    """Returns the number of simple random labels of an endless set that tell as much as n in these groups.

    It is n over the finite population's correction 1 - n / N and over the share of the variance that groups
    leave (Cochran, Sampling Techniques, 1977). That share is averaged with 1, which counts as `PLAIN` labels:
    this shrinking is the kit's own. Where all labels are right or all wrong, the share is 1.
    """
    n = int(sizes.sum())
    share = 1.0
    if rates.min() < 1 and rates.max() > 0:
        mean = float(weights @ rates)
        whole = mean * (1 - mean) * n / max(n - 1, 1)
        within = rates * (1 - rates) * sizes / np.maximum(sizes - 1, 1)
        left = min(float(weights @ within) / whole, 1)
        share = (n * left + PLAIN) / (n + PLAIN)
    return n / (share * (1 - n / images))


def agresti_coull(rate: float, n: float, z: float) -> tuple[float, float]:
    """Returns the centre and half the length of the interval for a rate of n trials, z deviations wide.

    Agresti & Coull, The American Statistician 1998: z^2 / 2 successes and z^2 / 2 failures are added.
    """
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    return centre, z * math.sqrt(centre * (1 - centre) / (n + z**2))


@dataclass(frozen=True)
class ByLabels:
    """The accuracy of a set by its labels alone, its interval, and its standard error, 0 if all are known."""

    accuracy: float
    low: float
    high: float
    error: float

    @classmethod
    def of(cls, right: BoolArray, ranks: IntArray, images: int, level: float) -> "ByLabels":
        """Returns the estimate from images (n,) that the model has right or wrong, at these ranks of the set.

        The interval is that of Agresti and Coull for as many trials as the labels are worth, with Student's t
        of as many degrees of freedom as labels exceed groups. Its ends are rounded outwards to whole numbers
        of images, and no label contradicts them.
        """
        n = len(right)
        hits = int(right.sum())
        if n == images:
            return cls(accuracy=hits / n, low=hits / n, high=hits / n, error=0.0)
        groups, weights = in_groups(right, ranks, images)
        rates = np.array([each.mean() for each in groups])
        mean = float(weights @ rates)
        worth = worth_of(np.array([len(each) for each in groups]), rates, weights, images)
        z = student.ppf((1 + level) / 2, max(n - len(groups), 1))
        centre, reach = agresti_coull(mean, worth, z)
        low = max(math.floor(images * (centre - reach)), hits) / images
        high = min(math.ceil(images * (centre + reach)), hits + images - n) / images
        accuracy = min(max(mean, low), high)
        return cls(accuracy=accuracy, low=low, high=high, error=reach / z)

    def shrunk(self, estimate: float, error: float) -> float:
        """Returns the accuracy by labels and by a label-free estimate with this standard error.

        Each counts by the other's variance. Where the two lie further apart than APART standard errors, the
        error of the label-free one is raised until they do not, so that labels win an argument; the result
        lies in the interval. The rule is the kit's own.
        """
        if self.error == 0:
            return self.accuracy
        gap = estimate - self.accuracy
        own = self.error**2
        other = max(error**2, (gap / APART) ** 2 - own)
        moved = self.accuracy + gap * own / (own + other)
        return min(max(moved, self.low), self.high)
