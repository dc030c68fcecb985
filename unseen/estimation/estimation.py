"""The estimates for unlabelled sets: a table, a figure, text, and files for people and for scripts."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from PIL import Image

from baselines.contract.intervals import FAR
from starter.observing.observation import Observation
from submission.arrays import Pixels
from submission.files import write_text
from submission.page import encoded, harmless, templates
from submission.table import text_table

if TYPE_CHECKING:
    from starter.data.images.figure import Drawn

SHOWN = ("images", "accuracy", "low", "high", "difference", "fallen", "distance", "outside")
"""Attributes of a `SetEstimate` that are columns of the table."""
THUMBNAIL, PICTURES = 96, 12
"""Longer side of a picture on the page, in pixels, and number of a set's images to label that it shows."""
FAIL_ON = {"certain": "high", "likely": "accuracy", "possible": "low"}
"""What lies below the limit at an alarm: the whole interval, the estimate (then it is more likely than not
that the accuracy does), or the lower end."""
SHOWN_PAIRS = 5
"""Number of exchanged classes that a warning names."""
CHARTED = 4
"""Smallest number of sets for which the page has a chart."""
Photos = Mapping[str, Sequence[tuple[str, Pixels]]]
"""The images (h, w, 3) of sets with the names of their files, by the set's name."""


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
        fallen: "yes" if the whole interval lies below the labelled accuracy minus the margin, "no" if it
            lies above and the set is not far, else "cannot tell"; also if the logits seem to be scaled.
        shares: Estimated share of each class, (k,).
        distance: Wasserstein distance between the log-odds of the confidences in this set and in labelled
            images with its class shares, in standard deviations; near 0 for two halves of one set.
        outside: Distance of the set from the labelled data, divided by the distance that nine of ten parts
            of that data have from the rest. The data are the meta-train sets if there are any, else labelled
            images with the set's class shares.
        scale: Factor by which the set's logits seem to have been multiplied; 1 where nothing says so.
        sure: A confidence, and the share of images above it: these are expected to be classed as well as
            the labelled images are. The share is 0 if no image is sure enough.
        methods: Estimate of each method, by name.
        remarks: Reasons for a wide interval, and which images are sure, a sentence each.
        labels: Number of the set's images whose labels count (`Estimation.answered`).
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
    scale: float
    sure: tuple[float, float]
    methods: Mapping[str, float]
    remarks: tuple[str, ...]
    labels: int = 0

    def interval(self, level: float) -> str:
        """Returns the interval in percent and its level, or "range" if the set is far and has no labels."""
        told = "range" if self.outside > FAR and not self.labels else f"{100 * level:g} %"
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}, {told}"

    @property
    def place(self) -> str:
        """The word for `outside`: "inside" up to 1, "near" up to 2, else "far"."""
        return "inside" if self.outside <= 1 else "near" if self.outside <= FAR else "far"


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
        seen: What the model says of each set.
        exchanged: Pairs of a class and the class that labelled images of it seem to show.
        notes: What was left out of the files, a sentence each.
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

    @property
    def warning(self) -> str:
        """A sentence if the labelled images show that no estimate can be trusted; else "".

        That is so if some of their classes look exchanged; if their accuracy is no better than chance, within
        3 standard errors; if no image is wrong; if all confidences are the same; or if the true accuracies of
        both halves are below, or both above, the intervals estimated for them.
        """
        if self.exchanged:
            pairs = ", ".join(f"{label} as {meant}" for label, meant in self.exchanged[:SHOWN_PAIRS])
            more = len(self.exchanged) - SHOWN_PAIRS
            return (
                f"classes look exchanged: labelled images are predicted {pairs}"
                f"{f' and {more} more so' if more > 0 else ''}; are the classes in the model's order? No "
                "estimate can be trusted before they are"
            )
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
        if all(half.high - half.low == 1 for half, _ in self.halves):
            return (
                "all labelled images have the same confidence, which tells no errors: label some of each set"
            )
        sides = {(true > half.high) - (true < half.low) for half, true in self.halves}
        if sides in ({-1}, {1}):
            return (
                f"the check fails, both halves are {'less' if -1 in sides else 'more'} accurate than their "
                "intervals say: the model's confidences do not tell its errors (are many the same?)"
            )
        return ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """The estimates, one row for each set.

        Columns: images, accuracy, low, high, difference, fallen, distance, outside; then the estimate of each
        method.
        """
        rows = [
            {**{name: getattr(each, name) for name in ("name", *SHOWN)}, **each.methods} for each in self.sets
        ]
        return pd.DataFrame(rows).set_index("name").rename_axis("set")

    def below(self, accuracy: float, fail_on: str = "likely") -> list[str]:
        """Returns the names of the sets below `accuracy`, a fraction: certainly, likely or possibly.

        That is with the whole interval, with the estimate, or with the lower end (`FAIL_ON`).
        """
        return [each.name for each in self.sets if getattr(each, FAIL_ON[fail_on]) < accuracy]

    def verdict(self, each: SetEstimate) -> str:
        """Returns whether a set's accuracy has fallen, a sentence."""
        told = {"yes": "The accuracy has fallen", "no": "The accuracy has not fallen"}
        said = told.get(each.fallen, "Nobody can tell whether the accuracy has fallen")
        return f"{said} by more than {100 * self.margin:g} points."

    def ask(self, count: int) -> pd.DataFrame:
        """Returns `count` images of each set to label: columns set, row and label, which is empty.

        A larger count adds images to those of a smaller one.
        """
        from unseen.estimation.budget import draw

        return draw(self, count)

    def answered(self, path: Path | str) -> "Estimation":
        """Returns the estimates with the labels in a CSV, such as `ask` gives; some may be missing."""
        from unseen.estimation.budget import answered, read_answers

        return answered(self, read_answers(Path(path), self))

    def plot(self) -> "Drawn":
        """Returns a chart of the estimates with their intervals, in the order of the sets."""
        from starter.data.images.figure import new_figure  # Matplotlib is slow to import

        figure = new_figure(4.4, min(0.24 * len(self.sets) + 0.9, 20))
        axes = figure.subplots()
        y = np.arange(len(self.sets))
        middle, low, high = (100 * self.table[name] for name in ("accuracy", "low", "high"))
        axes.errorbar(middle, y, xerr=[middle - low, high - middle], fmt="o", markersize=4, capsize=2)
        axes.axvline(100 * self.accuracy, color="black", linewidth=1)
        axes.axvline(100 * (self.accuracy - self.margin), color="black", linewidth=1, linestyle=":")
        step = max(1, len(y) // 60)
        axes.set_yticks(y[::step], [name[-18:] for name in self.table.index[::step]], fontsize=8)
        axes.set(xlabel="estimated accuracy, %", xlim=(0, 100), ylim=(len(y) - 0.5, -0.5))
        return figure

    def __str__(self) -> str:
        """Returns the check, the table and the remarks, for a terminal."""
        head = ["set", "images", "accuracy", "interval", "difference", "fallen", "distance", "outside"]
        checks = [[*self._cells(each)[:4], f"is {100 * true:.1f} %"] for each, true in self.halves]
        lines = [
            f"accuracy on {self.images:,} labelled images: {100 * self.accuracy:.1f} %",
            *([f"warning: {self.warning}"] if self.warning else []),
            *(f"note: {note}" for note in self.notes),
            "check: each half of them, estimated from the other",
            text_table(checks),
            "",
            text_table([head, *map(self._cells, self.sets)]),
            *(f"{each.name}: {remark}" for each in self.sets for remark in each.remarks),
            f"fallen: whether the accuracy fell by more than {100 * self.margin:g} points",
            "distance: how far the confidences are from those of labelled images with the same class shares",
            f"outside: distance from {self.compared}, 1 is usual without a shift; far sets without "
            "labels have a range, for which no level is promised",
            f"accuracy: by {' and '.join(self.centres)} and the distance; the files show other methods",
        ]
        return "\n".join(lines)

    def _cells(self, each: SetEstimate) -> list[str]:
        """Returns the cells of a set's line in the table for a terminal."""
        return [
            each.name,
            str(each.images),
            f"{100 * each.accuracy:.1f} %",
            each.interval(self.level),
            f"{100 * each.difference:+.1f}",
            each.fallen,
            f"{each.distance:.2f}",
            f"{each.outside:.1f} {each.place}",
        ]

    def _repr_html_(self) -> str:
        """Returns the same text for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def html(self, photos: Photos = MappingProxyType({})) -> str:
        """Returns a page that loads nothing; of sets in `photos` it shows images to label."""
        text = templates(Path(__file__).parent).get_template("page.html")
        chart = encoded(self.plot()._repr_png_()) if len(self.sets) >= CHARTED else ""
        drawn, shown = self.ask(PICTURES), {}
        for name, images in photos.items():
            rows = drawn.row[drawn.set == harmless(name)]
            shown[name] = [(_thumbnail(images[row][1]), images[row][0]) for row in rows]
        return text.render(found=self, chart=chart, shown=shown)

    def to_json(self, fail_below: float | None = None, fail_on: str = "likely") -> str:
        """Returns all numbers as JSON, and the sets that are below a limit (`below`)."""
        values = {
            "fail_below": fail_below,
            "fail_on": fail_on,
            "below": self.below(fail_below or 0.0, fail_on),
            "warning": self.warning,
            "notes": self.notes,
            "labelled": {"accuracy": self.accuracy, "images": self.images},
            "level": self.level,
            "margin": self.margin,
            "classes": self.classes,
            "sets": [asdict(each) for each in self.sets],
            "check": [{**asdict(each), "true": true} for each, true in self.halves],
        }
        return json.dumps(values, indent=1, sort_keys=True) + "\n"


def write_estimation(
    found: Estimation,
    folder: Path,
    photos: Photos = MappingProxyType({}),
    fail_below: float | None = None,
    fail_on: str = "likely",
) -> tuple[Path, ...]:
    """Write ``estimate.html``, ``.csv`` and ``.json`` and return their paths."""
    page, table, data = (folder / f"estimate.{kind}" for kind in ("html", "csv", "json"))
    write_text(page, found.html(photos))
    write_text(table, found.table.rename(index=harmless).to_csv(float_format="%.6f", lineterminator="\n"))
    write_text(data, found.to_json(fail_below, fail_on))
    return page, table, data


def _thumbnail(image: Pixels) -> str:
    """Returns a small picture of an image (h, w, 3) as a PNG in base64."""
    small, stream = Image.fromarray(image), io.BytesIO()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    small.save(stream, format="PNG")
    return encoded(stream.getvalue())
