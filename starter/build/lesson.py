"""The lesson of a referee's probes: training images, unchanged and under the meta-train sets' operations.

Probes are fitted on training images, not on images of the meta-train sets. So no set shows an image on which
a probe was fitted, and cross-validation has to leave out operations only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from starter.build.folder import TRAIN_REF, train_ref_order
from starter.images.imageset import ImageSet
from starter.observing.referee import NO_OPERATIONS, WHOLE, Unseen, operation_blocks, touched
from starter.sets.recipe import Recipe
from starter.sources.splits import Splits
from submission.random import REFEREE

CLEAN = 4000
"""Number of unchanged training images of a lesson."""
DISTORTED, MOST_DISTORTED = 100, 20_000
"""Numbers of images under the operations of one meta-train set, and of all together."""
FEWEST = 2000
"""Fewest training images outside `train_ref` for a lesson without images of `train_ref`."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """The labelled training images on which probes are fitted.

    Attributes:
        images: Pixels, uint8 (n, h, w, 3).
        labels: Class indices, int64 (n,).
        rows: Row of each image in `train_ref`, int64 (n,), -1 for others.
        families: Names of the operations on each image.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    families: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, splits: Splits, recipes: Sequence[Recipe], seed: int) -> "Lesson":
        """Returns training images, unchanged and under the operations of each recipe.

        They are images outside `train_ref` if there are enough.
        """
        assert splits.train.labels is not None
        order = train_ref_order(splits, seed)
        pool = order[TRAIN_REF:] if len(order) >= TRAIN_REF + FEWEST else order
        place = np.full(len(order), -1)
        place[order[:TRAIN_REF]] = np.arange(len(order[:TRAIN_REF]))
        each = min(_distorted(len(recipes)), len(pool))
        chosen, shown, families = [pool[:CLEAN]], [splits.train.images[pool[:CLEAN]]], [frozenset[str]()]
        for recipe in recipes:
            drawn = REFEREE(seed, recipe.name).choice(pool, each, replace=False)
            plain = Recipe(recipe.name, recipe.seed, recipe.pixel_ops)
            chosen.append(drawn)
            shown.append(plain.render(ImageSet(recipe.name, splits.train.images[drawn])).images)
            families.append(recipe.families - NO_OPERATIONS)
        told = tuple(family for family, rows in zip(families, chosen, strict=True) for _ in rows)
        rows = np.concatenate(chosen)
        return cls(np.concatenate(shown), splits.train.labels[rows], place[rows], told)

    @cached_property
    def blocks(self) -> tuple[frozenset[str], ...]:
        """The lesson's operations, in blocks that are left out together."""
        return operation_blocks(set(self.families))

    def left_out(self, recipes: Iterable[Recipe]) -> tuple[Unseen, ...]:
        """Returns the left-out images and operations of each probe; the first probe has none."""
        sets = {touched(recipe.families, self.blocks) for recipe in recipes}
        sets |= {frozenset(range(len(self.blocks)))}
        found = [(-1, blocks) for blocks in sorted(sets - {frozenset()}, key=sorted)]
        halves = [(half, frozenset[int]()) for half in (0, 1)] if (self.rows >= 0).any() else []
        return (WHOLE, *found, *halves)

    def seen(self, unseen: Unseen) -> NDArray[np.bool_]:
        """Returns True for the images of the lesson for a probe with these left out, bool (n,)."""
        half, blocks = unseen
        foreign = np.array([bool(touched(family, self.blocks) & blocks) for family in self.families])
        return ~foreign & ((self.rows < 0) | (self.rows % 2 != half))


def learnt_images(sets: int) -> int:
    """Returns the largest number of images of a lesson for the given number of meta-train sets."""
    return CLEAN + sets * _distorted(sets)


def _distorted(sets: int) -> int:
    return min(DISTORTED, max(1, MOST_DISTORTED // sets))
