"""Figures of studies: failure detection, shift grids and prediction graphs.

They show the tables of `starter.studies.failure` and `starter.studies.matched`; heat maps and curves of
detectors on a grid, and the number of images of its cells; and a prediction graph, with the classes nearest
and farthest in meaning.
"""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from starter.images.figure import Drawn, new_figure, png, save_png
from starter.shift.grid import AXES, Grid, along
from starter.studies.confusions import PredictionGraph
from submission.arrays import FloatArray
from submission.tracks import TRACKS

ACROSS = 4
"""Number of panels side by side."""
GROUPS = {"correct": "tab:green", "wrong": "tab:red", "ood": "tab:grey"}
WHISKERS = {"whislo": "q05", "q1": "q25", "med": "q50", "q3": "q75", "whishi": "q95"}


def plot_failure(frame: pd.DataFrame, path: Path) -> None:
    """Write `failure_figure` as a PNG."""
    save_png(failure_figure(frame), path, dpi=100)


def failure_figure(frame: pd.DataFrame) -> Drawn:
    """Returns a figure with a panel for each classifier and pair of kinds, and a row for each detector.

    The table `matched` has a panel for each detector, `intercepts` one for each classifier. All panels have
    one legend, beside them.
    """
    keys = [key for key in ("classifier", "ind", "ood", "goal") if key in frame]
    keys += ["detector"] * ("distance" in frame)
    panels = list(frame.groupby(keys, sort=False))
    down, across = -(-len(panels) // ACROSS), min(len(panels), ACROSS)
    height = 1.4 + 0.3 * frame.detector.nunique()
    figure = new_figure(4 * across + 1, height * down)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, (names, rows) in zip(axes, panels, strict=False):
        draw = next((DRAW[column] for column in DRAW if column in rows), _draw_bars)
        draw(axis, rows)
        axis.set_title(" / ".join(map(str, names)), fontsize=8)
    for empty in axes[len(panels) :]:
        empty.set_axis_off()
    named = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes]
    if handles := {name: handle for pairs in named for handle, name in pairs}:
        figure.legend(handles.values(), handles, loc="outside right upper", fontsize=6)
    return figure


def _draw_bars(axis: Axes, rows: pd.DataFrame) -> None:
    numbers = list(rows.select_dtypes("number"))
    height = 0.8 / len(numbers)
    for i, name in enumerate(numbers):
        axis.barh(np.arange(len(rows)) + (i + 0.5) * height, rows[name], height=height, label=name)
    axis.set_yticks(np.arange(len(rows)) + 0.4, rows.detector, fontsize=7)
    axis.invert_yaxis()


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


def _draw_matched(axis: Axes, rows: pd.DataFrame) -> None:
    for kind, part in rows.groupby("kind", sort=False):
        (points,) = axis.plot(part.distance, part.auroc, ".", markersize=4, label=kind)
        if np.ptp(part.distance) > 0:
            line = np.poly1d(np.polyfit(part.distance, part.auroc, 1))
            ends = np.array([part.distance.min(), part.distance.max()])
            axis.plot(ends, line(ends), color=points.get_color())
    axis.set_xlabel("distance to the nearest training image", fontsize=7)
    axis.set_ylabel("AUROC", fontsize=7)


def _draw_levels(axis: Axes, rows: pd.DataFrame) -> None:
    names = list(dict.fromkeys(rows.detector))
    for i, (kind, part) in enumerate(rows.groupby("kind", sort=False)):
        places = [names.index(name) + i / 8 for name in part.detector]
        (points,) = axis.plot(part.level, places, "o", markersize=3, label=kind)
        axis.hlines(places, part.level_low, part.level_high, color=points.get_color())
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_xlabel("AUROC at the mean distance", fontsize=7)
    axis.invert_yaxis()


DRAW = {"group": _draw_boxes, "low": _draw_intervals, "distance": _draw_matched, "level": _draw_levels}
"""Functions that draw a table with the column of this name; other tables are drawn as bars."""


SHEETS_ACROSS = 6
"""Number of heat maps side by side."""
TITLES = TRACKS["ood"].metrics


def heat_maps(grid: Grid, metric: str) -> bytes:
    """Returns a PNG with a map in % for each detector (figures 5, 7, 10-12, 14, 16, 18 of Long et al.)."""
    return maps({name: 100 * found[metric] for name, found in grid.values.items()}, f"{TITLES[metric]}, %")


def maps(
    panels: dict[str, FloatArray],
    label: str,
    colours: str = "viridis",
    ends: tuple[float, float] = (0, 100),
) -> bytes:
    """Returns a PNG with a heat map for each array of `panels`; nan is shown as N/A.

    Args:
        panels: Arrays (count, count) by title, with a row for each covariate level.
        label: Label of the colour bar.
        colours: Name of a Matplotlib colour map.
        ends: Values at either end of the colour map.
    """
    across = min(SHEETS_ACROSS, len(panels))
    down = -(-len(panels) // across)
    count = max(map(len, panels.values()))
    drawn = new_figure(0.32 * count * across + 1.5, 0.32 * count * down + 0.5)
    cells = drawn.subplots(down, across, squeeze=False)
    for axes, (title, found) in zip(cells.ravel(), panels.items(), strict=False):
        texts = np.where(np.isnan(found), "N/A", np.vectorize("{:.0f}".format)(found)).astype(object)
        _map(axes, found, texts, colours, ends, size=5)
        axes.set_title(title, fontsize=8)
    for axes in cells.ravel()[len(panels) :]:
        axes.set_axis_off()
    scale = ScalarMappable(Normalize(*ends), colours)
    drawn.colorbar(scale, ax=cells, label=label, shrink=0.8)
    return png(drawn, dpi=110)


def curves(grid: Grid, metric: str) -> bytes:
    """Returns a PNG of detectors' means at each level of either axis (figures 6, 8, 13, 15, 17, 19)."""
    return lines({name: 100 * found[metric] for name, found in grid.values.items()}, f"{TITLES[metric]}, %")


def lines(grids: dict[str, FloatArray], label: str) -> bytes:
    """Returns a PNG with the means of each array (count, count) along either axis, without its nan values.

    Args:
        grids: Arrays by name, with a row for each covariate level.
        label: Label of the values' axis.
    """
    drawn = new_figure(11, max(4.2, 0.2 * len(grids)))
    both = drawn.subplots(1, 2, sharey=True)
    for axes, axis in zip(both, AXES, strict=True):
        for number, (name, found) in enumerate(grids.items()):
            values, colour = along(found, axis), matplotlib.colormaps["tab20"](number % 20)
            levels = np.arange(1, len(values) + 1)
            axes.plot(levels, values, marker="o", markersize=3, label=name, color=colour)
        axes.set(xlabel=f"{axis} shift level", ylabel=label)
    drawn.legend(*both[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)
    return png(drawn, dpi=110)


def cell_images(grid: Grid) -> bytes:
    """Returns a PNG of the number of images in each cell (figure 9 of Long et al.)."""
    drawn = new_figure(0.55 * len(grid.counts) + 1.5, 0.45 * len(grid.counts) + 0.8)
    axes = drawn.subplots()
    shown = np.log10(np.maximum(grid.counts, 1).astype(np.float64))
    texts = np.vectorize("{:,}".format)(grid.counts).astype(object)
    _map(axes, shown, texts, "Blues", (0.0, max(1.6 * float(shown.max()), 1.0)), size=7)
    return png(drawn, dpi=110)


def _map(
    axes: Axes,
    values: FloatArray,
    texts: NDArray[np.object_],
    colours: str,
    ends: tuple[float, float],
    size: int,
) -> None:
    """Draw one heat map with a text in each cell; nan is grey."""
    axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=ends[0], vmax=ends[1])
    axes.set_facecolor("#d8dee4")
    levels = [str(level) for level in range(1, len(values) + 1)]
    axes.set_xticks(np.arange(len(values)), levels, fontsize=6)
    axes.set_yticks(np.arange(len(values)), levels, fontsize=6)
    axes.set_xlabel("semantic shift level", fontsize=6)
    axes.set_ylabel("covariate shift level", fontsize=6)
    palette = matplotlib.colormaps[colours]
    for place in np.ndindex(values.shape):
        share = (values[place] - ends[0]) / (ends[1] - ends[0])
        light = np.isnan(share) or np.dot(palette(share)[:3], (0.3, 0.59, 0.11)) > 0.55
        ink = "black" if light else "white"
        axes.text(place[1], place[0], texts[place], size=size, ha="center", va="center", color=ink)


SHOWN = 10
"""Number of classes at either end of the bars."""


def plot_graph(graph: PredictionGraph, out: Path) -> Path:
    """Write a PNG of the pruned graph: OOD classes on the outer circle, their predicted classes inside.

    The width of a line is its share of the class's images, its colour the similarity of the two classes.
    """
    edges = graph.pruned
    figure = new_figure(12, 12)
    axis = figure.subplots()
    axis.set(title=graph.sizes(), aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    axis.set_axis_off()
    outer, inner = _angles(edges)
    colours = matplotlib.colormaps["viridis"]
    for edge in edges.to_dict("records"):
        ends = _point(outer[edge["source"], edge["true"]], 1.0), _point(inner[edge["predicted"]], 0.5)
        similarity = 0.0 if pd.isna(edge["similarity"]) else edge["similarity"]
        axis.plot(*zip(*ends, strict=True), color=colours(similarity), linewidth=4 * edge["share"], alpha=0.7)
    words = dict(zip(zip(edges["source"], edges["true"], strict=True), edges["word"], strict=True))
    for key, angle in outer.items():
        turn = np.degrees(angle) % 360
        flipped = 90 < turn < 270
        axis.text(
            *_point(angle, 1.01), words[key], size=5, rotation=turn - 180 * flipped, rotation_mode="anchor",
            ha="right" if flipped else "left", va="center",
        )  # fmt: skip
    for name, angle in inner.items():
        box = {"boxstyle": "round", "facecolor": "white"}
        axis.text(*_point(angle, 0.5), name, size=10, ha="center", va="center", bbox=box)
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, 1), colours)
    figure.colorbar(scale, ax=axis, shrink=0.5, label="similarity of the two classes")
    return save_png(figure, out, dpi=130)


def plot_similarities(graph: PredictionGraph, out: Path) -> Path:
    """Write a PNG of the lowest and highest mean similarities, of true and of predicted classes."""
    true, predicted = graph.per_class(), graph.per_prediction()
    true["name"] = true["word"] + " (" + true["assignment"] + ")"
    tables = {
        "by true class": true,
        "by predicted class, OOD images": predicted.assign(name=predicted["predicted"]),
    }
    figure = new_figure(11, 6)
    for axis, (title, table) in zip(figure.subplots(1, 2), tables.items(), strict=True):
        ranked = table.dropna(subset="similarity").sort_values("similarity", ascending=False, kind="stable")
        shown = ranked if len(ranked) <= 2 * SHOWN else pd.concat([ranked[:SHOWN], ranked[-SHOWN:]])
        axis.barh(np.arange(len(shown)), shown["similarity"], color="tab:blue")
        axis.set_yticks(np.arange(len(shown)), shown["name"])
        axis.invert_yaxis()
        axis.set(title=title, xlim=(0, 1), xlabel="mean similarity of true and predicted class")
    return save_png(figure, out, dpi=130)


def _angles(edges: pd.DataFrame) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Returns the angles of true and of predicted classes on their circles, in radians.

    True classes are evenly spaced, sorted by their commonest prediction; a predicted class is at the mean
    angle of the classes for which it is the commonest.
    """
    by_share = edges.sort_values("share", kind="stable")
    strongest = by_share.drop_duplicates(["source", "true"], keep="last")
    strongest = strongest.sort_values(["predicted", "source", "true"])
    turns = np.linspace(0, 2 * np.pi, len(strongest), endpoint=False)
    keys = zip(strongest["source"], strongest["true"], strict=True)
    names = sorted(set(edges["predicted"]))
    evenly = dict(zip(names, np.linspace(0, 2 * np.pi, len(names), endpoint=False), strict=True))
    own = {name: turns[(strongest["predicted"] == name).to_numpy()] for name in names}
    inner = {name: float(own[name].mean()) if len(own[name]) else float(evenly[name]) for name in names}
    return dict(zip(keys, map(float, turns), strict=True)), inner


def _point(angle: float, radius: float) -> tuple[float, float]:
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))
