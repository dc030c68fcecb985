"""``estimate.html``, ``.json`` and ``.csv``: the answer for people and for a monitoring job."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oracle.estimate.estimation import Estimation, SetEstimate
from submission.files import write_text
from submission.page import templates

THUMBNAIL = 96
"""Pixels of the longer side of a picture on the page, at most."""
FEWEST = 4
"""Sets from which on their estimates are drawn in their order."""
LEFT, RIGHT, TOP, BOTTOM = 40, 630, 10, 190
NAMES = 6
"""Names below the chart, at most."""


@dataclass(frozen=True)
class Pictures:
    """A set's images, uint8 (n, h, w, 3), and the names of their files."""

    images: NDArray[np.uint8]
    files: Sequence[str]


@dataclass(frozen=True)
class Chart:
    """Estimates in their order: what the page draws, in units of its SVG.

    Attributes:
        line: points of the estimates.
        band: points around the intervals.
        known, bound: heights of the accuracy on the labelled images, and of the margin below.
        ticks: height and text of the scale.
        names: place and text of some sets.
        told: the chart in words, with its numbers.
    """

    line: str
    band: str
    known: float
    bound: float
    ticks: Sequence[tuple[float, str]]
    names: Sequence[tuple[float, str]]
    told: str


def write_estimation(
    found: Estimation, folder: Path, pictures: Mapping[str, Pictures] | None = None
) -> tuple[Path, ...]:
    """Write the three files in `folder` and return their paths, the page first; the page loads nothing.

    Args:
        found: the estimates.
        folder: the folder to write to.
        pictures: each set's; the page shows those that the model is least sure of.
    """
    page, table, data = (folder / f"estimate.{kind}" for kind in ("html", "csv", "json"))
    template = templates(Path(__file__).parent).get_template("page.html")
    shown = {
        each.name: [_shown(pictures[each.name], row) for row in each.least_sure]
        for each in found.sets
        if pictures and each.name in pictures
    }
    write_text(page, template.render(found=found, chart=chart(found), shown=shown))
    write_text(table, found.table.to_csv(float_format="%.6f", lineterminator="\n"))
    write_text(data, json.dumps(as_json(found), indent=1, sort_keys=True) + "\n")
    return page, table, data


def as_json(found: Estimation) -> Mapping[str, object]:
    """Returns all that was estimated, as plain JSON; accuracies are fractions."""
    return {
        "labelled": {"accuracy": found.accuracy, "images": found.images},
        "level": found.level,
        "margin": found.margin,
        "classes": list(found.classes),
        "sets": [asdict(each) for each in found.sets],
        "check": [{**asdict(each), "true": true} for each, true in found.halves],
    }


def chart(found: Estimation) -> Chart | None:
    """Returns the estimates in their order, drawn; None of few sets."""
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
    """Returns a line of estimates in words."""
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
    """Returns a small picture as a PNG in base64, and its file's name."""
    image, stream = Image.fromarray(pictures.images[row]), io.BytesIO()
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    image.save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode(), pictures.files[row]
