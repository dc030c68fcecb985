"""The files ``estimate.html``, for people, and ``.json`` and ``.csv``, for a monitoring job."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from submission.files import write_text
from submission.page import harmless, templates
from unseen.estimation.estimation import Estimation, SetEstimate

THUMBNAIL = 96
"""Largest length of the longer side of a picture on the page, in pixels."""
FEWEST = 4
"""Smallest number of sets for which a chart is drawn."""
LEFT, RIGHT, TOP, BOTTOM = 40, 630, 10, 190
NAMES = 6
"""Largest number of names below the chart."""


@dataclass(frozen=True)
class Pictures:
    """The images of a set.

    Attributes:
        images: Pixels, uint8 (n, h, w, 3).
        files: Names of their n files.
    """

    images: NDArray[np.uint8]
    files: Sequence[str]


@dataclass(frozen=True)
class Chart:
    """The chart of the estimates in their order, in units of its SVG.

    Attributes:
        line: Points of the estimates, "x,y x,y ...".
        band: Points of the outline of the intervals.
        known: Height of the line at the accuracy on the labelled images.
        bound: Height of the line at that accuracy minus the margin.
        ticks: Height and text of each tick.
        names: Horizontal place and text of each name that is shown.
        told: Description of the chart in words, with its numbers.
    """

    line: str
    band: str
    known: float
    bound: float
    ticks: Sequence[tuple[float, str]]
    names: Sequence[tuple[float, str]]
    told: str


def write_estimation(
    found: Estimation,
    folder: Path,
    pictures: Mapping[str, Pictures] | None = None,
    fail_below: float | None = None,
) -> tuple[Path, ...]:
    """Write the three files in `folder` and return their paths, the page first; the page loads nothing.

    Args:
        found: Estimates.
        folder: Folder to write to.
        pictures: Images of each set, by name; the page shows those of which the model is least sure.
        fail_below: Smallest accuracy that the caller accepts, a fraction; only the JSON has it.
    """
    page, table, data = (folder / f"estimate.{kind}" for kind in ("html", "csv", "json"))
    template = templates(Path(__file__).parent).get_template("page.html")
    shown = {
        each.name: [_shown(pictures[each.name], row) for row in each.least_sure]
        for each in found.sets
        if pictures and each.name in pictures
    }
    write_text(page, template.render(found=found, chart=chart(found), shown=shown))
    write_text(table, found.table.rename(index=harmless).to_csv(float_format="%.6f", lineterminator="\n"))
    write_text(data, json.dumps(as_json(found, pictures, fail_below), indent=1, sort_keys=True) + "\n")
    return page, table, data


def as_json(
    found: Estimation,
    pictures: Mapping[str, Pictures] | None = None,
    fail_below: float | None = None,
) -> Mapping[str, object]:
    """Returns all estimates as JSON values; accuracies are fractions, see `write_estimation`."""
    files = {
        each.name: [pictures[each.name].files[row] for row in each.least_sure]
        for each in found.sets
        if pictures and each.name in pictures
    }
    limit = {"limit": fail_below, "below": found.below(fail_below)} if fail_below is not None else None
    return {
        "fail_below": limit,
        "warning": found.warning,
        "labelled": {"accuracy": found.accuracy, "images": found.images},
        "level": found.level,
        "margin": found.margin,
        "classes": list(found.classes),
        "sets": [{**asdict(each), "least_sure_files": files.get(each.name)} for each in found.sets],
        "check": [{**asdict(each), "true": true} for each, true in found.halves],
    }


def chart(found: Estimation) -> Chart | None:
    """Returns the chart of the estimates in their order; None for fewer than four sets."""
    sets = found.sets
    if len(sets) < FEWEST:
        return None
    places = np.linspace(LEFT + 10, RIGHT - 10, len(sets))
    line, low, high = (
        [(x, _height(getattr(each, name))) for x, each in zip(places, sets, strict=True)]
        for name in ("accuracy", "low", "high")
    )
    step = -(-len(sets) // NAMES)
    return Chart(
        _points(line),
        _points([*low, *high[::-1]]),
        _height(found.accuracy),
        _height(max(found.accuracy - found.margin, 0.0)),
        [(_height(each / 100), f"{each}") for each in (0, 25, 50, 75, 100)],
        [(round(float(places[i]), 1), sets[i].name[:16]) for i in range(0, len(sets), step)],
        _in_words(sets),
    )


def _in_words(sets: Sequence[SetEstimate]) -> str:
    """Returns a description of the chart: the first, last, lowest and highest estimate."""
    lowest, highest = min(sets, key=lambda each: each.accuracy), max(sets, key=lambda each: each.accuracy)
    named = (("first", sets[0]), ("last", sets[-1]), ("lowest", lowest), ("highest", highest))
    return f"Estimates of {len(sets)} sets in their order: " + "; ".join(
        f"{which} {each.name}, {100 * each.accuracy:.1f} % ({100 * each.low:.1f} to {100 * each.high:.1f})"
        for which, each in named
    )


def _height(share: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * share, 1)


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _shown(pictures: Pictures, row: int) -> tuple[str, str]:
    """Returns a thumbnail as a PNG in base64, and the name of its file."""
    image, stream = Image.fromarray(pictures.images[row]), io.BytesIO()
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    image.save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode(), pictures.files[row]
