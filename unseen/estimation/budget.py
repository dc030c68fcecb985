"""A budget of labels: the images to label, and the estimates once labels of some of them are known.

The images of a set are drawn in proportion over predicted classes and the confidences in each, so a sample
of any size holds each of these strata as often as the set does. Labelled images are then grouped in that
order, and the rate of right predictions among a group's labels is the prediction for all of its images
(prediction-powered inference: Angelopoulos et al., Science 2023; by strata: Fisch et al., arXiv 2406.04291).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from baselines.accuracy.atc import confidence_log_odds
from starter.observing.observation import Observation
from submission.arrays import BoolArray, IntArray
from submission.errors import unusable
from submission.files import read_rows
from submission.page import harmless
from unseen.estimation.estimation import Estimation, SetEstimate

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


def visited(rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Returns rows (n,) in a random order of which each beginning holds each part in proportion.

    Parts are the halves of `rows`, their halves, and so on: of m first rows, a part of a rows holds m * a / n
    up to rounding (Madow's systematic sampling at each halving). Each row is equally likely in each place.
    """
    n = len(rows)
    if n <= SMALL:
        return rng.permutation(rows)
    steps = np.floor(np.arange(n + 1) * (n // 2) / n + rng.uniform())
    lower, found = np.diff(steps) > 0, np.empty_like(rows)
    found[lower], found[~lower] = visited(rows[: n // 2], rng), visited(rows[n // 2 :], rng)
    return found


def in_strata(seen: Observation) -> IntArray:
    """Returns the rows of a set by predicted class and confidence, (n,), so that neighbours are alike.

    Classes come in the order of their mean confidence, and confidences rise in one and fall in the next.
    """
    sure = pd.Series(confidence_log_odds(seen))
    places = sure.groupby(seen.predicted).transform("mean").rank(method="dense")
    return np.lexsort((sure * (-1) ** places, places))


def draw(
    found: Estimation,
    count: int,
    answers: Answers = MappingProxyType({}),
    files: Files = MappingProxyType({}),
    seed: int = 0,
) -> pd.DataFrame:
    """Returns a table of `count` images of each set to label: set, row (from 0), file (if known) and label.

    With the same seed, a larger count adds images to those of a smaller one. Images whose labels are known
    come first, whether drawn or not.
    """
    drawn = dict(answers)
    for seen in found.seen:
        for row in visited(in_strata(seen), np.random.default_rng(seed))[:count].tolist():
            drawn.setdefault((seen.set_name, row), "")
    lines = [(harmless(name), row, _file(files, name, row), label) for (name, row), label in drawn.items()]
    return pd.DataFrame(lines, columns=["set", "row", "file", "label"]).drop(columns=[] if files else "file")


def read_answers(
    path: Path, found: Estimation, files: Files = MappingProxyType({})
) -> dict[tuple[str, int], str]:
    """Returns the labels in a CSV as `draw` makes it; one that is of no image or of no class is refused."""
    names = {harmless(seen.set_name): seen for seen in found.seen}
    known, answers = _classes(found), dict[tuple[str, int], str]()
    for line, cells in read_rows(path, ("set", "row", "label")):
        seen, row, label = names.get(cells["set"]), cells["row"].removesuffix(".0"), cells["label"]
        problem = ""
        if seen is None:
            problem = f"no set {cells['set']!r} is estimated: there is {', '.join(names)}"
        elif not (row.isdecimal() and int(row) < len(seen)):
            problem = f"{seen.set_name} has no row {row}: it has 0 to {len(seen) - 1}"
        elif (file := _file(files, seen.set_name, int(row))) != cells.get("file", file):
            problem = f"row {row} of {seen.set_name} is {file}, not {cells['file']}"
        elif (seen.set_name, int(row)) in answers:
            problem = f"row {row} of {seen.set_name} is given twice"
        elif label and label not in known:
            problem = f"no class is called {label}: give a name or a number, such as {found.classes[0]} or 0"
        if problem or seen is None:
            raise unusable(path, f"line {line}: {problem}")
        answers[seen.set_name, int(row)] = label
    return answers


def with_columns(table: pd.DataFrame, path: Path | None) -> pd.DataFrame:
    """Returns a table of `draw` with what other columns a CSV of answers has, such as notes."""
    if path is None:
        return table
    own = pd.read_csv(path, dtype=str, keep_default_na=False).astype({"row": float}).set_index(["set", "row"])
    return table.join(own[own.columns.difference(table.columns)], on=["set", "row"])


def _file(files: Files, name: str, row: int) -> str:
    """Returns the name of an image's file as a table shows it; "" for a set without files."""
    return harmless(files[name][row]) if name in files else ""


def _classes(found: Estimation) -> dict[str, int]:
    """Returns the column of each class by its name and number; tables write numbers as 3 or 3.0."""
    names = [*map(str, range(k := len(found.classes))), *found.classes]
    return {f"{name}{point}": i % k for point in (".0", "") for i, name in enumerate(names)}


@dataclass(frozen=True)
class ByLabels:
    """The accuracy of a set by its labels alone.

    Attributes:
        accuracy: The estimate, a fraction.
        low: Lower end of its interval.
        high: Upper end.
        error: Standard error; 0 if all images are labelled.
    """

    accuracy: float
    low: float
    high: float
    error: float

    @classmethod
    def of(cls, right: BoolArray, ranks: IntArray, images: int, level: float) -> "ByLabels":
        """Returns the estimate from images (n,) that the model has right or wrong.

        The interval is that of Agresti and Coull (1998) with Student's t, its ends rounded outwards to whole
        numbers of images. In place of n it has the number of simple random labels that tell as much: more by
        the finite population's correction, and by the share of the variance that lies between groups.

        Args:
            right: Whether the model is right, (n,).
            ranks: Place of each image in the order of the set, from 0, (n,).
            images: Number of images in the set.
            level: Level of the interval.
        """
        n, order = len(right), np.argsort(ranks)
        groups = np.array_split(order, max(1, n // GROUP))
        edges = [(ranks[a[-1]] + ranks[b[0]] + 1) / 2 for a, b in pairwise(groups)]
        weights = np.diff([0, *edges, images]) / images
        rates, sizes = np.array([right[group].mean() for group in groups]), np.array([*map(len, groups)])
        middle, hits = float(weights @ rates), int(right.sum())
        if n == images:
            return cls(hits / n, hits / n, hits / n, 0.0)
        whole = middle * (1 - middle) * n / max(n - 1, 1)
        within = float(weights @ (rates * (1 - rates) * sizes / np.maximum(sizes - 1, 1)))
        share = (n * min(within / whole, 1) + PLAIN) / (n + PLAIN) if 0 < hits < n else 1.0
        worth = n / (share * (1 - n / images))
        z = student.ppf((1 + level) / 2, max(n - len(groups), 1))
        centre = (middle + z**2 / (2 * worth)) / (1 + z**2 / worth)
        error = math.sqrt(centre * (1 - centre) / (worth + z**2))
        low = max(math.floor(images * (centre - z * error)), hits) / images
        high = min(math.ceil(images * (centre + z * error)), hits + images - n) / images
        return cls(min(max(middle, low), high), low, high, error)

    def shrunk(self, estimate: float, error: float) -> float:
        """Returns the accuracy by labels and by a label-free estimate with this standard error.

        Each counts by the other's variance. Where the two lie further apart than APART standard errors, the
        error of the label-free one is raised until they do not, so that labels win an argument; the result
        lies in the interval.
        """
        own, gap = self.error**2, estimate - self.accuracy
        other = max(error**2, (gap / APART) ** 2 - own)
        moved = self.accuracy + (gap * own / (own + other) if own else 0.0)
        return min(max(moved, self.low), self.high)


def answered(found: Estimation, answers: Answers) -> Estimation:
    """Returns the estimates with labels of some images; sets without a label stay as they are.

    The interval of a set with labels is that of the labels alone, which holds however wrong the label-free
    estimate is; its `remarks` say what each of the two says, and how many rows have no answer.
    """
    known = _classes(found)
    pending = Counter(name for (name, _), label in answers.items() if not label)
    sets = []
    for each, seen in zip(found.sets, found.seen, strict=True):
        labels = {row: known[label] for (name, row), label in answers.items() if label and name == each.name}
        sets.append(_with_labels(found, each, seen, labels, pending[each.name]))
    return replace(found, sets=tuple(sets))


def _with_labels(
    found: Estimation, each: SetEstimate, seen: Observation, labels: Mapping[int, int], pending: int
) -> SetEstimate:
    """Returns the estimate of a set with the classes of some rows; `pending` rows were asked in vain."""
    unanswered = f"{pending} rows have no label: if they are the hard ones, the estimate is too high"
    waiting = (unanswered,) * bool(pending)
    if not labels:
        return replace(each, remarks=(*each.remarks, *waiting))
    ranks, rows = np.argsort(in_strata(seen)), np.array([*labels])
    right = seen.predicted[rows] == np.array([*labels.values()])
    own = ByLabels.of(right, ranks[rows], len(seen), found.level)
    error = (each.high - each.low) / (2 * float(norm.ppf((1 + found.level) / 2)))
    accuracy, bar = own.shrunk(each.accuracy, error), found.accuracy - found.margin
    outside = ", outside it: the further, the less it counts" * (not own.low <= each.accuracy <= own.high)
    return replace(
        each,
        accuracy=accuracy,
        low=own.low,
        high=own.high,
        difference=accuracy - found.accuracy,
        fallen="yes" if own.high < bar else "no" if own.low > bar else "cannot tell",
        labels=len(labels),
        remarks=(
            f"your {len(labels)} labels give {100 * own.accuracy:.1f} %, and the interval; the estimate "
            f"without labels is {100 * each.accuracy:.1f} %{outside}",
            *waiting,
        ),
    )
