"""Plots of a run's predictions with Matplotlib, for notebooks and papers."""

import numpy as np
from matplotlib.axes import Axes

from baselines.report.report import Report, Run

COLOURS = ("#2f6fb3", "#b35900", "#3a8a3a", "#8a3a8a", "#a02c2c", "#2c8c8c")


def draw_predictions(axes: Axes, report: Report, run: Run) -> None:
    """Draw the predictions against the targets of the validation sets, in %."""
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
