"""Figures as PNG files: drawn without a window, with reproducible bytes."""

import io
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from submission.files import write_bytes


class Drawn(Figure):
    """A figure that a notebook shows, drawn without pyplot."""

    def _repr_png_(self) -> bytes:
        return png(self, dpi=90)


def new_figure(width: float, height: float) -> Drawn:
    """Returns an empty figure of width x height inches with automatic layout."""
    figure = Drawn(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_panels(
    count: int, most: int, width: float, height: float, right: float = 0.0, above: float = 0.0
) -> tuple[Drawn, NDArray[np.object_]]:
    """Returns a figure of panels, `most` in a row, and their axes; `right` and `above` are left free."""
    down, across = -(-count // most), min(count, most)
    figure = new_figure(width * across + right, height * down + above)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for empty in axes[count:]:
        empty.set_axis_off()
    return figure, axes


def png(figure: Figure, dpi: int) -> bytes:
    """Returns the figure as a PNG with `dpi` pixels per inch, without metadata about the software."""
    encoded = io.BytesIO()
    figure.savefig(encoded, format="png", dpi=dpi, metadata={"Software": None})
    return encoded.getvalue()


def save_png(figure: Figure, path: Path, dpi: int) -> Path:
    """Write the figure as a PNG to `path`, atomically, and return the path."""
    write_bytes(path, png(figure, dpi))
    return path
