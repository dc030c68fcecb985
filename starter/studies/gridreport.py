"""What `unseen grid` writes: tables as CSV, pictures as PNG, and ``report.html``, which shows them all."""

import base64
import math
from pathlib import Path

import pandas as pd

from starter.shift.grid import AXES, METRICS
from starter.studies.grid import GridRun
from starter.studies.gridfigures import TITLES, cell_images, curves, heat_maps
from submission.files import replacing, write_text
from submission.page import templates


def write_grid(run: GridRun, folder: Path) -> Path:
    """Write the tables, the pictures and the page.

    They are ``cells.csv``, ``curves.csv``, ``edges.csv``, ``trends.csv``, ``counts.png`` (figure 9 of Long et
    al.), ``map_<metric>.png``, ``curve_<metric>.png`` and ``report.html``.

    Args:
        run: what was run.
        folder: where to; files there are replaced.

    Returns:
        The page's path.
    """
    trends = {metric: run.grid.trends(metric) for metric in METRICS}
    tables = {
        "cells": run.grid.cells(),
        "curves": run.grid.curves(),
        "edges": _edges(run),
        "trends": pd.concat([table.assign(metric=metric) for metric, table in trends.items()]),
    }
    for name, table in tables.items():
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_text(folder / f"{name}.csv", text)
    pictures = {"counts": cell_images(run.grid)}
    for metric in METRICS:
        pictures[f"map_{metric}"] = heat_maps(run.grid, metric)
        pictures[f"curve_{metric}"] = curves(run.grid, metric)
    for name, encoded in pictures.items():
        with replacing(folder / f"{name}.png") as temporary:
            temporary.write_bytes(encoded)
    page = folder / "report.html"
    write_text(page, _rendered(run, trends, tables["edges"], pictures))
    return page


def summary(run: GridRun) -> str:
    """A table of the trends of AUROC, for a terminal."""
    counts, least = run.grid.counts, run.asked.least
    table = run.grid.trends(METRICS[0]).set_index("detector")
    table.columns = pd.MultiIndex.from_tuples(map(_heading, table.columns))
    shown = table.to_string(float_format=lambda value: f"{value:.2f}", na_rep="N/A")
    return (
        f"{counts.sum():,} shifted images in {(counts > 0).sum()} of {counts.size} cells, "
        f"{((counts > 0) & (counts < least)).sum()} of them with fewer than {least} (N/A)\n\n"
        f"{TITLES[METRICS[0]]}: correlation with the level, and points a level (sensitivity)\n"
        f"fitted: the same without what N/A cells make of means\n\n{shown}"
    )


def _heading(column: str) -> tuple[str, str]:
    """ "semantic_correlation_fitted" in two lines, short: ("semantic", "corr. fitted")."""
    axis, what, *fitted = column.split("_")
    return axis, " ".join([{"correlation": "corr.", "sensitivity": "sens."}[what], *fitted])


def _edges(run: GridRun) -> pd.DataFrame:
    """The ends of every level, and its images."""
    counts = run.grid.counts
    rows = []
    for number, (axis, ends) in enumerate(
        zip(AXES, (run.shift.semantic_edges, run.shift.covariate_edges), strict=True)
    ):
        images = counts.sum(axis=number)
        rows += [
            (axis, level + 1, ends[level], ends[level + 1], images[level]) for level in range(len(images))
        ]
    return pd.DataFrame(rows, columns=["axis", "level", "low", "high", "images"])


def _rendered(
    run: GridRun, trends: dict[str, pd.DataFrame], edges: pd.DataFrame, pictures: dict[str, bytes]
) -> str:
    page = templates(Path(__file__).parent).get_template("grid.html")
    return page.render(
        run=run,
        titles={metric: TITLES[metric] for metric in METRICS},
        trends={metric: table.to_dict("records") for metric, table in trends.items()},
        edges=edges.to_dict("records"),
        pictures={name: base64.b64encode(encoded).decode() for name, encoded in pictures.items()},
        shown=_shown,
    )


def _shown(value: float) -> str:
    return "N/A" if math.isnan(value) else f"{value:.2f}"
