"""Panels of the report: small scatter plots in SVG, one for each method, in the colours of the page.

This module computes the layout of a panel, and ``template.html`` draws it; each point has a tooltip with its
set, values and error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import MaxNLocator

from baselines.report.report import Report, Run
from submission.arrays import FloatArray
from submission.metrics import RANKED, spearman

WIDTH, HEIGHT = 280, 250
"""Size of the drawing without the legend below it, in units of its view box."""
LEFT, RIGHT, TOP, BOTTOM = 44, 266, 8, 208
LEGEND = 15
"""Height of a line of the legend, which has two groups."""
SHAPES = (
    "m-3,0a3,3 0 1,0 6,0a3,3 0 1,0-6,0",
    "m-2.6-2.6h5.2v5.2h-5.2z",
    "m0-3.4l3.2,5.8h-6.4z",
    "m0-3.7l3.3,3.7l-3.3,3.7l-3.3-3.7z",
)
"""Outlines of the groups' points: disc, square, triangle, diamond; repeated in further colours."""
FAINT = "m-1.5,0a1.5,1.5 0 1,0 3,0a1.5,1.5 0 1,0-3,0"
_PERCENT = (0.0, 25.0, 50.0, 75.0, 100.0)


@dataclass(frozen=True)
class Mark:
    """A validation set in a panel: the outline of its point, its index, and the text of its tooltip."""

    path: str
    number: int
    told: str


@dataclass(frozen=True)
class Group:
    """The sets of one group, with the position and the outline of the group's entry in the legend."""

    name: str
    marks: tuple[Mark, ...]
    place: tuple[float, float]
    path: str


@dataclass(frozen=True)
class Panel:
    """A scatter plot.

    Attributes:
        title: Name of the method.
        x, y: Labels of the axes.
        x_ticks, y_ticks: Position and text of each tick.
        groups: Groups of validation sets.
        faint: Outlines of the meta-train sets' points; "" if they are not shown.
        line: Points of the line, in the format of SVG's `polyline`.
        height: Height of the drawing with its legend, in units of its view box.
        told: Description of the panel in words and numbers, for screen readers.
    """

    title: str
    x: str
    y: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    groups: tuple[Group, ...]
    faint: str
    line: str
    height: float
    told: str


def prediction_panel(report: Report, run: Run) -> Panel:
    """Returns the panel of a run's predictions against the true values of the validation sets, in %."""
    true, predicted = 100 * report.val[run.subject], 100 * run.predicted
    errors, quantity = predicted - true, report.competition.quantity(run.subject)
    worst = int(np.abs(errors).argmax())
    return _panel(
        report,
        run,
        (true, predicted),
        (f"true {quantity}, %", f"predicted {quantity}, %"),
        (0.0, 100.0),
        line=(np.array([0.0, 100.0]), np.array([0.0, 100.0])),
        told=f"{run.method}: predicted against true {quantity} of {len(true)} sets; RMSE "
        f"{np.sqrt(np.mean(errors**2)):.2f} points; the largest error is {errors[worst]:+.1f} points on "
        f"{report.competition.sets('val')[worst]}, whose truth is {true[worst]:.1f} %",
    )


def indicator_panel(report: Report, run: Run) -> Panel | None:
    """Returns the panel of the true values of all sets against the run's indicator, with the fitted line.

    None if the run is not a regression on one indicator.
    """
    if run.curve is None:
        return None
    true, curve, quantity = 100 * report.val[run.subject], run.curve, report.competition.quantity(run.subject)
    related = f"; rank correlation {spearman(curve.val, true):.2f}" if len(true) >= RANKED else ""
    return _panel(
        report,
        run,
        (curve.val, true),
        ("indicator", f"true {quantity}, %"),
        (float(curve.grid[0]), float(curve.grid[-1])),
        line=(curve.grid, 100 * curve.line),
        told=f"{run.method}: true {quantity} of {len(true)} validation and {len(curve.train)} meta-train "
        f"sets against the indicator, with the fitted line{related}",
        faint=(curve.train, 100 * report.train[run.subject]),
    )


def _panel(
    report: Report,
    run: Run,
    points: tuple[FloatArray, FloatArray],
    axes: tuple[str, str],
    span: tuple[float, float],
    line: tuple[FloatArray, FloatArray],
    told: str,
    faint: tuple[FloatArray, FloatArray] | None = None,
) -> Panel:
    """Returns a panel of validation sets at `points`; the vertical axis goes from 0 to 100 %."""
    low, high = span if span[0] < span[1] else (span[0] - 1, span[1] + 1)

    def across(values: FloatArray) -> FloatArray:
        return LEFT + (RIGHT - LEFT) * (values - low) / (high - low)

    ticks = _PERCENT if span == (0.0, 100.0) else MaxNLocator(4).tick_values(low, high)
    inside = np.array([tick for tick in ticks if low <= tick <= high])
    groups = _groups(report, run, across(points[0]), _down(points[1]))
    return Panel(
        title=run.method,
        x=axes[0],
        y=axes[1],
        x_ticks=_ticks(across(inside), inside),
        y_ticks=_ticks(_down(np.array(_PERCENT)), np.array(_PERCENT)),
        groups=groups,
        faint="" if faint is None else _outlines(across(faint[0]), _down(faint[1]), FAINT),
        line=" ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across(line[0]), _down(line[1]), strict=True)),
        height=HEIGHT + LEGEND * (-(-len(groups) // 2) + (faint is not None)),
        told=told,
    )


def _ticks(places: FloatArray, values: FloatArray) -> tuple[tuple[float, str], ...]:
    return tuple((float(place), f"{value:g}") for place, value in zip(places, values, strict=True))


def _down(percent: FloatArray) -> FloatArray:
    return BOTTOM - (BOTTOM - TOP) * percent / 100


def _outlines(x: Sequence[float] | FloatArray, y: Sequence[float] | FloatArray, shape: str) -> str:
    return "".join(f"M{a:.1f},{b:.1f}{shape}" for a, b in zip(x, y, strict=True))


def _groups(report: Report, run: Run, x: FloatArray, y: FloatArray) -> tuple[Group, ...]:
    names, true = report.competition.sets("val"), 100 * report.val[run.subject]
    predicted, found = 100 * run.predicted, []
    for place, group in enumerate(sorted({group for group, _ in report.groups})):
        chosen, shape = report.members(group), SHAPES[place % len(SHAPES)]
        marks = tuple(
            Mark(
                _outlines([x[i]], [y[i]], shape),
                int(i),
                f"{names[i]} ({group}): true {true[i]:.1f} %, predicted {predicted[i]:.1f} %, "
                f"error {predicted[i] - true[i]:+.1f}",
            )
            for i in chosen
        )
        at = (LEFT + 8 + 118 * (place % 2), HEIGHT + 6 + LEGEND * (place // 2))
        found.append(Group(group, marks, at, _outlines([at[0]], [at[1]], shape)))
    return tuple(found)
