"""Plots of the Gscore paper's tables: scatter, lines or bars, as the table's columns ask for."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from submission.files import replacing

ACROSS = 4
"""Panels beside each other."""
SWEPT = ("ratio", "size")


def plot_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a PNG with a panel for each subject; `frame` is a table of `baselines.report.gscore`.

    Points are shown as they are, what is swept over a ratio or a size as lines, all else as bars.
    """
    panels = list(frame.groupby("subject", sort=False))
    if not {"method", "family", "gscore", *SWEPT} & {*frame}:  # subjects are compared with each other
        panels = [("", frame)]
    down = -(-len(panels) // ACROSS)
    height = max(3.6, 0.12 * max(len(rows) for _, rows in panels))
    drawn = Figure(figsize=(4 * min(len(panels), ACROSS), height * down), layout="constrained")
    FigureCanvasAgg(drawn)
    axes = drawn.subplots(down, min(len(panels), ACROSS), squeeze=False).ravel()
    for each, (subject, rows) in zip(axes, panels, strict=False):
        _draw(each, rows)
        each.set_title(str(subject), fontsize=9)
    for empty in axes[len(panels) :]:
        empty.set_axis_off()
    with replacing(path) as temporary:
        drawn.savefig(temporary, format="png", dpi=100, metadata={"Software": None})


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    swept = [column for column in SWEPT if column in rows]
    if "gscore" in rows:
        axes.scatter(rows.gscore, rows.target, s=8)
        axes.set(xlabel="Gscore", ylabel="true metric")
    elif swept:
        lines = rows.groupby("method", sort=False) if "method" in rows else [("gscore-ude-w", rows)]
        for method, line in lines:
            axes.plot(line[swept[0]], line.pearson, marker="o", markersize=3, label=str(method))
        axes.set(xlabel=swept[0], ylabel="Pearson |r|", ylim=(0, 1.02), xscale="log")
        axes.legend(fontsize=7)
    else:
        _draw_bars(axes, rows)


def _draw_bars(axes: Axes, rows: pd.DataFrame) -> None:
    """A bar for each number of each row, the first row on top; whiskers are its deviation."""
    label = next(name for name in ("method", "family", "subject") if name in rows)
    names = rows[label]
    for column in ("split", "kind"):
        if column in rows and rows[column].nunique() > 1:
            names = names + " (" + rows[column] + ")"
    numbers = (
        ["rmse"]
        if "rmse" in rows
        else [name for name in rows.select_dtypes("number") if not name.endswith("_deviation")]
    )
    height = 0.8 / len(numbers)
    for i, name in enumerate(numbers):
        places = [row + i * height for row in range(len(rows))]
        axes.barh(places, rows[name], height=height, xerr=rows.get(f"{name}_deviation"), label=name)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(rows))], names.tolist(), fontsize=6)
    axes.invert_yaxis()
    axes.legend(fontsize=7)
