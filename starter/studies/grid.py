"""Shift grids of the OOD detectors on a competition's classifier, from its public images alone.

`unseen shift grid` writes them as tables (CSV), pictures (PNG), and ``report.html``, which shows them all.
"""

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from starter.competition.mixes import MixSets
from starter.competition.scorer import Scorer
from starter.detectors import DETECTORS
from starter.encoders import Encoder
from starter.images.imageset import ImageSet
from starter.images.reading import Fit
from starter.operations import GROUPS
from starter.sets.rendering import FromRecipe
from starter.shift.degrees import LEAST, LEVELS, ShiftGrid
from starter.shift.grid import AXES, METRICS, Grid, measure
from starter.shift.images import IND, Joined, embedded_shifts, is_embedded, shifted
from starter.shift.laid import Laid
from starter.shift.ruler import Ruler, kept_in
from starter.sources.oodsets import load_ood_sets, without_shared
from starter.studies.figures import TITLES, cell_images, curves, heat_maps
from submission import Competition, UnusableInput
from submission.files import replacing, write_text
from submission.page import templates
from submission.random import GRID_HALVES

Opened = Callable[[Sequence[str], Path, int, str, bool], tuple[Encoder, Laid]]
"""Function of the ID classes, a folder to keep files in, a seed, a device, and True to show bars."""


@dataclass(frozen=True)
class Asked:
    """The settings of a grid.

    Attributes:
        classifier: Name of a classifier of the competition.
        detectors: Names in DETECTORS.
        ood: Folder or zip with a folder for each OOD set; "" for the embedded sets.
        exclude: Names of OOD sets to leave out.
        only_ood: True to shift OOD sets only, and no images of the ID classes.
        group: Group of operations, a key of GROUPS.
        images: Approximate number of shifted images.
        levels: Number of levels of either axis.
        least: Smallest number of images of a cell; cells with fewer are N/A.
        seed: Seed of the shifted images.

    Raises:
        UnusableInput: A number is out of range, a group or detector is unknown, or a detector is given twice.
    """

    classifier: str
    detectors: tuple[str, ...] = tuple(DETECTORS)
    ood: str = ""
    exclude: tuple[str, ...] = ()
    only_ood: bool = False
    group: str = "corruptions"
    images: int = 20_000
    levels: int = LEVELS
    least: int = LEAST
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (("images", 100, 10**8), ("levels", 2, 100), ("least", 1, 10**8)):
            if not low <= getattr(self, name) <= high:
                raise UnusableInput(f"--{name} must be {low} to {high:,}, got {getattr(self, name)}")
        if self.group not in GROUPS:
            raise UnusableInput(f"--group {self.group!r} is unknown; there are {', '.join(GROUPS)}")
        if self.seed < 0:
            raise UnusableInput(f"--seed must be 0 or more, got {self.seed}")
        for name in self.detectors:
            if name not in DETECTORS:
                raise UnusableInput(f"--detector {name!r} is unknown; there are {', '.join(DETECTORS)}")
            if self.detectors.count(name) > 1:
                raise UnusableInput(f"--detector {name} is given twice")


@dataclass(frozen=True)
class GridRun:
    """A grid, and the settings and data from which it was computed.

    Attributes:
        competition: Name of the competition.
        asked: Settings of the run.
        encoder: Name of the encoder.
        shift: Cells of the grid.
        grid: Measures of the detectors in the cells.
        ind: Number of IND images with which every cell was compared.
    """

    competition: str
    asked: Asked
    encoder: str
    shift: ShiftGrid
    grid: Grid
    ind: int


def run_grid(
    competition: Competition,
    opened: Opened,
    asked: Asked,
    device: str = "cpu",
    progress: bool = True,
) -> GridRun:
    """Measure detectors under growing shifts (Long et al., NeurIPS 2024, section 3).

    Half of the competition's base images are IND; the other half and the OOD sets are shifted. Degrees are
    distances from its unlabelled training images. Observations, scores and degrees are kept in its cache.

    Args:
        competition: Competition of either track; nothing below ``private/`` is read.
        opened: Function that returns the encoder and its LAID matrix, given the arguments in `Opened`; it is
            called after all other inputs are found.
        asked: Settings of the run.
        device: Device of the classifier and of distances.
        progress: True to show bars.

    Raises:
        UnusableInput: The competition has no such classifier, OOD sets or weights cannot be read, the images
            cannot be encoded, or all have the same degree of shift.
    """
    sets = MixSets(competition)
    if asked.classifier not in competition.classifiers:
        known = ", ".join(competition.classifiers)
        raise UnusableInput(f"--classifier {asked.classifier!r} is none of {competition.root}'s: {known}")
    scorer = Scorer.open(sets, asked.classifier, asked.detectors, device=device)
    ind, renderings = grid_images(sets, asked)
    encoder, laid = opened(competition.classes, kept_in(competition.root), asked.seed, device, progress)
    whole, cache = FromRecipe.whole(ind), scorer.view.observer.cache
    scorer.observe([whole, *renderings], progress)
    ruler = Ruler.of(encoder, laid, sets.train_ref, device)
    semantic, covariate = ruler.measure(renderings, cache, progress)
    for axis, found in (("semantic", semantic), ("covariate", covariate)):
        if np.ptp(found) == 0:
            raise UnusableInput(f"encoder {encoder.name}: all images have the same {axis} degree")
    shift = ShiftGrid.of(semantic, covariate, count=asked.levels)
    scores = {
        name: np.concatenate([scorer.scores(name, each) for each in renderings]) for name in asked.detectors
    }
    of_ind = {name: scorer.scores(name, whole) for name in asked.detectors}
    grid = measure(of_ind, scores, shift, asked.least)
    return GridRun(competition.name, asked, encoder.name, shift, grid, len(ind))


def grid_images(sets: MixSets, asked: Asked) -> tuple[ImageSet, list[Joined]]:
    """Returns the IND images, and the renderings of all shifted images."""
    competition, base = sets.competition, replace(sets.base, labels=None)
    order = GRID_HALVES(asked.seed).permutation(len(base))
    ind, rest = (np.sort(half) for half in np.array_split(order, 2))
    others = load_ood_sets(
        asked.ood,
        competition.classes,
        Fit(competition.image_size),
        asked.exclude,
        max(1, asked.images // 10),
        asked.seed,
    )
    others = without_shared(others, (base, sets.reference, sets.train_ref))
    if asked.only_ood and not others:
        raise UnusableInput("--only-ood: no OOD set is left to shift: exclude fewer, or name others by --ood")
    known = {} if asked.only_ood else {IND: base.take(rest, IND)}
    if known and is_embedded(competition.source, competition.classes):
        known |= embedded_shifts("meta_base", asked.images, asked.seed, labelled=False)
    return base.take(ind, IND), shifted(known, others, asked.images, asked.group, asked.seed)


def write_grid(run: GridRun, folder: Path) -> Path:
    """Write the tables, the pictures and the page.

    The files are ``cells.csv``, ``curves.csv``, ``edges.csv``, ``trends.csv``, ``counts.png`` (figure 9 of
    Long et al.), ``map_<metric>.png``, ``curve_<metric>.png`` and ``report.html``.

    Args:
        run: Grid and its settings.
        folder: Folder to write to; files of these names are replaced.

    Returns:
        The path of the page, ``report.html``.
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
    """Returns a table of the trends of AUROC, as text for a terminal."""
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
    """Returns "semantic_correlation_fitted" in two short lines: ("semantic", "corr. fitted")."""
    axis, what, *fitted = column.split("_")
    return axis, " ".join([{"correlation": "corr.", "sensitivity": "sens."}[what], *fitted])


def _edges(run: GridRun) -> pd.DataFrame:
    """Returns a table of the ends of every level, with the number of its images."""
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
