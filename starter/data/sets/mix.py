"""Mix: a set of in-distribution (IND) and OOD images, specified in one line of JSON.

A mix consists of rows of two pools, so thousands of mixes need only one observation of each pool.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from starter.data.images.imageset import ImageSet
from starter.data.sets.rendering import FromRecipe, Images
from submission.arrays import BoolArray, IntArray
from submission.errors import UnusableInput
from submission.files import digest_of
from submission.random import MIX_IND, MIX_OOD, MIX_ORDER

LEAST = 20
"""Smallest number of IND images, and of OOD images, of a mix."""
POOL, MIX = "pool", "mix"
"""Sources of FPR's threshold: the IND images of the whole pool, or of the mix (as in the Gscore paper)."""


@dataclass(frozen=True)
class Mix:
    """Specification of a mix: seed of the draw and of the order, numbers of IND and OOD images."""

    name: str
    seed: int
    ood_set: str
    ind: int
    ood: int

    @classmethod
    def from_json(cls, line: str) -> "Mix":
        """Returns the mix in a line of JSON, as `to_json` writes it, or raises UnusableInput."""
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise UnusableInput(f"not a mix, which is one line of JSON ({error}): {line[:100]!r}") from error

    def to_json(self) -> str:
        """Returns the mix as one line of JSON, keys sorted."""
        return json.dumps(asdict(self), sort_keys=True)

    def __len__(self) -> int:
        return self.ind + self.ood

    def rows(self, ind_pool: int, ood_pool: int) -> tuple[IntArray, BoolArray]:
        """Returns images' rows in their pools, int64 (n,), none twice, and True for OOD ones, bool (n,)."""
        drawn = []
        pools = {"IND": (MIX_IND, self.ind, ind_pool), "OOD": (MIX_OOD, self.ood, ood_pool)}
        for kind, (stream, wanted, pool) in pools.items():
            if wanted > pool:
                raise UnusableInput(
                    f"mix {self.name!r} draws {wanted} {kind} images without replacement, there are {pool}"
                )
            drawn.append(stream(self.seed).permutation(pool)[:wanted])
        order = MIX_ORDER(self.seed).permutation(len(self))
        is_ood = np.arange(len(self)) >= self.ind
        return np.concatenate(drawn)[order], is_ood[order]


@dataclass(frozen=True)
class FromPools:
    """A rendering of a mix from its two pools."""

    mix: Mix
    ind: ImageSet
    ood: ImageSet

    @property
    def name(self) -> str:
        """The set's name."""
        return self.mix.name

    @property
    def digest(self) -> str:
        """A hash of the pixels and their order."""
        drawn = self.mix.seed, self.mix.ind, self.mix.ood
        return digest_of("mix", *drawn, self.ind.digest, self.ood.digest)

    def __len__(self) -> int:
        return len(self.mix)

    @property
    def made_of(self) -> str:
        """Its images, for people."""
        return f"{self.mix.ind} IND, {self.mix.ood} {self.mix.ood_set}"

    @property
    def rows(self) -> tuple[IntArray, BoolArray]:
        """Each image's row in its pool, int64 (n,), and True for OOD images, bool (n,)."""
        return self.mix.rows(len(self.ind), len(self.ood))

    def labels(self) -> IntArray:
        """Returns 1 for each OOD image and 0 for each IND image, int64 (n,)."""
        return self.rows[1].astype(np.int64)

    def labelled(self) -> ImageSet:
        """Returns the images with these labels."""
        return ImageSet(self.name, self.render(), self.labels())

    def chunks(self) -> Iterator[torch.Tensor]:
        """Returns the images in order, uint8 (at most 500, 3, h, w) a chunk."""
        return FromRecipe.whole(ImageSet(self.name, self.render())).chunks()

    @property
    def render(self) -> Images:
        """A function that gives all images, without a way to their labels."""
        ind, ood, rows = self.ind.images, self.ood.images, self.rows
        return lambda: picked(ind, ood, *rows)


def picked(ind: NDArray[Any], ood: NDArray[Any], rows: IntArray, is_ood: BoolArray) -> NDArray[Any]:
    """Returns an array with row `rows[i]` of `ood` if `is_ood[i]`, else of `ind`, for each i."""
    chosen = ind[np.where(is_ood, 0, rows)]
    chosen[is_ood] = ood[rows[is_ood]]
    return chosen


def family(ood_set: str) -> str:
    """Returns the family of an OOD set, its source: the name up to the first underscore."""
    return ood_set.split("_")[0]
