"""Pictures of a grid: heat maps and curves of the detectors, and how many images each cell has."""

import io

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from starter.shift.grid import AXES, Grid, along
from submission.tracks import TRACKS

ACROSS = 6
"""Heat maps beside each other."""
TITLES = TRACKS["ood"].metrics


def heat_maps(grid: Grid, metric: str) -> bytes:
    """A PNG with a map for each detector, in % (figures 5, 7, 10 to 12, 14, 16 and 18)."""
    return maps({name: 100 * found[metric] for name, found in grid.values.items()}, f"{TITLES[metric]}, %")


def maps(
    panels: dict[str, NDArray[np.float64]],
    label: str,
    colours: str = "viridis",
    ends: tuple[float, float] = (0, 100),
) -> bytes:
    """A PNG with a map for each of `panels`, of arrays (count, count), rows covariate; nan is N/A.

    Args:
        panels: by title.
        label: of the colours.
        colours: a name of Matplotlib's.
        ends: the values of the colours' ends.
    """
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    count = max(map(len, panels.values()))
    drawn = _figure(0.32 * count * across + 1.5, 0.32 * count * down + 0.5)
    cells = drawn.subplots(down, across, squeeze=False)
    for axes, (title, found) in zip(cells.ravel(), panels.items(), strict=False):
        texts = np.where(np.isnan(found), "N/A", np.vectorize("{:.0f}".format)(found)).astype(object)
        _map(axes, found, texts, colours, ends, size=5)
        axes.set_title(title, fontsize=8)
    for axes in cells.ravel()[len(panels) :]:
        axes.set_axis_off()
    scale = ScalarMappable(Normalize(*ends), colours)
    drawn.colorbar(scale, ax=cells, label=label, shrink=0.8)
    return _png(drawn)


def curves(grid: Grid, metric: str) -> bytes:
    """A PNG of each detector's mean at each level of either axis (figures 6, 8, 13, 15, 17 and 19)."""
    return lines({name: 100 * found[metric] for name, found in grid.values.items()}, f"{TITLES[metric]}, %")


def lines(grids: dict[str, NDArray[np.float64]], label: str) -> bytes:
    """A PNG with the mean of each array (count, count) along either axis; nan counts in no mean.

    Args:
        grids: by name, rows covariate.
        label: of the values.
    """
    drawn = _figure(11, max(4.2, 0.2 * len(grids)))
    both = drawn.subplots(1, 2, sharey=True)
    for axes, axis in zip(both, AXES, strict=True):
        for number, (name, found) in enumerate(grids.items()):
            values, colour = along(found, axis), matplotlib.colormaps["tab20"](number % 20)
            levels = np.arange(1, len(values) + 1)
            axes.plot(levels, values, marker="o", markersize=3, label=name, color=colour)
        axes.set(xlabel=f"{axis} shift level", ylabel=label)
    drawn.legend(*both[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)
    return _png(drawn)


def cell_images(grid: Grid) -> bytes:
    """A PNG of how many images each cell has (figure 9)."""
    drawn = _figure(0.55 * len(grid.counts) + 1.5, 0.45 * len(grid.counts) + 0.8)
    axes = drawn.subplots()
    shown = np.log10(np.maximum(grid.counts, 1).astype(np.float64))
    texts = np.vectorize("{:,}".format)(grid.counts).astype(object)
    _map(axes, shown, texts, "Blues", (0.0, max(1.6 * float(shown.max()), 1.0)), size=7)
    return _png(drawn)


def _map(
    axes: Axes,
    values: NDArray[np.float64],
    texts: NDArray[np.object_],
    colours: str,
    ends: tuple[float, float],
    size: int,
) -> None:
    """One map of values, with a text in each cell; nan is grey."""
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


def _figure(width: float, height: float) -> Figure:
    drawn = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn


def _png(drawn: Figure) -> bytes:
    encoded = io.BytesIO()
    drawn.savefig(encoded, format="png", dpi=110, metadata={"Software": None})
    return encoded.getvalue()
