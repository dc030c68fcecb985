"""The answer of an estimate, for people and for scripts: text for a terminal, a chart, a page and JSON."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from PIL import Image

from submission.arrays import Pixels
from submission.errors import UnusableInput, tell
from submission.files import digest_of, write_text
from submission.page import encoded, harmless, templates
from submission.table import text_table
from unseen.estimation import budget
from unseen.estimation.estimates import Estimates, SetEstimate
from unseen.estimation.stream import FailOn, Stream, begun

if TYPE_CHECKING:
    from starter.data.images.figure import Drawn

THUMBNAIL = 96
"""Longer side of a picture on the page, in pixels."""
PICTURES = 12
"""Number of a set's images to label that the page shows."""
CHARTED = 4
"""Smallest number of sets for which the page has a chart."""
HEADINGS = ("set", "images", "accuracy", "interval", "difference", "fallen", "distance", "outside")
Photos = Mapping[str, Sequence[tuple[str, Pixels]]]
"""The images (h, w, 3) of sets with the names of their files, by the set's name."""


class Estimation(Estimates):
    """The estimates for all sets, with a check on the labelled images themselves.

    Printed, in a notebook too, they are a table. `Estimates` says what their fields are.
    """

    def ask(self, count: int) -> pd.DataFrame:
        """Returns `count` images of each set to label: columns set, row, check and label, which is empty.

        A larger count adds images to those of a smaller one.
        """
        return budget.draw(self, count)

    def answered(self, path: Path | str) -> "Estimation":
        """Returns the estimates with the labels in a CSV, such as `ask` gives; some may be missing."""
        return budget.answered(self, budget.read_answers(Path(path), self))

    def watch(self, limit: float, fail_on: FailOn = "likely", state: Path | None = None) -> "Estimation":
        """Returns the estimates with a `stream`, which counts all sets as windows, after those in a file.

        Its `alarm` says since which window the accuracy is below the limit, a fraction, or "". Its `write`
        keeps it for the next call, which does not count the same sets again. See `Stream`.
        """
        if not 0 <= limit <= 1:
            raise UnusableInput(f"the limit is a fraction, such as 0.8, got {limit:g}")
        halves = [number for half, true in self.halves for number in (half.accuracy, half.high, true)]
        model = tuple(map(float, (self.images, self.accuracy, *halves)))
        stream = begun(Stream(limit, fail_on, self.level, model), state)
        job = digest_of(*((each.images, each.unlabelled, each.distance, each.shares) for each in self.sets))
        if stream.last == job:
            tell(f"{state}: the last job counted these sets: they, and labels since, are not counted again")
            return replace(self, stream=stream)
        error = math.sqrt(self.accuracy * (1 - self.accuracy) / self.images)
        for each in self.sets:
            stream = stream.after(each.window, error)
        return replace(self, stream=replace(stream, last=job))

    def alarm(self, limit: float, fail_on: str = "likely") -> str:
        """Returns which sets are below a limit, or since when a watched stream is; "" if none."""
        if self.stream:
            return self.stream.alarm
        low = self.below(limit, fail_on)
        return f"below {100 * limit:g} % ({fail_on}): {', '.join(low)}" if low else ""

    def plot(self) -> "Drawn":
        """Returns a chart of the estimates with their intervals, in the order of the sets."""
        from starter.data.images.figure import new_figure  # Matplotlib is slow to import

        table = self.table
        figure = new_figure(4.4, min(0.24 * len(table) + 0.9, 20))
        axes = figure.subplots()
        y = np.arange(len(table))
        middle, low, high = (100 * table[name] for name in ("accuracy", "low", "high"))
        axes.errorbar(middle, y, xerr=[middle - low, high - middle], fmt="o", markersize=4, capsize=2)
        axes.axvline(100 * self.accuracy, color="black", linewidth=1)
        axes.axvline(100 * (self.accuracy - self.margin), color="black", linewidth=1, linestyle=":")
        if self.stream:
            axes.axvline(100 * self.stream.limit, color="red", linewidth=1)
        step = max(1, len(y) // 60)
        axes.set_yticks(y[::step], [name[-18:] for name in table.index[::step]], fontsize=8)
        axes.set(xlabel="estimated accuracy, %", xlim=(0, 100), ylim=(len(y) - 0.5, -0.5))
        return figure

    def __str__(self) -> str:
        """Returns the check, the table and the remarks, for a terminal."""
        checks = [[*_cells(half, self.level)[:4], f"is {100 * true:.1f} %"] for half, true in self.halves]
        rows = [_cells(each, self.level) for each in self.sets]
        lines = [
            f"accuracy on {self.images:,} labelled images: {100 * self.accuracy:.1f} %",
            *([f"warning: {self.warning}"] if self.warning else []),
            *(f"note: {note}" for note in self.notes),
            *([str(self.stream)] if self.stream else []),
            "check: each half of them, estimated from the other",
            text_table(checks),
            "",
            text_table([list(HEADINGS), *rows]),
            *(f"{each.name}: {remark}" for each in self.sets for remark in each.remarks),
            f"fallen: whether the accuracy fell by more than {100 * self.margin:g} points",
            "distance: how far the confidences are from those of labelled images with the same class shares",
            f"outside: distance from {self.compared}, 1 is usual without a shift",
            "range: no level is promised without labels for a set that is far, with features for one that is "
            "not inside, from confidences alone, or from images with two classes or few meta-train sets",
            f"accuracy: by {', '.join(self.centres)} and the distance; the files show other methods",
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Returns the same text for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def html(self, photos: Photos | None = None) -> str:
        """Returns a page that loads nothing; of sets in `photos` it shows images to label."""
        chart = encoded(self.plot()._repr_png_()) if len(self.sets) >= CHARTED else ""
        to_label = self.ask(PICTURES)
        pictures = {}
        for name, images in (photos or {}).items():
            rows = to_label.row[to_label.set == harmless(name)]
            pictures[name] = [(_thumbnail(images[row][1]), images[row][0]) for row in rows]
        template = templates(Path(__file__).parent).get_template("page.html")
        return template.render(estimates=self, chart=chart, pictures=pictures)

    def to_json(self, fail_below: float | None = None, fail_on: str = "likely") -> str:
        """Returns all numbers as JSON, the sets that are below a limit (`below`), and the alarm."""
        values = {
            "fail_below": fail_below,
            "fail_on": fail_on,
            "below": self.below(fail_below or 0.0, fail_on),
            "alarm": self.alarm(fail_below or 0.0, fail_on),
            "stream": self.stream and asdict(self.stream),
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


def _cells(each: SetEstimate, level: float) -> list[str]:
    """Returns the cells of a set's line under `HEADINGS`."""
    return [
        each.name,
        str(each.images),
        f"{100 * each.accuracy:.1f} %",
        each.interval(level),
        f"{100 * each.difference:+.1f}",
        each.fallen,
        f"{each.distance:.2f}",
        f"{each.outside:.1f} {each.place}",
    ]


def _thumbnail(image: Pixels) -> str:
    """Returns a small picture of an image (h, w, 3) as a PNG in base64."""
    small = Image.fromarray(image)
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    stream = io.BytesIO()
    small.save(stream, format="PNG")
    return encoded(stream.getvalue())


def write_estimation(
    estimation: Estimation,
    folder: Path,
    photos: Photos | None = None,
    fail_below: float | None = None,
    fail_on: str = "likely",
) -> tuple[Path, ...]:
    """Write ``estimate.html``, ``.csv`` and ``.json`` and return their paths."""
    html, csv, data = (folder / f"estimate.{kind}" for kind in ("html", "csv", "json"))
    write_text(html, estimation.html(photos))
    table = estimation.table.rename(index=harmless)
    write_text(csv, table.to_csv(float_format="%.6f", lineterminator="\n"))
    write_text(data, estimation.to_json(fail_below, fail_on))
    return html, csv, data
