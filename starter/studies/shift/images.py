"""The images of a shift grid: ID images and OOD sets, unchanged and under operations at several strengths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from starter.contest.ood.observe import MixSets
from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS
from starter.data.operations.operation import Params
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromRecipe, Images
from starter.data.sources.glyphs.digits import CLASSES, NATURAL, natural_set
from starter.data.sources.oodsets import load_ood_sets, without_shared
from submission import UnusableInput
from submission.files import digest_of
from submission.random import GRID_HALVES, GRID_IMAGES

STRENGTHS = (0.25, 0.5, 0.75, 1.0)
IND = "ind"
"""Name of the set of ID images, which is in a grid under operations only, never unchanged."""
IND_SHARE = 0.25
"""Share of a grid's images that are of the ID classes, if there are OOD sets too."""
_PART = 32  # smallest number of images of an operation at a strength
_NATURAL = 40  # number of a grid's images for each image of a natural family
_SHARD = 4000  # approximate number of images of a rendering


@dataclass(frozen=True)
class Shifts:
    """The choice of a grid's shifted images, about `images` of them; OOD sets "" are the embedded ones."""

    ood: str = ""
    exclude: Sequence[str] = ()
    only_ood: bool = False
    group: str = "corruptions"
    images: int = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise UnusableInput(f"--group {self.group!r} is unknown; there are {', '.join(GROUPS)}")


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


def shifted(
    known: Mapping[str, ImageSet], others: Mapping[str, ImageSet], images: int, group: str, seed: int
) -> list[Joined]:
    """Returns about `images` shifted images: every set unchanged, and under operations at each of STRENGTHS.

    A quarter are images of `known`, if there are `others` too; within either, all sets have equally many, as
    far as they have enough. The same arguments give the same images.
    """
    share = IND_SHARE if known and others else float(bool(known))
    budgets = {name: images * share / len(known) for name in known}
    budgets |= {name: images * (1 - share) / len(others) for name in others}
    if min(budgets.values()) < len(STRENGTHS):
        raise UnusableInput(f"{images:,} shifted images of {len(budgets)} sets are too few: raise --images")
    found = []
    for name, images_of in {**known, **others}.items():
        parts = _parts(images_of, name, budgets[name], group, seed)
        size = max(1, _SHARD // len(parts[0]))
        shards = enumerate(range(0, len(parts), size), start=1)
        found += [Joined(f"{name}_{number}", tuple(parts[at : at + size])) for number, at in shards]
    return found


def _parts(base: ImageSet, name: str, budget: float, group: str, seed: int) -> list[FromRecipe]:
    """Returns the set unchanged (except IND), then under each operation at each strength."""
    rng = GRID_IMAGES(seed, name)
    operations = rng.permutation(GROUPS[group]).tolist()
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
        FromRecipe(
            Recipe(f"{name}_{number}", int(rng.integers(2**53)), (("sample", {"n": n}), *step)),
            base,
        )
        for number, step in enumerate(steps)
    ]


def grid_images(sets: MixSets, shifts: Shifts) -> tuple[ImageSet, list[Joined]]:
    """Returns the IND images, and the renderings of all shifted images."""
    base = replace(sets.base, labels=None)
    order = GRID_HALVES(shifts.seed).permutation(len(base))
    ind, rest = (np.sort(half) for half in np.array_split(order, 2))
    others = _ood_sets(sets, base, shifts)
    known = {} if shifts.only_ood else {IND: base.take(rest, IND), **_natural(sets, shifts)}
    renderings = shifted(known, others, shifts.images, shifts.group, shifts.seed)
    return base.take(ind, IND), renderings


def _ood_sets(sets: MixSets, base: ImageSet, shifts: Shifts) -> Mapping[str, ImageSet]:
    """Returns the OOD sets by name, without images that the competition has."""
    classes, limit = sets.competition.classes, max(1, shifts.images // 10)
    others = load_ood_sets(shifts.ood, classes, sets.fit, shifts.exclude, limit, shifts.seed)
    others = without_shared(others, (base, sets.reference, sets.train_ref))
    if shifts.only_ood and not others:
        raise UnusableInput("--only-ood: no OOD set is left to shift: exclude fewer, or name others by --ood")
    return others


def _natural(sets: MixSets, shifts: Shifts) -> dict[str, ImageSet]:
    """Returns the natural families by name, if the competition's images are the embedded digits."""
    if sets.competition.source != "glyphs" or tuple(sets.competition.classes) != CLASSES:
        return {}
    count = 1 + shifts.images // _NATURAL
    digits = {name: natural_set(name, count, shifts.seed, name, "meta_base") for name in NATURAL}
    return {name: replace(images, labels=None) for name, images in digits.items()}
