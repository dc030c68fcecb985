"""The report on a grid of shifts: each method's error by cell and by level."""

import base64
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from baselines.report.report import Report, Run
from starter.shift.degrees import LEVELS
from starter.shift.grid import AXES, along, cell_of
from starter.studies.figures import lines, maps
from submission.arrays import FloatArray

FAR = 50.0
"""Largest error in a map's colour scale, in percentage points."""


def on_grid(report: Report) -> bool:
    """Returns True if all validation sets are cells of a grid with `LEVELS` levels."""
    cells = [cell_of(family) for _, family in report.groups]
    return all(cell is not None and max(cell) < LEVELS for cell in cells)


def error_grid(report: Report, run: Run, of: Callable[[FloatArray], FloatArray] = np.abs) -> FloatArray:
    """Returns the mean error of a method on each cell in percentage points, (LEVELS, LEVELS), rows covariate.

    A cell without a validation set is nan. An error is prediction minus truth.

    Args:
        report: Report on cells, see `on_grid`.
        run: Run of the report.
        of: Function of the errors that is averaged, by default the absolute value.
    """
    errors = of(100 * (run.predicted - report.val[run.subject]))
    cells = np.array([cell_of(family) for _, family in report.groups])
    place = cells[:, 1] * LEVELS + cells[:, 0]
    sums, counts = (np.bincount(place, weights, LEVELS**2) for weights in (errors, None))
    found = np.full(LEVELS**2, np.nan)
    np.divide(sums, counts, out=found, where=counts > 0)
    return found.reshape(LEVELS, LEVELS)


def level_figures(report: Report, subject: str) -> dict[str, tuple[str, str]]:
    """Returns figures by caption: curves of the mean absolute error by level, maps of the mean error by cell.

    Each figure is a PNG in base64 and a text with its numbers.
    """
    runs = [run for run in report.runs if run.subject == subject]
    size = {run.method: error_grid(report, run) for run in runs}
    signed = {run.method: error_grid(report, run, np.positive) for run in runs}
    drawn = {
        "Mean absolute error by shift level": (lines(size, "mean absolute error, points"), size),
        "Mean of predicted less true by cell": (
            maps(signed, "predicted less true, points", "coolwarm", (-FAR, FAR)),
            signed,
        ),
    }
    return {
        caption: (base64.b64encode(encoded).decode(), f"{caption}, means in points: {_in_words(grids)}")
        for caption, (encoded, grids) in drawn.items()
    }


def _in_words(grids: Mapping[str, FloatArray]) -> str:
    return "; ".join(
        f"{method}, {axis} shift levels 1 to {LEVELS}: "
        + ", ".join("none" if np.isnan(value) else f"{value:.1f}" for value in along(grid, axis))
        for method, grid in grids.items()
        for axis in AXES
    )


def levels_csv(report: Report) -> str:
    """Returns a CSV with sets, mean absolute error and mean error per classifier, method, axis and level.

    Levels count from 1. The errors of a level are means over its cells with a set, in percentage points.
    """
    cells = np.array([cell_of(family) for _, family in report.groups])
    sets = {axis: np.bincount(cells[:, column], minlength=LEVELS) for column, axis in enumerate(AXES)}
    rows = []
    for run in report.runs:
        size, signed = error_grid(report, run), error_grid(report, run, np.positive)
        for axis in AXES:
            means = zip(sets[axis], along(size, axis), along(signed, axis), strict=True)
            rows += [
                (run.subject, run.method, axis, level, *each) for level, each in enumerate(means, start=1)
            ]
    names = ["subject", "method", "axis", "level", "sets", "mae", "bias"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.to_csv(index=False, float_format="%.4f", lineterminator="\n")
