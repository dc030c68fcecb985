"""Which of several models is the best on unlabelled rows: bounds, rows worth a label, and what labels tell.

Where two models predict the same class they are right or wrong together, so their accuracies differ by at
most the share of rows on which they disagree, whatever the shift. Labels tell most on these rows (CODA: Kay
et al., ICCV 2025); on the others two models differ by exactly 0. No estimate without labels is made: see
docs/how-to/rank.md.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput, unusable
from submission.files import read_rows
from submission.table import text_table
from unseen.estimation.budget import NO_CLASS, OUTSIDE, PLAIN, agresti_coull, proportional_order
from unseen.estimation.inputs import Array, Sets, by_name, read_labels, read_logits
from unseen.estimation.tables import Given, class_columns, in_order_of, read

NEAR = 0.05
"""Distance from the best labelled accuracy within which a model leads."""
LEVEL = 0.98


class Pair(NamedTuple):
    """The accuracy of one model minus that of another: value, interval, bound, and the labels that count."""

    difference: float
    low: float
    high: float
    at_most: float
    labels: int


@dataclass(frozen=True)
class Ranking:
    """Models in the order of their accuracy on unlabelled rows; accuracies and differences are fractions.

    Attributes:
        names: Names of the models, m.
        labelled: Accuracy of each model on the labelled rows, (m,).
        predicted: Class that each model predicts for each unlabelled row, (m, n).
        classes: Names of the classes, or their numbers.
        keep: Name of the model with which the others are compared; "" for the first.
        answers: Class of some unlabelled rows, by row; -1 for none of the classes.
    """

    names: tuple[str, ...]
    labelled: FloatArray
    predicted: IntArray
    classes: tuple[str, ...]
    keep: str = ""
    answers: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """The places of the models whose labelled accuracy is near the best, and of the one to keep."""
        near = self.labelled >= self.labelled.max() - NEAR
        return tuple(place for place, name in enumerate(self.names) if near[place] or name == self.keep)

    @cached_property
    def pairs(self) -> list[list[Pair]]:
        """Each model, a list, against each other, at its place in the list."""
        places = range(len(self.names))
        return [[self._pair(one, other) for other in places] for one in places]

    def _pair(self, one: int, other: int) -> Pair:
        """Returns the difference of two models: by labels, or of labelled accuracies within the bound."""
        apart = self.predicted[one] != self.predicted[other]
        share = float(apart.mean())
        both_lead = {one, other} <= {*self.leading}  # rows are drawn where leading models disagree
        rows = [row for row in self.answers if apart[row]] if both_lead else []
        if not rows:
            value = float(np.clip(self.labelled[one] - self.labelled[other], -share, share))
            return Pair(value, low=-share, high=share, at_most=share, labels=0)
        truth = np.array([self.answers[row] for row in rows])
        right = self.predicted[:, rows] == truth
        gains = right[one].astype(float) - right[other]
        mean, low, high = mean_gain(gains, int(apart.sum()))
        return Pair(share * mean, low=share * low, high=share * high, at_most=share, labels=len(rows))

    @cached_property
    def order(self) -> list[int]:
        """The places of the models in `names`, the best first, by their mean difference from all."""
        means = [sum(pair.difference for pair in pairs) for pairs in self.pairs]
        return sorted(range(len(means)), key=lambda place: -means[place])

    @property
    def reference(self) -> int:
        """The place of the model with which the others are compared."""
        return self.names.index(self.keep) if self.keep else self.order[0]

    @property
    def better(self) -> list[str]:
        """The models that are better than the one compared with beyond doubt: their whole interval is."""
        return [self.names[one] for one in self.order if self.pairs[one][self.reference].low > 0]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The models, the best first: labelled accuracy, the `Pair` with the one compared with, and a group.

        The first of a group is not beyond doubt better than the others in it.
        """
        heads = self.order[:1]
        groups = []
        for one in self.order:
            if self.pairs[heads[-1]][one].low > 0:
                heads.append(one)
            groups.append(len(heads))
        pairs = [self.pairs[one][self.reference] for one in self.order]
        table = pd.DataFrame(pairs, index=pd.Index([self.names[one] for one in self.order], name="model"))
        table.insert(0, "labelled", self.labelled[self.order])
        return table.assign(group=groups)

    @property
    def sentence(self) -> str:
        """What follows from the table, in a sentence."""
        name = self.names[self.reference]
        doubtful = [str(other) for other, high in self.table.high.items() if high > 0]
        if self.better:
            return f"Better than {name} beyond doubt: {', '.join(self.better)}."
        if not doubtful:
            return f"No model is as good as {name}, beyond doubt."
        return f"No model is better than {name} beyond doubt, but these may be: {', '.join(doubtful)}."

    def ask(self, count: int, seed: int = 0) -> pd.DataFrame:
        """Returns rows to label: those with an answer, and `count` others on which leading models disagree.

        Columns are row (from 0) and label. Rows are drawn in proportion over who says what, and each is as
        likely as any other; a larger count adds rows to those of a smaller one.
        """
        said = self.predicted[list(self.leading)]
        apart = np.flatnonzero((said != said[0]).any(axis=0))
        if not len(apart):
            leading = ", ".join(self.names[place] for place in self.leading)
            raise UnusableInput(f"--ask: {leading} lead and never disagree: name another model by --keep")
        alike = apart[np.lexsort(said[:, apart])]
        order = proportional_order(alike, np.random.default_rng(seed)).tolist()
        classes = (*self.classes, NO_CLASS)  # OUTSIDE, -1, is the last
        labels = {row: classes[place] for row, place in self.answers.items()}
        labels |= dict.fromkeys([row for row in order if row not in labels][:count], "")
        return pd.DataFrame(labels.items(), columns=["row", "label"])

    def answered(self, path: Path | str) -> "Ranking":
        """Returns the ranking with the labels in a CSV, such as `ask` gives; some may be missing."""
        path = Path(path)
        places = {str(place): place for place in range(len(self.classes))}
        places |= {name: place for place, name in enumerate(self.classes)} | {NO_CLASS: OUTSIDE}
        answers = dict[int, int]()
        last = self.predicted.shape[1] - 1
        for line, cells in read_rows(path, ("row", "label")):
            if "set" in cells:
                raise unusable(path, "asked by `unseen estimate`: answer what `unseen rank --ask` draws")
            row, label = cells["row"].removesuffix(".0"), cells["label"]
            if not row.isdecimal() or int(row) > last or int(row) in answers:
                raise unusable(path, f"line {line}: row {row!r}, where 0 to {last} may stand, each once")
            whole = label.removesuffix(".0")  # tables write 3 as 3.0, too
            if label and not {label, whole} & {*places}:
                raise unusable(path, f"line {line}: no class is called {label}: give a name, or {NO_CLASS}")
            if label:
                answers[int(row)] = places[label if label in places else whole]
        return replace(self, answers=answers)

    def __str__(self) -> str:
        """Returns the table and the sentence, for a terminal."""
        rows = [["model", *self.table.columns]]
        for name, labelled, *differences, labels, group in self.table.itertuples():
            shown = [f"{100 * each + 0.0:+.1f}" for each in differences]
            rows.append([str(name), f"{100 * labelled:.1f}", *shown, f"{labels}", f"{group}"])
        return f"{text_table(rows)}\n\n{self.sentence}"

    def to_json(self) -> str:
        """Returns the table, what is better and the sentence as JSON."""
        values = {"models": self.table.reset_index().to_dict("records"), "keep": self.keep, "level": LEVEL}
        return json.dumps({**values, "better": self.better, "sentence": self.sentence}, indent=1) + "\n"


def mean_gain(gains: FloatArray, rows: int) -> tuple[float, float, float]:
    """Returns the mean gain of one model over another on so many rows, from some (n,), and its interval.

    A gain is 1 if the one is right, -1 if the other is, and 0 if neither, so that (1 + gain) / 2 has a rate.
    The interval is that of Agresti and Coull with the finite population's correction, for as many trials as
    have the variance of these gains, which is averaged with the rate's own as in `budget.worth_of`. Its ends
    are rounded outwards to whole gains, and no gain that is known contradicts them.
    """
    n = len(gains)
    mean, total = float(gains.mean()), int(gains.sum())
    if n == rows:
        return mean, mean, mean
    share = 1.0
    if n > 1 and abs(mean) < 1:
        share = (n * min(float(gains.var(ddof=1)) / (1 - mean**2), 1) + PLAIN) / (n + PLAIN)
    z = float(student.ppf((1 + LEVEL) / 2, max(n - 1, 1)))
    centre, reach = agresti_coull((1 + mean) / 2, n / (share * (1 - n / rows)), z)
    low = max(math.floor(rows * (2 * (centre - reach) - 1)), total - (rows - n)) / rows
    high = min(math.ceil(rows * (2 * (centre + reach) - 1)), total + (rows - n)) / rows
    return min(max(mean, low), high), low, high


# Types in quotes print as their short names in help().
def rank(
    labelled: "Sets",
    labels: "Array",
    unlabelled: "Sets",
    keep: str = "",
    probabilities: bool = False,
    classes: Sequence[str] = (),
) -> Ranking:
    """Compare models on unlabelled rows: how far they can differ there, and which rows to label.

    Args:
        labelled: Logits of the labelled rows by each model, (n, k), by its name: arrays, tensors, tables or
            files as for `unseen.estimate`. No model may have been trained on these rows.
        labels: Class of each labelled row, a column of the logits or one of `classes`, (n,).
        unlabelled: Logits of the unlabelled rows by each model, (m, k), by the same names.
        keep: Name of the model in use, with which the others are compared; "" for the first.
        probabilities: True if the rows hold probabilities, not logits.
        classes: Names of the classes, in the order of the columns; by default those of the first table.
    """
    known = by_name(labelled)
    new = by_name(unlabelled, [*known])
    if len(known) < 2 or known.keys() != new.keys() or keep not in ("", *known):
        given = f"{', '.join(known)} and {', '.join(new)}" + (f", and to keep {keep}" if keep else "")
        raise UnusableInput(
            f"--labelled and --unlabelled must name the same models, two or more, got {given}"
        )
    seen, first, k = _predictions(known, "labelled", classes, probabilities)
    names = tuple(classes) or first.columns or tuple(map(str, range(k)))
    if len(names) != k:
        raise UnusableInput(f"{len(names)} classes are named, but the logits have {k} columns: name each")
    new = {name: new[name] for name in known}
    predicted, _, _ = _predictions(new, "unlabelled", tuple(classes) or first.columns, probabilities, k)
    ordered = in_order_of(read(labels, "labels", "labels"), first.index, first.what)
    truth = read_labels(ordered, n=seen.shape[1], k=k, classes=tuple(classes) or first.columns)
    accuracies = (seen == truth).mean(axis=1)
    return Ranking(tuple(known), accuracies, predicted, names, keep=keep)


def _predictions(
    models: Mapping[str, Array], rows: str, classes: Sequence[str], probabilities: bool, k: int | None = None
) -> tuple[IntArray, Given, int]:
    """Returns the class that each model predicts for each row, (m, n), the first model's table, and k.

    Tables have the order of the first one's rows and columns, where both have names.
    """
    found = list[IntArray]()
    first: Given | None = None
    shape: tuple[int | None, int | None] = (None, k)
    for name, values in models.items():
        each = read(values, f"the logits of {name} for the {rows} rows")
        each = class_columns(each, first.columns if first else classes, labelled=first is None and k is None)
        first = first or each
        logits = read_logits(in_order_of(each, first.index, first.what), probabilities, shape)
        shape = logits.shape
        found.append(logits.argmax(axis=1))
    assert first is not None
    return np.array(found), first, logits.shape[1]
