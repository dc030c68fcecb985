"""What is estimated of each set, as a table, a figure and text."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from submission.page import templates

if TYPE_CHECKING:
    from starter.images.figure import Drawn

LEARNT = "unseen-best"
"""The method that learns from meta-train sets."""
INSIDE, NEAR = 1.0, 2.0
"""Up to where a set is inside of what was seen, and near it (`SetEstimate.outside`)."""


@dataclass(frozen=True)
class SetEstimate:
    """What is estimated of one unlabelled set; accuracies are fractions.

    Attributes:
        name: the set's.
        images: how many it has.
        accuracy: the estimate.
        low, high: its interval at the level that was asked for.
        difference: the estimate less the accuracy on the labelled images.
        fallen: whether accuracy has fallen by more than the margin: "yes", "no", or "unclear".
        shares: the estimated share of each class (k,).
        distance: how far the confidences lie from those of the labelled images (Wasserstein, in their
            standard deviations); two halves of these are near 0.
        outside: how many times as far it lies from what was seen with labels as nine of ten parts of that
            lie from the rest: from the meta-train sets, where such were made, or else from parts of the
            labelled images that are as large as the set.
        methods: what each method estimates.
        learnt: the interval of the method that learnt from meta-train sets, by itself; None without any.
        remarks: why the interval is wide, in plain words.
        least_sure: the rows of the images that the model is least sure of.
    """

    name: str
    images: int
    accuracy: float
    low: float
    high: float
    difference: float
    fallen: str
    shares: tuple[float, ...]
    distance: float
    outside: float
    methods: Mapping[str, float]
    learnt: tuple[float, float] | None
    remarks: tuple[str, ...]
    least_sure: tuple[int, ...]

    @property
    def place(self) -> str:
        """`outside` in a word: inside, near or far."""
        return "inside" if self.outside <= INSIDE else "near" if self.outside <= NEAR else "far"


@dataclass(frozen=True)
class Estimation:
    """The answer for every set, with a check on the labelled images themselves.

    Attributes:
        accuracy: on the labelled images.
        images: how many these are.
        level: of the intervals.
        margin: a fall of more than this is told.
        sets: the estimates.
        halves: the same for each half of the labelled images, from the other half, beside the half's true
            accuracy: a check of the methods where nothing has shifted.
        classes: the names of the classes, or their numbers.
        centres: the methods whose mean is the estimate.
        compared: what sets are compared with, for `SetEstimate.outside`.
    """

    accuracy: float
    images: int
    level: float
    margin: float
    sets: tuple[SetEstimate, ...]
    halves: tuple[tuple[SetEstimate, float], ...]
    classes: tuple[str, ...]
    centres: tuple[str, ...]
    compared: str

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were asked."""
        return tuple(self.sets[0].methods)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a set: images, accuracy, low, high, difference, fallen, distance, outside, then its methods.

        Where one learnt from meta-train sets, its own interval stands last.
        """
        names = ("images", "accuracy", "low", "high", "difference", "fallen", "distance", "outside")
        rows = {}
        for each in self.sets:
            rows[each.name] = {**{name: getattr(each, name) for name in names}, **each.methods}
            if each.learnt is not None:
                ends = zip(("low", "high"), each.learnt, strict=True)
                rows[each.name] |= {f"{LEARNT} {end}": value for end, value in ends}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("set")

    @property
    def shares(self) -> pd.DataFrame:
        """The estimated share of each class, a row a set."""
        rows = {each.name: each.shares for each in self.sets}
        return pd.DataFrame.from_dict(rows, orient="index", columns=self.classes).rename_axis("set")

    def below(self, accuracy: float) -> list[str]:
        """Returns the sets whose estimate lies below an accuracy."""
        return [each.name for each in self.sets if each.accuracy < accuracy]

    def plot(self) -> "Drawn":
        """Returns estimates with their intervals, set by set in their order.

        Where sets are windows, the chart is over time.
        """
        from starter.images.figure import new_figure  # Matplotlib is slow to import

        figure = new_figure(max(4.0, min(0.5 * len(self.sets) + 2, 14)), 3.2)
        axes = figure.subplots()
        x = np.arange(len(self.sets))
        middle, low, high = (
            100 * np.array([getattr(each, name) for each in self.sets])
            for name in ("accuracy", "low", "high")
        )
        axes.errorbar(
            x, middle, yerr=[middle - low, high - middle], fmt="o-" if len(x) > 3 else "o", capsize=3
        )
        axes.axhline(100 * self.accuracy, color="black", linewidth=1)
        axes.axhline(100 * (self.accuracy - self.margin), color="black", linewidth=1, linestyle=":")
        step = max(1, len(x) // 20)
        axes.set_xticks(
            x[::step], [each.name for each in self.sets][::step], rotation=30, ha="right", fontsize=8
        )
        axes.set(ylabel="estimated accuracy, %", ylim=(0, 100))
        return figure

    def __str__(self) -> str:
        """Returns the check, the table and the remarks, for a terminal."""
        width = max(3, *(len(each.name) for each in self.sets))
        level = f"{100 * self.level:g} % interval"
        checks = [f"  {_line(each, 6)}, is {100 * true:.1f} %" for each, true in self.halves]
        return "\n".join(
            [
                f"accuracy on {self.images:,} labelled images: {100 * self.accuracy:.1f} %",
                "check: each half of them, estimated from the other",
                *checks,
                "",
                f"{'set':<{width}}  images  accuracy  {level:>15}  difference  fallen   distance  outside",
                *(f"{_line(each, width)}  {_verdict(each)}" for each in self.sets),
                *(f"{each.name}: {remark}" for each in self.sets for remark in each.remarks),
                *(_own(each, level) for each in self.sets if each.learnt is not None),
                f"fallen: by more than {100 * self.margin:g} points; distance: of the confidences from those "
                f"of the labelled images; outside: how far from {self.compared}, 1 being as far as these "
                "are from each other",
                f"the mean of {', '.join(self.centres)}; beside them stand "
                f"{', '.join(name for name in self.methods if name not in self.centres)}; methods that need "
                "more than this are left out",
            ]
        )

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        template = templates(Path(__file__).parent).get_template("table.html")
        return template.render(found=self, sorted=False)


def _line(each: SetEstimate, width: int) -> str:
    """Returns name, images, estimate and interval."""
    interval = f"{100 * each.low:.1f} to {100 * each.high:.1f}"
    return f"{each.name:<{width}}  {each.images:>6}  {100 * each.accuracy:>6.1f} %  {interval:>15}"


def _verdict(each: SetEstimate) -> str:
    """Returns difference, verdict and distances."""
    distances = f"{each.distance:>8.2f}  {each.outside:.1f} {each.place}"
    return f"{100 * each.difference:>+10.1f}  {each.fallen:<7}  {distances}"


def _own(each: SetEstimate, level: str) -> str:
    """Returns what the method that learnt from meta-train sets says alone."""
    assert each.learnt is not None
    low, high = each.learnt
    told = f"{100 * each.methods[LEARNT]:.1f} %, {level} {100 * low:.1f} to {100 * high:.1f}"
    return f"{each.name}: {LEARNT} alone, {told}"
