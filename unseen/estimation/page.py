"""The estimates for people and for scripts: text for a terminal, a chart, a page and JSON."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from submission.arrays import Pixels
from submission.page import encoded, harmless, templates
from submission.table import text_table
from unseen.estimation.budget import draw
from unseen.estimation.estimates import Estimates, SetEstimate

if TYPE_CHECKING:
    from starter.data.images.figure import Drawn

THUMBNAIL = 96
"""Longer side of a picture on the page, in pixels."""
PICTURES = 12
"""Number of a set's images to label that the page shows."""
CHARTED = 4
"""Smallest number of sets for which the page has a chart."""
HEADINGS = ("set", "images", "accuracy", "interval", "difference", "fallen", "distance", "outside")
"""Headings of the table for a terminal."""
Photos = Mapping[str, Sequence[tuple[str, Pixels]]]
"""The images (h, w, 3) of sets with the names of their files, by the set's name."""
NO_PHOTOS: Photos = MappingProxyType({})


def text_of(estimates: Estimates) -> str:
    """Returns the check, the table and the remarks, for a terminal."""
    checks = [
        [*_cells(half, estimates.level)[:4], f"is {100 * true:.1f} %"] for half, true in estimates.halves
    ]
    rows = [_cells(each, estimates.level) for each in estimates.sets]
    lines = [
        f"accuracy on {estimates.images:,} labelled images: {100 * estimates.accuracy:.1f} %",
        *([f"warning: {estimates.warning}"] if estimates.warning else []),
        *(f"note: {note}" for note in estimates.notes),
        "check: each half of them, estimated from the other",
        text_table(checks),
        "",
        text_table([list(HEADINGS), *rows]),
        *(f"{each.name}: {remark}" for each in estimates.sets for remark in each.remarks),
        f"fallen: whether the accuracy fell by more than {100 * estimates.margin:g} points",
        "distance: how far the confidences are from those of labelled images with the same class shares",
        f"outside: distance from {estimates.compared}, 1 is usual without a shift; far sets without "
        "labels have a range, for which no level is promised",
        f"accuracy: by {' and '.join(estimates.centres)} and the distance; the files show other methods",
    ]
    return "\n".join(lines)


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


def chart_of(estimates: Estimates) -> "Drawn":
    """Returns a chart of the estimates with their intervals, in the order of the sets."""
    from starter.data.images.figure import new_figure  # Matplotlib is slow to import

    table = estimates.table
    figure = new_figure(4.4, min(0.24 * len(table) + 0.9, 20))
    axes = figure.subplots()
    y = np.arange(len(table))
    middle, low, high = (100 * table[name] for name in ("accuracy", "low", "high"))
    axes.errorbar(middle, y, xerr=[middle - low, high - middle], fmt="o", markersize=4, capsize=2)
    axes.axvline(100 * estimates.accuracy, color="black", linewidth=1)
    axes.axvline(100 * (estimates.accuracy - estimates.margin), color="black", linewidth=1, linestyle=":")
    step = max(1, len(y) // 60)
    axes.set_yticks(y[::step], [name[-18:] for name in table.index[::step]], fontsize=8)
    axes.set(xlabel="estimated accuracy, %", xlim=(0, 100), ylim=(len(y) - 0.5, -0.5))
    return figure


def page_of(estimates: Estimates, photos: Photos = NO_PHOTOS) -> str:
    """Returns a page that loads nothing; of sets in `photos` it shows images to label."""
    chart = ""
    if len(estimates.sets) >= CHARTED:
        chart = encoded(chart_of(estimates)._repr_png_())
    to_label = draw(estimates, PICTURES)
    pictures = {}
    for name, images in photos.items():
        rows = to_label.row[to_label.set == harmless(name)]
        pictures[name] = [(_thumbnail(images[row][1]), images[row][0]) for row in rows]
    template = templates(Path(__file__).parent).get_template("page.html")
    return template.render(estimates=estimates, chart=chart, pictures=pictures)


def json_of(estimates: Estimates, fail_below: float | None = None, fail_on: str = "likely") -> str:
    """Returns all numbers as JSON, and the sets that are below a limit (`Estimates.below`)."""
    values = {
        "fail_below": fail_below,
        "fail_on": fail_on,
        "below": estimates.below(fail_below or 0.0, fail_on),
        "warning": estimates.warning,
        "notes": estimates.notes,
        "labelled": {"accuracy": estimates.accuracy, "images": estimates.images},
        "level": estimates.level,
        "margin": estimates.margin,
        "classes": estimates.classes,
        "sets": [asdict(each) for each in estimates.sets],
        "check": [{**asdict(each), "true": true} for each, true in estimates.halves],
    }
    return json.dumps(values, indent=1, sort_keys=True) + "\n"


def _thumbnail(image: Pixels) -> str:
    """Returns a small picture of an image (h, w, 3) as a PNG in base64."""
    small = Image.fromarray(image)
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    stream = io.BytesIO()
    small.save(stream, format="PNG")
    return encoded(stream.getvalue())
