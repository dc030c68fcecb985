"""The estimates for unlabelled sets as data, and what follows from them: warning, table, alarms, verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd
from scipy.stats import binom

from baselines.contract.intervals import FAR
from starter.observing.observation import Observation
from submission.errors import UnusableInput
from unseen.estimation.stream import Stream, Window

INSIDE = 1.0
"""Largest distance of a set that is inside; with features alone no other set has a level."""
BY_CHANCE = 0.01
"""Largest probability that chance alone classes as many labelled images rightly, of a model with skill."""
SHOWN_PAIRS = 5
"""Number of exchanged classes that a warning names."""
COLUMNS = ("images", "accuracy", "low", "high", "difference", "fallen", "distance", "outside")
"""The fields of a set that have a column in the table."""
VERDICTS = {
    "yes": "The accuracy has fallen",
    "no": "The accuracy has not fallen",
    "no sign": "There is no sign that the accuracy has fallen",
    "cannot tell": "Nobody can tell whether the accuracy has fallen",
}
"""What is said of a set, by whether its accuracy has fallen."""


def fallen(least: float, high: float, bar: float) -> str:
    """Returns "yes" if the interval lies below the bar, "no" if `least` is above, else "cannot tell"."""
    if high < bar:
        return "yes"
    return "no" if least > bar else "cannot tell"


@dataclass(frozen=True)
class SetEstimate:
    """The estimate for one unlabelled set; accuracies are fractions in [0, 1].

    Attributes:
        name: Name of the set.
        images: Number of images in the set.
        accuracy: Estimate of the accuracy.
        low: Lower end of the interval, at the level of the `Estimates`.
        high: Upper end of the interval; 1 if many labelled confidences are tied.
        difference: Estimate minus the accuracy on the labelled images.
        fallen: "yes" if the whole interval lies below the labelled accuracy minus the margin, "no" if
            `least` lies above it, or "no sign" where only confidences say so; else "cannot tell".
        least: Accuracy above which the set's is held to be; 0 if the set is far, if its logits seem to be
            scaled, or if many labelled confidences are tied.
        promised: True if the interval holds at its level; else it is a range.
        shares: Estimated share of each class, (k,).
        distance: Wasserstein distance between the log-odds of the confidences in this set and in labelled
            images with its class shares, in standard deviations; near 0 for two halves of one set.
        outside: Distance of the set from the labelled data, divided by the distance that nine of ten parts
            of that data have from the rest. The data are the meta-train sets if there are any, else labelled
            images with the set's class shares.
        scale: Factor by which the set's logits seem to have been multiplied; 1 where nothing says so.
        methods: Estimate of each method, by name.
        remarks: Reasons for a wide interval, a sentence each.
        labels: Number of the set's images whose labels count.
        by_labels: Accuracy by these labels alone; 0 without labels.
        unlabelled: Estimate without them, by the logits as they are, and the interval's upper end.
    """

    name: str
    images: int
    accuracy: float
    low: float
    high: float
    difference: float
    fallen: str
    least: float
    promised: bool
    unlabelled: tuple[float, float]
    shares: tuple[float, ...]
    distance: float
    outside: float
    scale: float
    methods: Mapping[str, float]
    remarks: tuple[str, ...]
    labels: int = 0
    by_labels: float = 0.0

    @property
    def window(self) -> Window:
        """The set as a window of a stream."""
        return Window(self.name, self.images, *self.unlabelled, self.labels, self.by_labels)

    def interval(self, level: float) -> str:
        """Returns the interval in percent and its level, or "range" if none is promised."""
        name = f"{100 * level:g} %" if self.promised else "range"
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}, {name}"

    @property
    def place(self) -> str:
        """The word for `outside`: "inside" up to 1, "near" up to 2, else "far"."""
        if self.outside <= INSIDE:
            return "inside"
        return "near" if self.outside <= FAR else "far"


@dataclass(frozen=True)
class Estimates:
    """The data of an `Estimation`, and what follows from them.

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
        chance: Accuracy that the model's predictions would have on the labelled images in random order: the
            sum of the products of predicted and true shares.
        seen: What the model says of each set.
        exchanged: Pairs of a class and the class that labelled images of it seem to show.
        notes: What was left out of the files, a sentence each.
        stream: What all sets say together as the windows of a stream; see `Estimation.watch`.
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
    seen: tuple[Observation, ...]
    exchanged: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    stream: Stream | None = None

    @property
    def warning(self) -> str:
        """A sentence if the labelled images show that no estimate can be trusted; else "".

        That is so if some of their classes look exchanged; if chance has a probability above `BY_CHANCE` of
        an accuracy like theirs (binomial); if no image is wrong; if all confidences are the same; or if the
        true accuracies of both halves are below, or both above, the intervals estimated for them.
        """
        if self.exchanged:
            pairs = ", ".join(f"{label} as {meant}" for label, meant in self.exchanged[:SHOWN_PAIRS])
            others = len(self.exchanged) - SHOWN_PAIRS
            more = f", and {others} more" if others > 0 else ""
            return (
                f"classes look exchanged, labelled images of {pairs}{more}: put the classes in the model's "
                "order; no estimate can be trusted before"
            )
        right = round(self.accuracy * self.images)
        if binom.sf(right - 1, self.images, self.chance) > BY_CHANCE:
            return (
                f"accuracy on the labelled images is {100 * self.accuracy:.1f} %, no better than chance "
                f"({100 * self.chance:.3g} %): are the classes in the model's order?"
            )
        if self.accuracy == 1:
            return (
                "no labelled image is wrong, so nothing tells how sure the model is where it errs: label "
                "more images, none of which it was trained on"
            )
        if all(half.high - half.low == 1 for half, _ in self.halves):
            return (
                "all labelled images have the same confidence, which tells no errors: label some of each set"
            )
        if side := self._failed_side():
            return (
                f"the check fails, both halves are {side} accurate than their "
                "intervals say: the model's confidences do not tell its errors (are many the same?)"
            )
        return ""

    @property
    def doubted(self) -> bool:
        """Whether there is a warning, and a set that no label of its own speaks for."""
        return bool(self.warning) and not all(each.labels for each in self.sets)

    def _failed_side(self) -> str:
        """Returns on which side of their intervals both halves lie, "less" or "more"; "" if not both do."""
        if all(true < half.low for half, true in self.halves):
            return "less"
        return "more" if all(true > half.high for half, true in self.halves) else ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """The estimates, one row for each set.

        Columns: images, accuracy, low, high, difference, fallen, distance, outside; then the estimate of each
        method.
        """
        rows = pd.DataFrame([{**vars(each), **each.methods} for each in self.sets])
        return rows.set_index("name").rename_axis("set")[[*COLUMNS, *self.sets[0].methods]]

    def below(self, accuracy: float, fail_on: str = "likely") -> list[str]:
        """Returns the names of the sets below `accuracy`, a fraction: certainly, likely or possibly.

        That is with the upper end of the interval, with the estimate (then it is more likely than not that
        the accuracy lies below), or with `least`: so every set that is far is possibly below.
        """
        low = []
        for each in self.sets:
            ends = {"certain": each.high, "likely": each.accuracy, "possible": each.least}
            low += [each.name] if ends[fail_on] < accuracy else []
        return low

    def verdict(self, of: str | SetEstimate) -> str:
        """Returns whether the accuracy has fallen of a set, given by its name or estimate, a sentence."""
        named = {each.name: each for each in self.sets}
        each = named.get(of) if isinstance(of, str) else of
        if not isinstance(each, SetEstimate):
            raise UnusableInput(f"there is no set {of!r}: name one of {', '.join(named)}")
        return f"{VERDICTS[each.fallen]} by more than {100 * self.margin:g} points."
