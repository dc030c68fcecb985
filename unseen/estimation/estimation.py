"""The estimates for unlabelled sets, as a table, a figure and text."""

import math
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
"""Name of the method that is fitted to meta-train sets."""
TOO_FEW = "too few meta-train sets to say"
INSIDE, NEAR = 1.0, 2.0
"""Largest `SetEstimate.outside` of a set that is inside of the labelled data, and of one that is near it."""


@dataclass(frozen=True)
class SetEstimate:
    """The estimate for one unlabelled set; accuracies are fractions in [0, 1].

    Attributes:
        name: Name of the set.
        images: Number of images in the set.
        accuracy: Estimate of the accuracy.
        low: Lower end of the interval, at the level of the `Estimation`.
        high: Upper end of the interval.
        difference: Estimate minus the accuracy on the labelled images.
        fallen: "yes" if the accuracy has fallen by more than the margin, "no" if not, else "unclear". It is
            also "unclear" if the estimate lies above the labelled accuracy and the set is far from the data.
        shares: Estimated share of each class, (k,).
        distance: Wasserstein distance between the log-odds of the confidences in this set and in the
            labelled images, in standard deviations of the latter; near 0 for two halves of one set.
        outside: Distance of the set from the labelled data, divided by the distance that nine of ten parts
            of that data have from the rest. The data are the meta-train sets if there are any, else parts
            of the labelled images as large as the set.
        methods: Estimate of each method, by name.
        learnt: Interval, low and high, of the method that is fitted to meta-train sets; None without them.
        remarks: Reasons for a wide interval, a sentence each.
        least_sure: Rows of the images of which the model is least sure.
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
        """The word for `outside`: "inside" up to 1, "near" up to 2, else "far"."""
        return "inside" if self.outside <= INSIDE else "near" if self.outside <= NEAR else "far"


@dataclass(frozen=True)
class Estimation:
    """The estimates for all sets, with a check on the labelled images themselves.

    Attributes:
        accuracy: Accuracy on the labelled images, a fraction.
        images: Number of labelled images.
        level: Level of the intervals, between 0 and 1.
        margin: Fall in accuracy above which a set counts as fallen, a fraction.
        sets: Estimate of each set.
        halves: Estimate and true accuracy of each half of the labelled images; the estimate is made from the
            other half, as a check of the methods without any shift.
        classes: Names of the classes, or their numbers.
        centres: Names of the methods whose mean is the estimate.
        compared: Name of the data that sets are compared with, for `SetEstimate.outside`.
        chance: Accuracy without any skill: the largest class share of the labelled images, or 1 / k if that
            is larger.
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
    chance: float

    @property
    def warning(self) -> str:
        """A sentence if the labelled images show that no estimate can be trusted; else "".

        That is so if their accuracy is no better than chance, within 3 standard errors; if no image is wrong;
        or if the true accuracies of both halves are below, or both above, the intervals estimated for them.
        """
        if self.accuracy <= self.chance + 3 * math.sqrt(self.chance * (1 - self.chance) / self.images):
            return (
                f"accuracy on the labelled images is {100 * self.accuracy:.1f} %, no better than chance "
                f"({100 * self.chance:.3g} %): are the classes in the model's order?"
            )
        if self.accuracy == 1:
            return (
                "no labelled image is wrong, so nothing tells how sure the model is where it errs: label "
                "more images, none of which it was trained on"
            )
        sides = {(true > half.high) - (true < half.low) for half, true in self.halves}
        if sides in ({-1}, {1}):
            return (
                f"the check fails, both halves are {'less' if -1 in sides else 'more'} accurate than their "
                "intervals say: the model's confidences do not tell its errors (are many the same?)"
            )
        return ""

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of all methods."""
        return tuple(self.sets[0].methods)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The estimates, one row for each set.

        Columns: images, accuracy, low, high, difference, fallen, distance, outside; then the estimate of each
        method; last, if there are meta-train sets, the interval of the method fitted to them.
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
        """The estimated shares of the classes, one row for each set, one column for each class."""
        rows = {each.name: each.shares for each in self.sets}
        return pd.DataFrame.from_dict(rows, orient="index", columns=self.classes).rename_axis("set")

    def below(self, accuracy: float) -> list[str]:
        """Returns the names of the sets whose estimate is below `accuracy`, a fraction."""
        return [each.name for each in self.sets if each.accuracy < accuracy]

    def plot(self) -> "Drawn":
        """Returns a chart of the estimates with their intervals, in the order of the sets.

        If the sets are windows of a stream, the order is that of time.
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
                *([f"warning: {self.warning}"] if self.warning else []),
                "check: each half of them, estimated from the other",
                *checks,
                "",
                f"{'set':<{width}}  images  accuracy  {level:>15}  difference  fallen   distance  outside",
                *(f"{_line(each, width)}  {_verdict(each)}" for each in self.sets),
                *(f"{each.name}: {remark}" for each in self.sets for remark in each.remarks),
                *(_own(each, level) for each in self.sets if each.learnt is not None),
                f"fallen: by more than {100 * self.margin:g} points; distance: of the confidences from those "
                f"in the labelled images; outside: distance from {self.compared}, 1 is usual without a shift",
                f"the estimate is the mean of {', '.join(self.centres)}; the files also show "
                f"{', '.join(name for name in self.methods if name not in self.centres)}",
            ]
        )

    def _repr_html_(self) -> str:
        """Returns the HTML that a notebook shows."""
        template = templates(Path(__file__).parent).get_template("table.html")
        return template.render(found=self, sorted=False)


def _line(each: SetEstimate, width: int) -> str:
    """Returns name, number of images, estimate and interval of a set, as text."""
    interval = f"{100 * each.low:.1f} to {100 * each.high:.1f}"
    return f"{each.name:<{width}}  {each.images:>6}  {100 * each.accuracy:>6.1f} %  {interval:>15}"


def _verdict(each: SetEstimate) -> str:
    """Returns difference, verdict and distances of a set, as text."""
    distances = f"{each.distance:>8.2f}  {each.outside:.1f} {each.place}"
    return f"{100 * each.difference:>+10.1f}  {each.fallen:<7}  {distances}"


def _own(each: SetEstimate, level: str) -> str:
    """Returns estimate and interval of the method fitted to meta-train sets, as text."""
    assert each.learnt is not None
    low, high = each.learnt
    if low <= 0 and high >= 1:
        return f"{each.name}: {LEARNT} alone, {100 * each.methods[LEARNT]:.1f} %, {level}: {TOO_FEW}"
    told = f"{100 * each.methods[LEARNT]:.1f} %, {level} {100 * low:.1f} to {100 * high:.1f}"
    return f"{each.name}: {LEARNT} alone, {told}"
