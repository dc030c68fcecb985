"""Images for a shift grid: ID images and OOD sets under operations of growing strength."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS
from starter.operations.operation import Params
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe, Images
from starter.sources.glyphs.digits import CLASSES, NATURAL, natural_set
from submission.errors import UnusableInput
from submission.files import digest_of
from submission.random import GRID_IMAGES

STRENGTHS = (0.25, 0.5, 0.75, 1.0)
IND = "ind"
"""Name of the set of ID images, which is in a grid under operations only, never unchanged."""
IND_SHARE = 0.25
"""Share of a grid's images that are of the ID classes, if there are OOD sets too."""
_PART = 32  # smallest number of images of an operation at a strength
_NATURAL = 40  # number of a grid's images for each image of a natural family
_SHARD = 4000  # approximate number of images of a rendering


@dataclass(frozen=True)
class Joined:
    """Sets one after the other as one rendering.

    Attributes:
        name: Name of the whole.
        parts: The sets.
    """

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

    def labels(self) -> NDArray[np.int64]:
        """Returns the images' classes (n,)."""
        return np.concatenate([part.labels() for part in self.parts])

    @property
    def render(self) -> Images:
        """The function that gives all images, without access to their labels."""
        made = tuple(part.render for part in self.parts)
        return lambda: np.concatenate([make() for make in made])


def shifted(
    known: Mapping[str, ImageSet], others: Mapping[str, ImageSet], images: int, group: str, seed: int
) -> list[Joined]:
    """Returns about `images` shifted images: every set unchanged, and under operations at each of STRENGTHS.

    A quarter are images of `known`, if there are `others` too; within either, all sets have equally many, as
    far as they have enough. The same arguments give the same images.

    Args:
        known: Sets of the ID classes by name; the set named IND is used under operations only.
        others: OOD sets by name.
        images: Total number of images, approximately.
        group: Group of operations, a key of GROUPS.
        seed: Seed of all draws.

    Raises:
        UnusableInput: `images` is too small for the number of sets.
    """
    share = IND_SHARE if known and others else float(bool(known))
    budgets = {name: images * share / len(known) for name in known}
    budgets |= {name: images * (1 - share) / len(others) for name in others}
    if (least := min(budgets.values())) < len(STRENGTHS):
        needed = math.ceil(images * len(STRENGTHS) / least)
        raise UnusableInput(
            f"{images:,} shifted images of {len(budgets)} sets are too few: ask for {needed:,} or more, "
            "or leave sets out"
        )
    return [
        Joined(f"{name}_{number}", tuple(parts))
        for name, images_of in {**known, **others}.items()
        for number, parts in enumerate(_shards(_parts(images_of, name, budgets[name], group, seed)), start=1)
    ]


def embedded_shifts(part: str, images: int, seed: int, labelled: bool) -> dict[str, ImageSet]:
    """Returns digits of the embedded data's natural families, enough for a grid of `images` images.

    Args:
        part: Key of `starter.sources.glyphs.digits.PARTS`, whose handwriting is used.
        images: Number of images of the grid.
        seed: Seed of the images.
        labelled: True to keep their labels.
    """
    found = {name: natural_set(name, 1 + images // _NATURAL, seed, name, part) for name in NATURAL}
    return found if labelled else {name: replace(each, labels=None) for name, each in found.items()}


def is_embedded(source: str, classes: Sequence[str]) -> bool:
    """Returns True if a source of this name and these classes is the embedded one."""
    return source == "glyphs" and tuple(classes) == CLASSES


def _parts(base: ImageSet, name: str, budget: float, group: str, seed: int) -> list[FromRecipe]:
    """Returns the set unchanged (except IND), then under each operation at each strength."""
    rng = GRID_IMAGES(seed, name)
    operations = rng.permutation(GROUPS[group])
    count = int(np.clip(budget // (_PART * len(STRENGTHS)), 1, len(operations)))
    steps: list[tuple[tuple[str, Params], ...]] = [
        ((str(operation), OPERATIONS[str(operation)].draw_params(rng, strength)),)
        for operation in operations[:count]
        for strength in STRENGTHS
    ]
    if name != IND:
        steps.insert(0, ())
    n = min(max(1, int(budget / len(steps))), len(base))
    return [
        FromRecipe(
            Recipe(f"{name}_{number}", int(rng.integers(2**53)), (("sample", {"n": n}), *step)),
            base,
        )
        for number, step in enumerate(steps)
    ]


def _shards(parts: Sequence[FromRecipe]) -> list[list[FromRecipe]]:
    """Returns the parts in runs of about as many images as one rendering may hold in memory."""
    size = max(1, _SHARD // len(parts[0]))
    return [list(parts[start : start + size]) for start in range(0, len(parts), size)]
