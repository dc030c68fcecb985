"""Cells of a grid of shifts as sets of a competition: validation and test sets of `unseen build --grid`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from starter.build.folder import Claim, train_ref
from starter.build.plan import OfCell, Planned
from starter.build.settings import Settings
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache, cache_of
from starter.sets.recipe import Recipe
from starter.shift.degrees import ShiftGrid, usual_range
from starter.shift.grid import cell_name
from starter.shift.images import IND, Joined, embedded_shifts, is_embedded, shifted
from starter.shift.ruler import Ruler, kept_in, open_laid
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.random import CELLS

GROUP = "corruptions"
"""Name of the group of operations for a grid's images."""
IMAGES = 64
"""Number of candidates per image of a set; evenly spread, they would fill one set per cell."""
LEAST_CELLS = 4
"""Fewest cells of a competition's part."""
_PARTS = {"train": "meta_base", "val": "val_base", "test": "test_base"}
"""Name of each part's split."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Candidates:
    """The shifted images of one part.

    Attributes:
        part: Name of the part, "train", "val" or "test".
        renderings: Renderings of all images, one after the other.
        semantic, covariate: Degrees of shift of the images, float32 (n,).
    """

    part: str
    renderings: Sequence[Joined]
    semantic: NDArray[np.float32]
    covariate: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        part: str,
        base: ImageSet,
        others: Mapping[str, ImageSet],
        size: int,
        seed: int,
        ruler: Ruler,
        cache: Cache,
        embedded: bool,
    ) -> "Candidates":
        """Shift images and measure their degrees.

        Args:
            part: Name of the part.
            base: ID images.
            others: OOD sets by name; without any, all images have labels if `base` has.
            size: Number of images of a set.
            seed: Seed of all draws.
            ruler: Ruler that measures the degrees.
            cache: Cache of the degrees.
            embedded: True to add digits of the embedded natural families.
        """
        known = {IND: base}
        if embedded:
            known |= embedded_shifts(_PARTS[part], IMAGES * size, seed, base.labels is not None)
        renderings = shifted(known, others, IMAGES * size, GROUP, seed)
        return cls(part, renderings, *ruler.measure(renderings, cache, name=f"measure {part}"))

    @property
    def ranges(self) -> tuple[Range, Range]:
        """Ranges of the semantic and the covariate degrees, which are divided into levels."""
        return usual_range(self.semantic), usual_range(self.covariate)

    def cells(self, ranges: tuple[Range, Range], size: int) -> dict[tuple[int, int], NDArray[np.int64]]:
        """Returns the rows of each cell (covariate, semantic) with at least `size` images.

        Raises:
            UnusableInput: there are fewer than LEAST_CELLS such cells.
        """
        grid = ShiftGrid.of(self.semantic, self.covariate, *ranges)
        full = {
            (int(covariate), int(semantic)): grid.cell(semantic, covariate)
            for covariate, semantic in np.argwhere(grid.told(size))
        }
        if len(full) < LEAST_CELLS:
            raise UnusableInput(
                f"--grid: {len(full)} cells of the {self.part} images hold the {size} images of a set, "
                f"{LEAST_CELLS} are needed: ask for a smaller --set-size, or give another encoder"
            )
        return full

    def origins(self) -> NDArray[np.int64]:
        """Returns the number of the original image for each shifted image (n,)."""
        starts: dict[str, int] = {}
        numbers, end = [], 0
        for part in (part for each in self.renderings for part in each.parts):
            if part.base.digest not in starts:
                starts[part.base.digest], end = end, end + len(part.base)
            numbers.append(starts[part.base.digest] + part.recipe.indices(part.base))
        return np.concatenate(numbers)

    def take(self, rows: NDArray[np.int64], name: str) -> ImageSet:
        """Returns the images (and labels, if known) at `rows` (m,), ascending."""
        images: list[NDArray[np.uint8]] = []
        labels: list[NDArray[np.int64]] = []
        start = 0
        for each in self.renderings:
            mine = rows[(rows >= start) & (rows < start + len(each))] - start
            start += len(each)
            if len(mine):
                images.append(each.render()[mine])
                labels += [each.labels()[mine]] if each.parts[0].base.labels is not None else []
        found = np.concatenate(images)
        return ImageSet(name, found, np.concatenate(labels) if labels else None)


def candidates(settings: Settings) -> int:
    """Returns the approximate number of shifted images that a build sorts into the cells of all parts."""
    return len(_PARTS) * IMAGES * settings.plan.largest(settings.set_size)


def open_ruler(claim: Claim, splits: Splits, device: str) -> Ruler:
    """Returns the ruler of a build's settings, which measures distances from the unlabelled training images.

    Raises:
        UnusableInput: see `open_laid` and `Ruler.of`.
    """
    settings = claim.settings
    kept = kept_in(claim.root)
    encoder, laid = open_laid(settings.grid, settings.laid, splits.classes, kept, settings.seed, device)
    return Ruler.of(encoder, laid, train_ref(splits, settings.seed), device)


def grid_input(settings: Settings, ruler: Ruler | None) -> dict[str, str]:
    """Returns hashes of encoder, matrix and ID images, by option; empty without a ruler."""
    return {} if ruler is None else {f"--grid {settings.grid}": ruler.digest}


def cells_of(
    claim: Claim,
    splits: Splits,
    ruler: Ruler,
    bases: Mapping[str, tuple[ImageSet, Mapping[str, ImageSet]]],
    size: int,
) -> dict[str, tuple[Candidates, tuple[Range, Range]]]:
    """Returns the shifted images of "val" and "test", and the ranges of the levels, those of "train".

    Args:
        claim: Folder of the build.
        splits: Splits of the source.
        ruler: Ruler that measures the degrees.
        bases: ID images and OOD sets of "train", "val" and "test".
        size: Number of images of a set.
    """
    settings, cache = claim.settings, cache_of(claim.root)
    seeds = {"train": settings.seed, "val": settings.seed, "test": claim.test_seed}
    embedded = is_embedded(settings.source, splits.classes)
    found = {
        part: Candidates.of(part, *base, size, seeds[part], ruler, cache, embedded)
        for part, base in bases.items()
    }
    ranges = found["train"].ranges
    return {part: (found[part], ranges) for part in ("val", "test")}


def plan_grid(
    claim: Claim, splits: Splits, ruler: Ruler, seeds: Mapping[str, int]
) -> dict[str, list[Planned]]:
    """Returns the validation and test sets of the accuracy track: cells of labelled images.

    Args:
        claim: Folder of the build.
        splits: Splits of the source.
        ruler: Ruler that measures the degrees.
        seeds: Seeds of "val" and "test".

    Raises:
        UnusableInput: see `Candidates.cells`.
    """
    settings = claim.settings
    none: Mapping[str, ImageSet] = {}
    bases = {part: (getattr(splits, name), none) for part, name in _PARTS.items()}
    cells = cells_of(claim, splits, ruler, bases, settings.set_size)
    counts = {"val": settings.val_sets, "test": settings.test_sets}
    return {
        part: plan_cells(*cells[part], counts[part], settings.set_size, seed) for part, seed in seeds.items()
    }


def plan_cells(
    found: Candidates, ranges: tuple[Range, Range], count: int, size: int, seed: int
) -> list[Planned]:
    """Returns `count` labelled sets of `size` images, each of one cell, in random order under neutral names.

    Cells take turns in random order, all equally often. A set's group is its covariate level, as "c3", and
    its family is its cell, as "s1c3".

    Args:
        found: Labelled images of the part.
        ranges: Ranges of the levels.
        count: Number of sets.
        size: Number of images of each set.
        seed: Seed of the draw.

    Raises:
        UnusableInput: see `Candidates.cells`.
    """
    rng = CELLS(seed, found.part)
    cells = found.cells(ranges, size)
    order = [cell for _ in range(-(-count // len(cells))) for cell in rng.permutation(sorted(cells)).tolist()]
    drawn = [rng.choice(cells[row, column], size, replace=False) for row, column in order[:count]]
    used = np.unique(np.concatenate(drawn)) if drawn else np.zeros(0, np.int64)
    pool = found.take(used, "cells") if drawn else None
    planned = []
    for number, ((row, column), rows) in enumerate(zip(order, drawn, strict=False), start=1):
        assert pool is not None
        recipe = Recipe(f"{found.part}_{number:04d}", int(rng.integers(2**63)), (("sample", {"n": size}),))
        name = cell_name(column, row)
        images = pool.take(np.searchsorted(used, np.sort(rows)), name)
        planned.append(Planned(OfCell(name, images), recipe, f"c{row + 1}", name))
    return planned


def cell_pools(found: Candidates, ranges: tuple[Range, Range], size: int, seed: int) -> dict[str, ImageSet]:
    """Returns the unlabelled images of each cell by its name: 2 * `size` of them, or all if they are fewer.

    Args:
        found: Images of the part.
        ranges: Ranges of the levels.
        size: Number of images of a mix; cells with fewer are omitted.
        seed: Seed of the draw.

    Raises:
        UnusableInput: see `Candidates.cells`.
    """
    rng = CELLS(seed, found.part)
    cells = found.cells(ranges, size)
    drawn = {
        cell_name(column, row): np.sort(rng.permutation(rows)[: 2 * size])
        for (row, column), rows in sorted(cells.items())
    }
    used = np.unique(np.concatenate(list(drawn.values())))
    pool = replace(found.take(used, "cells"), labels=None)
    return {name: pool.take(np.searchsorted(used, rows), name) for name, rows in drawn.items()}


def apart(
    found: Candidates, ranges: tuple[Range, Range], size: int, least: int, seed: int
) -> dict[str, ImageSet]:
    """Returns pools like `cell_pools`, with each image under one shift only, in the smallest cell so far.

    Args:
        found: Images of the part.
        ranges: Ranges of the levels.
        size: Number of images of a mix.
        least: Smallest number of images of a cell; cells with fewer are omitted.
        seed: Seed of the draw.

    Raises:
        UnusableInput: see `Candidates.cells`; or fewer than LEAST_CELLS cells remain.
    """
    rng = CELLS(seed, found.part)
    cells = {cell_name(column, row): rows for (row, column), rows in found.cells(ranges, size).items()}
    origins = found.origins()
    held: dict[int, list[tuple[str, int]]] = {}
    for name, rows in sorted(cells.items()):
        for row in rng.permutation(rows).tolist():
            held.setdefault(int(origins[row]), []).append((name, row))
    chosen: dict[str, list[int]] = {name: [] for name in sorted(cells)}
    for origin in rng.permutation(sorted(held)).tolist():
        name, row = min(held[origin], key=lambda each: len(chosen[each[0]]))
        chosen[name].append(row)
    chosen = {name: sorted(rows) for name, rows in chosen.items() if len(rows) >= least}
    if len(chosen) < LEAST_CELLS:
        raise UnusableInput(
            f"--grid: {len(chosen)} cells of the test hold the {least} images that a mix may need, no image "
            f"in two, {LEAST_CELLS} are needed: ask for a smaller --set-size"
        )
    used = np.unique(np.concatenate(list(chosen.values())))
    pool = replace(found.take(used, "cells"), labels=None)
    return {name: pool.take(np.searchsorted(used, rows), name) for name, rows in chosen.items()}
