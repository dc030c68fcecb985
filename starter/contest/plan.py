"""What a track plans: the sets of a competition before they are written, and which are scored publicly."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from starter.data.images.imageset import ImageSet
from starter.data.sets.mix import FromPools, Mix
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromRecipe
from submission.arrays import FloatArray, IntArray
from submission.random import PUBLIC

PUBLIC_SHARE = 0.3
"""Fraction of the test sets that are scored publicly while the competition runs."""
SPLIT_DRAWS = 100
"""Number of random splits from which one with the required public size is taken."""

Key = tuple[str, str, str]
"""Name, group and family of a set."""
Labels = dict[str, dict[str, IntArray]]
"""Class indices of each set's images, int64 (n,), by part and name; in a mix 1 for OOD images, 0 for IND."""
Values = dict[str, dict[str, float]]
"""A number for each id, by part."""
Look = Callable[[ImageSet], tuple[FloatArray, FloatArray]]
"""A network's features (n, d) of images, and its confidence in each (n,)."""
Origin = Mapping[str, Any]
"""Where a set's images come from, plain JSON values: the `kind`, and what it has besides.

"base" is all images of the set's part; "turn" its share of them in rounds of `turns` sets, by its `turn` and
a `seed`, such that no image recurs before all have been drawn; "natural" digits of a `family` that nobody
distorted; "path" the images at a `path`.
"""


@dataclass(frozen=True)
class PlannedSet:
    """A validation or test set before it is rendered; folds and splits never divide a `family`."""

    recipe: Recipe | Mix
    group: str
    family: str
    base: Origin | None = None

    def record(self) -> dict[str, object]:
        """Returns plain JSON values, for ``private/build.json``."""
        origin = {} if self.base is None else {"base": dict(self.base)}
        return {**origin, "recipe": self.recipe.to_json(), "group": self.group, "family": self.family}


@dataclass(frozen=True)
class Plan:
    """The sets of a competition: how they are made, of which (in the OOD track IND) images; other files."""

    train: Sequence[FromRecipe | FromPools]
    sets: Mapping[str, Sequence[PlannedSet]]
    bases: Mapping[str, ImageSet]
    render: Callable[[str, PlannedSet], ImageSet]
    inputs: Mapping[str, str]
    files: Mapping[str, str | ImageSet]

    def keys(self, part: str) -> list[Key]:
        """Returns the keys of the sets of "val" or "test"."""
        return [(each.recipe.name, each.group, each.family) for each in self.sets[part]]


def public_sets(planned: Sequence[Key], seed: int) -> set[str]:
    """Returns the names of the public test sets, drawn by a private seed: `PUBLIC_SHARE` of each group.

    A family is public or private as a whole, and every group keeps a private one. If no set would be public,
    the smallest family is; if there is only one family, its first set is.
    """
    rng = PUBLIC(seed)
    families: dict[tuple[str, str], list[str]] = {}
    for name, group, family in planned:
        families.setdefault((group, family), []).append(name)
    wanted = round(PUBLIC_SHARE * len(planned))
    draws = (_draw_public(families, rng) for _ in range(SPLIT_DRAWS))
    public = min(draws, key=lambda drawn: abs(len(drawn) - wanted))
    if not public:
        smallest = min(families.values(), key=len)
        public = smallest if len(families) > 1 else smallest[:1]
    return set(public)


def _draw_public(families: Mapping[tuple[str, str], Sequence[str]], rng: np.random.Generator) -> list[str]:
    """Returns families in random order, each if it still fits, groups without small families first."""
    groups: dict[str, list[Sequence[str]]] = {}
    for (group, _), sets in sorted(families.items()):
        groups.setdefault(group, []).append(sets)
    public: list[str] = []
    seen = 0
    for found in sorted(groups.values(), key=lambda found: -min(map(len, found))):
        seen += sum(map(len, found))
        for i in rng.permutation(len(found))[:-1]:
            if len(public) + len(found[i]) <= round(PUBLIC_SHARE * seen):
                public += found[i]
    return public
