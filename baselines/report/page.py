"""``report.html``: the report's table, figures and pictures of sets in one self-contained page."""

import io
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from baselines.report.report import Line, Report, Run
from starter.contest.show import pictures
from starter.data.images.figure import new_figure
from submission.files import write_text
from submission.metrics import INTERVAL_FAMILIES
from submission.page import encoded, templates
from submission.scoretable import ALL, GROUPS
from submission.table import cell

PICTURED = 8
"""Number of images shown of each validation set."""
SIDE = 3.2
"""Width and height of a figure in inches."""


def write_report(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.csv`` in `folder`, and return their paths."""
    page = templates(Path(__file__).parent)
    lines = report.lines
    page.filters["breakable"] = lambda name: Markup("<wbr>").join(re.split("(?<=[:.,=(+])", name))
    page.filters["place"] = lambda points, end: f"{98 * points / end:.1f}"
    text = page.get_template("template.html").render(
        competition=report.competition,
        names=report.competition.sets("val"),
        groups=report.groups,
        contents={name: words for name, words in GROUPS.items() if len(report.members(name))},
        subjects=[_section(report, subject, lines) for subject in report.val],
        pictures=[encoded(jpeg) for jpeg in pictures(report.competition, "val", PICTURED)],
        pictured=PICTURED,
        shown=cell,
        fewest=INTERVAL_FAMILIES,
    )
    html = folder / "report.html"
    table = folder / "report.csv"
    write_text(html, text)
    write_text(table, report.csv())
    return html, table


def _section(report: Report, subject: str, lines: Sequence[Line]) -> dict[str, object]:
    """Returns the data of the page about one subject; methods from the best to the worst over all sets."""
    mine = [line for line in lines if line.subject == subject]
    found = {run.method: run for run in report.runs if run.subject == subject}
    runs = [found[line.method] for line in mine if line.group == ALL and line.method in found]
    train = report.train[subject]
    true = report.val[subject]
    outside = (true < train.min()) | (true > train.max())
    ends = [line.rmse if math.isnan(line.high) else line.high for line in mine]
    return {
        "name": subject,
        "quantity": report.competition.quantity(subject),
        "span": (100 * train.min(), 100 * train.max(), outside.sum()),
        "lines": mine,
        "intervals": not all(math.isnan(line.low) for line in mine),
        "runs": runs,
        "end": max(ends, default=0.0) or 1.0,
        "predictions": [(run.method, _svg(report, run, draw_predictions)) for run in runs],
        "indicators": [
            (run.method, _svg(report, run, draw_indicator)) for run in runs if run.indicators is not None
        ],
        "true": true,
    }


def draw_predictions(axes: Axes, report: Report, run: Run) -> None:
    """Draw the predictions against the targets of the validation sets, in %."""
    quantity = report.competition.quantity(run.subject)
    axes.plot([0, 100], [0, 100], color="black", linewidth=1)
    _scatter(axes, report, 100 * report.val[run.subject], 100 * run.predicted)
    axes.set(xlabel=f"true {quantity}, %", ylabel=f"predicted {quantity}, %", xlim=(0, 100), ylim=(0, 100))
    axes.set_aspect("equal")


def draw_indicator(axes: Axes, report: Report, run: Run) -> None:
    """Draw the targets of all sets, in %, against the run's indicator, with the fitted line."""
    assert run.indicators is not None
    values, line = run.indicators[np.argsort(run.indicators[:, 0])].T
    train = 100 * report.train[run.subject]
    quantity = report.competition.quantity(run.subject)
    axes.plot(values, 100 * line, color="black", linewidth=1)
    axes.scatter(run.indicators[: len(train), 0], train, s=6, color="0.6", label=f"meta-train ({len(train)})")
    _scatter(axes, report, run.indicators[len(train) :, 0], 100 * report.val[run.subject])
    axes.set(xlabel="indicator", ylabel=f"true {quantity}, %", ylim=(0, 100))


def _scatter(axes: Axes, report: Report, x: np.ndarray, y: np.ndarray) -> None:
    """Draw the validation sets at x (v,) and y (v,), with a mark for each group."""
    for number, group in enumerate(sorted({group for group, _ in report.groups})):
        chosen = report.members(group)
        colour = f"C{number % 10}"
        mark = "os^D"[number % 4]
        axes.scatter(x[chosen], y[chosen], 16, colour, marker=mark, label=f"{group} ({len(chosen)})")


def _svg(report: Report, run: Run, draw: Callable[[Axes, Report, Run], None]) -> str:
    """Returns a figure of its own as the base64 of an SVG."""
    figure: Figure = new_figure(SIDE, 1.15 * SIDE)
    axes = figure.subplots()
    draw(axes, report, run)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    stream = io.BytesIO()
    with matplotlib.rc_context(
        {"svg.hashsalt": "unseen", "svg.fonttype": "none"}
    ):  # the same bytes each time
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return encoded(stream.getvalue())
