"""Shift grids of a competition's OOD detectors, from its public images (Long et al. 2024, section 3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from starter.contest.ood.observe import DetectorSubject, MixSets
from starter.data.images.figure import Drawn, new_figure, new_panels
from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS
from starter.data.operations.operation import Params
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromRecipe, Images
from starter.data.sources.glyphs.digits import CLASSES, NATURAL, natural_set
from starter.data.sources.oodsets import load_ood_sets, without_shared
from starter.observing.detectors import DETECTORS
from starter.studies.shift import grid
from starter.studies.shift.laid import measured_degrees, open_laid
from starter.studies.study import Study
from submission import Competition, UnusableInput
from submission.arrays import FloatArray, IntArray
from submission.files import digest_of
from submission.random import GRID_HALVES, GRID_IMAGES
from submission.tracks import TRACKS

TITLES = {metric: TRACKS["ood"].metrics[metric] for metric in grid.METRICS}
ACROSS = 6
"""Number of heat maps side by side."""


STRENGTHS = (0.25, 0.5, 0.75, 1.0)
IND = "ind"
"""Name of the set of ID images, which is in a grid under operations only, never unchanged."""
IND_SHARE = 0.25
"""Share of a grid's images that are of the ID classes, if there are OOD sets too."""
NONE = "none"
"""The group that leaves images as they are, so that natural ones stand alone in the grid, as in the paper."""
_PART = 32  # smallest number of images of an operation at a strength
_NATURAL = 40  # number of a grid's images for each image of a natural family
_SHARD = 4000  # approximate number of images of a rendering


@dataclass(frozen=True)
class Shifts:
    """The choice of a grid's shifted images, about `images` of them; OOD sets "" are the embedded ones.

    The group "" is `NONE` for OOD sets of one's own. Those may be of `unseen shift generate`, in its cells.
    """

    ood: str = ""
    group: str = ""
    images: int = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.group not in ("", NONE, *GROUPS):
            raise UnusableInput(f"--group {self.group!r} is unknown; there are {NONE}, {', '.join(GROUPS)}")
        if self.generated and self.group:
            raise UnusableInput(f"{self.ood} has the cells of a grid: leave --group out")

    @property
    def generated(self) -> bool:
        """True for OOD sets of `unseen shift generate`."""
        return bool(self.ood) and (Path(self.ood) / grid.PROMPTS_FILE).is_file()

    @property
    def operations(self) -> tuple[str, ...]:
        """The names of the operations under which images are shifted, () for `NONE`."""
        group = self.group or (NONE if self.ood else "corruptions")
        return () if group == NONE else GROUPS[group]


@dataclass(frozen=True)
class Joined:
    """Sets one after the other as one rendering."""

    name: str
    parts: tuple[FromRecipe, ...]

    @property
    def digest(self) -> str:
        """The hash of the pixels and their order."""
        return digest_of("joined", *(part.digest for part in self.parts))

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def chunks(self) -> Iterator[torch.Tensor]:
        """Returns the images in order, uint8 (b, 3, h, w) with b <= 500 in each chunk."""
        for part in self.parts:
            yield from part.chunks()

    @property
    def render(self) -> Images:
        """The function that gives all images, without access to their labels."""
        made = tuple(part.render for part in self.parts)
        return lambda: np.concatenate([make() for make in made])


def shifted(known: Mapping[str, ImageSet], others: Mapping[str, ImageSet], shifts: Shifts) -> list[Joined]:
    """Returns the shifted images: every set unchanged, and under operations at each of STRENGTHS."""
    share = IND_SHARE if known and others else float(bool(known))
    budgets = {name: shifts.images * share / len(known) for name in known}
    budgets |= {name: shifts.images * (1 - share) / len(others) for name in others}
    if min(budgets.values()) < len(STRENGTHS):
        raise UnusableInput(f"{shifts.images:,} images of {len(budgets)} sets are too few: raise --images")
    found = []
    for name, images_of in {**known, **others}.items():
        parts = _parts(images_of, name, budgets[name], shifts)
        size = max(1, _SHARD // len(parts[0]))
        shards = enumerate(range(0, len(parts), size), start=1)
        found += [Joined(f"{name}_{number}", tuple(parts[at : at + size])) for number, at in shards]
    return found


def _parts(base: ImageSet, name: str, budget: float, shifts: Shifts) -> list[FromRecipe]:
    """Returns the set unchanged (except IND), then under each operation at each strength."""
    rng = GRID_IMAGES(shifts.seed, name)
    operations = rng.permutation(shifts.operations).tolist()
    count = int(np.clip(budget // (_PART * len(STRENGTHS)), 1, len(operations)))
    steps: list[tuple[tuple[str, Params], ...]] = [
        ((operation, OPERATIONS[operation].draw_params(rng, strength)),)
        for operation in operations[:count]
        for strength in STRENGTHS
    ]
    if name != IND:
        steps.insert(0, ())
    n = min(max(1, int(budget / len(steps))), len(base))
    return [
        FromRecipe(Recipe(f"{name}_{number}", int(rng.integers(2**53)), (("sample", {"n": n}), *step)), base)
        for number, step in enumerate(steps)
    ]


def grid_images(sets: MixSets, shifts: Shifts) -> tuple[ImageSet, list[Joined]]:
    """Returns the IND images, and the renderings of all shifted images, none of the ID classes unchanged."""
    base = replace(sets.base, labels=None)
    order = GRID_HALVES(shifts.seed).permutation(len(base))
    ind, rest = (np.sort(half) for half in np.array_split(order, 2))
    others, known = _ood_sets(sets, shifts), _natural(sets, shifts)
    if shifts.operations:
        known = {IND: base.take(rest, IND), **known}
    if not known and not others:
        raise UnusableInput("no OOD set is left to shift: name others by --ood")
    return base.take(ind, IND), shifted(known, others, shifts)


def _ood_sets(sets: MixSets, shifts: Shifts) -> Mapping[str, ImageSet]:
    """Returns the OOD sets by name, without images that the competition has."""
    limit = max(1, shifts.images // 10)
    others = load_ood_sets(shifts.ood, sets.competition.classes, sets.fit, limit=limit, seed=shifts.seed)
    return without_shared(others, (sets.base, sets.reference, sets.train_ref))


def _natural(sets: MixSets, shifts: Shifts) -> dict[str, ImageSet]:
    """Returns the natural families by name, if the competition's images are the embedded digits."""
    digits = sets.competition.source == "glyphs" and tuple(sets.competition.classes) == CLASSES
    if shifts.generated or not digits:
        return {}
    count = 1 + shifts.images // _NATURAL
    families = {name: natural_set(name, count, shifts.seed, name, "meta_base") for name in NATURAL}
    return {name: replace(images, labels=None) for name, images in families.items()}


def grid_study(
    competition: Competition,
    shifts: Shifts,
    *,
    encoder: str = "embedded",
    laid: str = "",
    classifier: str | None = None,
    detectors: Sequence[str] = (),
    device: str = "cpu",
) -> Study:
    """Returns the detectors' AUROC, FPR@95 and AUPR in every cell, with their trends along both axes."""
    classifier = classifier or competition.classifiers[0]
    if classifier not in competition.classifiers:
        there = ", ".join(competition.classifiers)
        raise UnusableInput(f"--classifier {classifier!r} is unknown; there are {there}")
    sets = MixSets(competition)
    scorer = DetectorSubject.open(sets, classifier, device=device, detectors=list(detectors or DETECTORS))
    ind, renderings = grid_images(sets, shifts)
    if shifts.generated:
        levels = grid.ShiftGrid.of_folders([(each.name, len(each)) for each in renderings])
    else:
        kept = competition.out / "cache/laid"
        pair = open_laid(
            encoder, laid, classes=competition.classes, kept=kept, seed=shifts.seed, device=device
        )
        degrees = measured_degrees(renderings, sets.train_ref, *pair, scorer.observer.cache, device)
        levels = grid.ShiftGrid.of(degrees)
    known = FromRecipe.whole(ind)
    scorer.observe([known, *renderings])
    scores = {
        name: np.concatenate([scorer.scores(name, each) for each in renderings]) for name in scorer.detectors
    }
    cells = grid.cell_table({name: scorer.scores(name, known) for name in scorer.detectors}, scores, levels)
    tables = {"cells": cells, "edges": grid.edge_table(levels), "trends": grid.trend_table(cells)}
    figures = {"counts": partial(counts_figure, levels.counts)}
    for metric in grid.METRICS:
        figures[f"map_{metric}"] = partial(maps_figure, cells, metric)
        figures[f"curve_{metric}"] = partial(curves_figure, cells, metric)
    return Study(tables, figures, grid_text(tables), competition.out / "grid")


def grid_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """Returns a table of the trends of AUROC, as text for a terminal."""
    cells, trends = tables["cells"], tables["trends"]
    counts = cells[cells["detector"] == cells["detector"].iloc[0]]["images"]
    shown = ["detector", *(f"{axis}_{what}" for axis in grid.AXES for what in ("correlation", "sensitivity"))]
    table = trends.loc[trends["metric"] == grid.METRICS[0], shown]
    text = table.to_string(index=False, float_format=lambda value: f"{value:.2f}", na_rep="N/A")
    return (
        f"{counts.sum():,} shifted images in {(counts > 0).sum()} of {counts.size} cells, "
        f"{((counts > 0) & (counts < grid.LEAST)).sum()} of them with fewer than {grid.LEAST} (N/A)\n\n"
        f"{TITLES[grid.METRICS[0]]}: correlation with the level, and points a level (sensitivity)\n\n{text}"
    )


def maps_figure(cells: pd.DataFrame, metric: str) -> Drawn:
    """Returns a map in % for each detector; nan is N/A (figures 5, 7, 10-12, 14, 16, 18 of Long et al.)."""
    panels = grid.maps(cells, metric)
    figure, axes = new_panels(
        len(panels), ACROSS, width=0.32 * grid.LEVELS, height=0.32 * grid.LEVELS, right=1.5, above=0.5
    )
    for each, (title, found) in zip(axes, panels.items(), strict=False):
        texts = np.where(np.isnan(found), "N/A", np.vectorize("{:.0f}".format)(100 * found))
        image = _map(each, 100 * found, texts, (0, 100), size=5)
        each.set_title(title, fontsize=8)
    figure.colorbar(image, ax=axes, label=f"{TITLES[metric]}, %", shrink=0.8)
    return figure


def curves_figure(cells: pd.DataFrame, metric: str) -> Drawn:
    """Returns detectors' means in % at each level of either axis (figures 6, 8, 13, 15, 17, 19)."""
    panels = grid.maps(cells, metric)
    figure = new_figure(11, max(4.2, 0.2 * len(panels)))
    both = figure.subplots(1, 2, sharey=True)
    for axes, axis in zip(both, grid.AXES, strict=True):
        for number, (name, found) in enumerate(panels.items()):
            values, colour = 100 * grid.along(found, axis), matplotlib.colormaps["tab20"](number % 20)
            axes.plot(
                np.arange(1, grid.LEVELS + 1), values, marker="o", markersize=3, label=name, color=colour
            )
        axes.set(xlabel=f"{axis} shift level", ylabel=f"{TITLES[metric]}, %")
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside right center", fontsize=7)
    return figure


def counts_figure(counts: IntArray) -> Drawn:
    """Returns a map of the number of images in each cell (figure 9 of Long et al.)."""
    figure = new_figure(0.55 * grid.LEVELS + 1.5, 0.45 * grid.LEVELS + 0.8)
    logarithms = np.log10(np.maximum(counts, 1).astype(np.float64))
    texts = np.vectorize("{:,}".format)(counts)
    _map(figure.subplots(), logarithms, texts, (0.0, max(float(logarithms.max()), 1.0)), size=7)
    return figure


def _map(
    axes: Axes, values: FloatArray, texts: NDArray[np.str_], ends: tuple[float, float], size: int
) -> AxesImage:
    """Draw and return one heat map with a text in each cell; nan is grey."""
    image = axes.imshow(np.ma.masked_invalid(values), cmap="viridis", vmin=ends[0], vmax=ends[1])
    axes.set_facecolor("#d8dee4")
    levels = [str(level) for level in range(1, grid.LEVELS + 1)]
    axes.set_xticks(range(grid.LEVELS), levels, fontsize=6)
    axes.set_yticks(range(grid.LEVELS), levels, fontsize=6)
    axes.set_xlabel("semantic shift level", fontsize=6)
    axes.set_ylabel("covariate shift level", fontsize=6)
    for place in np.ndindex(values.shape):
        ink = "white" if values[place] < sum(ends) / 2 else "black"
        axes.text(place[1], place[0], texts[place], size=size, ha="center", va="center", color=ink)
    return image
