"""Figures of the tables of `starter.failure`: bars, bars with intervals, or boxes of ranks."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from submission.files import replacing

ACROSS = 4
"""Panels beside each other."""
GROUPS = {"correct": "tab:green", "wrong": "tab:red", "ood": "tab:grey"}
WHISKERS = {"whislo": "q05", "q1": "q25", "med": "q50", "q3": "q75", "whishi": "q95"}


def plot_failure(frame: pd.DataFrame, path: Path) -> None:
    """Write a PNG with a panel for each classifier and pair of kinds, a row for each detector."""
    keys = [key for key in ("classifier", "ind", "ood", "goal") if key in frame]
    panels = list(frame.groupby(keys, sort=False))
    down, across = -(-len(panels) // ACROSS), min(len(panels), ACROSS)
    height = 1.4 + 0.3 * frame.detector.nunique()
    figure = Figure(figsize=(4 * across, height * down), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, (names, rows) in zip(axes, panels, strict=False):
        draw = _draw_boxes if "group" in rows else _draw_intervals if "low" in rows else _draw_bars
        draw(axis, rows)
        axis.set_title(" / ".join(map(str, names)), fontsize=8)
        axis.invert_yaxis()
    for empty in axes[len(panels) :]:
        empty.set_axis_off()
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=100, metadata={"Software": None})


def _draw_bars(axis: Axes, rows: pd.DataFrame) -> None:
    numbers = list(rows.select_dtypes("number"))
    height = 0.8 / len(numbers)
    for i, name in enumerate(numbers):
        axis.barh(np.arange(len(rows)) + (i + 0.5) * height, rows[name], height=height, label=name)
    axis.set_yticks(np.arange(len(rows)) + 0.4, rows.detector, fontsize=7)
    axis.legend(fontsize=6)


def _draw_intervals(axis: Axes, rows: pd.DataFrame) -> None:
    places = np.arange(len(rows))
    axis.hlines(places, rows.low, rows.high)
    axis.plot(rows.difference, places, "o", markersize=4)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_yticks(places, rows.detector, fontsize=7)


def _draw_boxes(axis: Axes, rows: pd.DataFrame) -> None:
    names = list(dict.fromkeys(rows.detector))
    for i, (group, colour) in enumerate(GROUPS.items()):
        mine = rows[rows.group == group]
        boxes = [{key: row[column] for key, column in WHISKERS.items()} for _, row in mine.iterrows()]
        at = [names.index(name) + (i - 1) / 4 for name in mine.detector]
        drawn = axis.bxp(boxes, positions=at, widths=0.2, orientation="horizontal", showfliers=False)
        for line in (*drawn["boxes"], *drawn["medians"], *drawn["whiskers"], *drawn["caps"]):
            line.set_color(colour)
        axis.plot([], color=colour, label=group)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_xlabel("share of OOD images that look more OOD", fontsize=7)
    axis.legend(fontsize=6)
