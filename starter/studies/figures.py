"""Figures of the tables of `starter.studies.failure` and `starter.studies.matched`."""

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
    """Write a PNG: a panel for each classifier and pair of kinds, with a row for each detector; of `matched`
    a panel for each detector, of `intercepts` one for each classifier."""
    keys = [key for key in ("classifier", "ind", "ood", "goal") if key in frame]
    keys += ["detector"] * ("distance" in frame)
    panels = list(frame.groupby(keys, sort=False))
    down, across = -(-len(panels) // ACROSS), min(len(panels), ACROSS)
    height = 1.4 + 0.3 * frame.detector.nunique()
    figure = Figure(figsize=(4 * across, height * down), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, (names, rows) in zip(axes, panels, strict=False):
        draw = next((DRAW[column] for column in DRAW if column in rows), _draw_bars)
        draw(axis, rows)
        axis.set_title(" / ".join(map(str, names)), fontsize=8)
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
    axis.invert_yaxis()
    axis.legend(fontsize=6)


def _draw_intervals(axis: Axes, rows: pd.DataFrame) -> None:
    places = np.arange(len(rows))
    axis.hlines(places, rows.low, rows.high)
    axis.plot(rows.difference, places, "o", markersize=4)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_yticks(places, rows.detector, fontsize=7)
    axis.invert_yaxis()


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
    axis.invert_yaxis()
    axis.legend(fontsize=6)


def _draw_matched(axis: Axes, rows: pd.DataFrame) -> None:
    for kind, part in rows.groupby("kind", sort=False):
        (points,) = axis.plot(part.distance, part.auroc, ".", markersize=4, label=kind)
        if np.ptp(part.distance) > 0:
            line = np.poly1d(np.polyfit(part.distance, part.auroc, 1))
            ends = np.array([part.distance.min(), part.distance.max()])
            axis.plot(ends, line(ends), color=points.get_color())
    axis.set_xlabel("distance to the nearest training image", fontsize=7)
    axis.set_ylabel("AUROC", fontsize=7)
    axis.legend(fontsize=6)


def _draw_levels(axis: Axes, rows: pd.DataFrame) -> None:
    names = list(dict.fromkeys(rows.detector))
    for i, (kind, part) in enumerate(rows.groupby("kind", sort=False)):
        places = [names.index(name) + i / 8 for name in part.detector]
        (points,) = axis.plot(part.level, places, "o", markersize=3, label=kind)
        axis.hlines(places, part.level_low, part.level_high, color=points.get_color())
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_xlabel("AUROC at the mean distance", fontsize=7)
    axis.invert_yaxis()
    axis.legend(fontsize=6)


DRAW = {"group": _draw_boxes, "low": _draw_intervals, "distance": _draw_matched, "level": _draw_levels}
"""How a table with this column is drawn; others are bars."""
