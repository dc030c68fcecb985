"""The pools of images from which the mixes of each part are drawn: IND images, OOD sets, cells of a grid."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from starter.build.cells import apart, cell_pools, cells_of
from starter.build.folder import Claim
from starter.build.mixes import draw_apart, draw_mixes, part_sets
from starter.build.room import Images, Room, count_ood, kept_most, read_most
from starter.build.settings import OodPlan, Settings
from starter.images.imageset import ImageSet
from starter.meaning.oodsets import load_class_sets
from starter.sets.mix import FromPools, Mix
from starter.shift.ruler import Ruler
from starter.sources.oodsets import gbench, load_ind_images, load_ood_sets, missing, without_shared
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.random import GRID_HALVES, MIXES, OOD_IMAGES

SHIFTED = 0.25
"""Fraction of the test's IND images from which a grid's cells are made."""


@dataclass(frozen=True)
class Pools:
    """The pools of images from which the mixes of one part are drawn.

    Attributes:
        part: Name of the part, "train", "val" or "test".
        ind: IND images without labels.
        ood: Every OOD set, by name.
        names: Names of this part's OOD sets.
    """

    part: str
    ind: ImageSet
    ood: Mapping[str, ImageSet]
    names: Sequence[str]

    def draw(self, settings: Settings, room: Room, test_seed: int) -> list[FromPools]:
        """Returns the part's mixes in random order, so their numbers reveal nothing.

        The mixes of a test share no image: each draws from separate images.
        """
        seed = test_seed if self.part == "test" else settings.seed
        rng = MIXES(seed, self.part)
        pools = {name: len(self.ood[name]) for name in self.names}
        if self.part == "test":
            mixes = draw_apart(room.count, room.sizes, len(self.ind), pools, rng, self.part)
        else:
            count = {"train": settings.train_sets, "val": settings.val_sets}[self.part]
            mixes = draw_mixes(count, room.sizes, pools, rng, self.part)
        order = rng.permutation(len(mixes))
        mixes = [replace(mixes[old], name=mix.name) for mix, old in zip(mixes, order, strict=True)]
        if self.part == "test":
            return self._apart(mixes, rng)
        return [FromPools(mix, self.ind, self.ood[mix.ood_set]) for mix in mixes]

    def _apart(self, mixes: Sequence[Mix], rng: np.random.Generator) -> list[FromPools]:
        """Returns the mixes, each with a separate part of the pools, of the size that it draws."""
        ind = rng.permutation(len(self.ind))
        ood = {name: rng.permutation(len(self.ood[name])) for name in self.names}
        found = []
        for mix in mixes:
            rows, ind = ind[: mix.ind], ind[mix.ind :]
            others, ood[mix.ood_set] = ood[mix.ood_set][: mix.ood], ood[mix.ood_set][mix.ood :]
            found.append(FromPools(mix, self.ind.take(rows), self.ood[mix.ood_set].take(others)))
        return found


def images_of(pools: Mapping[str, Pools]) -> Images:
    """Returns the numbers of images in the parts' pools."""
    ood = {part: {name: len(pool.ood[name]) for name in pool.names} for part, pool in pools.items()}
    return Images({part: len(pool.ind) for part, pool in pools.items()}, ood)


def ind_bases(settings: Settings, plan: OodPlan, splits: Splits) -> dict[str, ImageSet]:
    """Returns the IND images of each part, without labels."""
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    if plan.test_ind:
        bases["test"] = load_ind_images(plan.test_ind, settings.fit(splits.image_size))
        public = [splits.train, splits.reference, splits.meta_base, splits.val_base]
        if shared := bases["test"].shared(public):
            raise UnusableInput(
                f"--test-ind {plan.test_ind}: {max(shared.values())} of its {len(bases['test'])} images "
                "are public, in --source: take them out"
            )
    bases["test"] = _once(bases["test"], (splits.train, splits.reference, splits.meta_base, splits.val_base))
    return {part: replace(base, name="ind", labels=None) for part, base in bases.items()}


def _once(images: ImageSet, public: Sequence[ImageSet]) -> ImageSet:
    """Returns the images without public ones and without duplicates."""
    found = without_shared({"IND images of the test": images}, public)
    if not found:
        raise UnusableInput("every IND image of the test is public, in --source: give others")
    return found["IND images of the test"]


def ood_sets(
    settings: Settings, plan: OodPlan, splits: Splits, test_ind: ImageSet
) -> tuple[dict[str, ImageSet], dict[str, list[str]]]:
    """Returns the OOD sets by name, and the names of each part's sets.

    Sets excluded by the settings are omitted, and so are images that are also IND or in another set.
    """
    counts = count_ood(settings, plan, splits.classes)
    most = read_most(settings, plan, len(counts["test"]))
    found = _read_ood_sets(settings, plan, splits, most)
    absent = missing(found)
    if 2 * (len(gbench()) - len(absent)) >= len(found) and absent:
        names = ", ".join(each.name for each in absent)
        print(f"--ood {plan.ood}: of Gbench {len(absent)} data sets are missing: {names}", file=sys.stderr)
    tested: dict[str, ImageSet] = {}
    for path in settings.test_from:
        tested = load_ood_sets(path, splits.classes, settings.fit(splits.image_size), (), most, settings.seed)
    every = splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base, test_ind
    kept = without_shared({**found, **tested}, every)
    shown = [name for name in kept if name not in tested]
    parts = part_sets(shown, settings.seed, [name for name in tested if name in kept])
    for name in (*parts["train"], *parts["val"]):
        kept[name] = _drawn(kept[name], kept_most(settings, plan), settings.seed)
    return kept, parts


def _drawn(images: ImageSet, most: int, seed: int) -> ImageSet:
    """Returns `most` of the images, drawn at random, in their order; all if they are fewer."""
    if len(images) <= most:
        return images
    return images.take(np.sort(OOD_IMAGES(seed, images.name).permutation(len(images))[:most]))


def _read_ood_sets(settings: Settings, plan: OodPlan, splits: Splits, most: int) -> dict[str, ImageSet]:
    size, drawn = splits.image_size, (plan.exclude, most, settings.seed)
    if plan.classes:
        where, joined = (plan.classes, plan.images, size), plan.classes_per_set
        return load_class_sets(*where, plan.id_up_to, joined, *drawn)
    return load_ood_sets(plan.ood, splits.classes, settings.fit(size), *drawn)


def with_cells(
    plan: OodPlan, claim: Claim, splits: Splits, ruler: Ruler, pools: Mapping[str, Pools]
) -> dict[str, Pools]:
    """Returns validation and test pools with cells of shifted images instead of their OOD sets.

    In the test, a quarter of the IND images is shifted, and no image is in two cells under different shifts.
    """
    settings, seeds = claim.settings, {"val": claim.settings.seed, "test": claim.test_seed}
    size, most = plan.largest(settings.set_size), plan.mix_sizes(settings.set_size).most[1]
    whole = pools["test"].ind
    rows = np.split(GRID_HALVES(claim.test_seed).permutation(len(whole)), [round(SHIFTED * len(whole))])
    shifted, kept = (whole.take(np.sort(each)) for each in rows)
    bases = {part: (pool.ind, {name: pool.ood[name] for name in pool.names}) for part, pool in pools.items()}
    bases["test"] = shifted, bases["test"][1]
    cells = cells_of(claim, splits, ruler, bases, size)
    val = cell_pools(*cells["val"], size, seeds["val"])
    test = apart(*cells["test"], size, most, seeds["test"])
    return {
        "val": Pools("val", pools["val"].ind, val, tuple(val)),
        "test": Pools("test", kept, test, tuple(test)),
    }
