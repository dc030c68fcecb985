"""``report.html``: the report's tables and figures in one self-contained page."""

import base64
import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from baselines.report.levels import level_figures, levels_csv, on_grid
from baselines.report.report import ALL, Report, Run
from starter.images.figure import new_figure, png
from submission.files import write_text
from submission.page import templates

COLOURS = ("#2f6fb3", "#b35900", "#3a8a3a", "#8a3a8a", "#a02c2c", "#2c8c8c")
_GREY = "#9aa4ae"


def write_report(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.csv`` in `folder`. Their paths.

    A section per subject has a table (a line per method and group) and, per method, two figures: its
    indicator against the target with the fitted line, where it is a regression on one, and the predicted
    against the true target of every validation set. Where these sets are cells of a grid of shifts, errors
    by level and by cell come first, and ``report_levels.csv`` is written too.
    """
    page = templates(Path(__file__).parent).get_template("template.html")
    lines = report.lines()
    order = {
        subject: [line.method for line in lines if line.group == ALL and line.subject == subject]
        for subject in report.val
    }
    runs = {(run.subject, run.method): run for run in report.runs}
    figures = {
        subject: [(method, figure(report, runs[subject, method])) for method in methods]
        for subject, methods in order.items()
    }
    html, table = folder / "report.html", folder / "report.csv"
    levels = {subject: level_figures(report, subject) for subject in report.val} if on_grid(report) else {}
    text = page.render(
        competition=report.competition,
        lines=lines,
        figures=figures,
        levels=levels,
        shown=_shown,
        span=_span(report),
    )
    write_text(html, text)
    if levels:
        write_text(folder / "report_levels.csv", levels_csv(report))
    write_text(table, report.csv())
    return html, table


def figure(report: Report, run: Run) -> str:
    """The two figures of a method on a subject, as a PNG in base64."""
    drawn = new_figure(8.4, 3.6)
    left, right = drawn.subplots(1, 2)
    if run.curve is None:
        left.set_axis_off()
        left.text(0.5, 0.5, "no regression on one indicator", ha="center", va="center", color=_GREY)
    else:
        draw_indicator(left, report, run)
    draw_predictions(right, report, run)
    return base64.b64encode(png(drawn, dpi=90)).decode()


def draw_indicator(axes: Axes, report: Report, run: Run) -> None:
    """The targets of all sets against the run's indicator, in %, with the line that was fitted."""
    assert run.curve is not None
    train, curve = 100 * report.train[run.subject], run.curve
    axes.scatter(curve.train, train, s=6, color=_GREY, label=f"meta-train ({len(train)})")
    _scatter_groups(axes, report, curve.val, 100 * report.val[run.subject])
    axes.plot(curve.grid, 100 * curve.line, color="black", linewidth=1)
    axes.set(xlabel="indicator", ylabel=f"{report.competition.quantity(run.subject)}, %", ylim=(0, 100))
    axes.legend(fontsize=7)


def draw_predictions(axes: Axes, report: Report, run: Run) -> None:
    """The predictions against the targets of the validation sets, in %."""
    _scatter_groups(axes, report, 100 * report.val[run.subject], 100 * run.predicted)
    axes.plot([0, 100], [0, 100], color="black", linewidth=1)
    quantity = report.competition.quantity(run.subject)
    axes.set(xlabel=f"true {quantity}, %", ylabel=f"predicted {quantity}, %", xlim=(0, 100), ylim=(0, 100))
    axes.set_aspect("equal")


def _scatter_groups(axes: Axes, report: Report, x: np.ndarray, y: np.ndarray) -> None:
    for number, group in enumerate(sorted({group for group, _ in report.groups})):
        chosen = report.members(group)
        colour = COLOURS[number % len(COLOURS)]
        axes.scatter(x[chosen], y[chosen], s=16, color=colour, label=f"{group} ({len(chosen)})")


def _shown(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def _span(report: Report) -> dict[str, str]:
    """Per subject, the range of its meta-train targets, and how many validation sets lie outside."""
    spans = {}
    for subject, train in report.train.items():
        low, high, val = train.min(), train.max(), report.val[subject]
        outside = int(((val < low) | (val > high)).sum())
        spans[subject] = (
            f"{report.competition.quantity(subject)} on meta-train sets {100 * low:.1f} to "
            f"{100 * high:.1f} %; {outside} of {len(val)} validation sets lie outside that range"
        )
    return spans
