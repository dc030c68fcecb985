"""What a track plans: the sets of a competition, before anything of them is written or observed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from starter.images.imageset import ImageSet
from starter.sets.mix import FromPools, Mix
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe
from submission.arrays import FloatArray

Key = tuple[str, str, str]
"""Name, group and family of a set."""
Labels = dict[str, dict[str, NDArray[np.int64]]]
"""Class indices of each set's images, int64 (n,), by part and name; in a mix 1 for OOD images, 0 for IND."""
Values = dict[str, dict[str, float]]
"""A number for each id, by part."""
Look = Callable[[ImageSet], tuple[FloatArray, FloatArray]]
"""A network's features (n, d) of images, and its confidence in each (n,)."""


@dataclass(frozen=True)
class PlannedSet:
    """A validation or test set before it is rendered.

    Attributes:
        recipe: How its images are made.
        group: Kind of its shift.
        family: Name of a group of sets that folds, bootstrap draws and the public/private split never divide
            (docs/decisions/0010-families.md).
        base: Origin of its images; "" for a mix, which names its OOD set.
    """

    recipe: Recipe | Mix
    group: str
    family: str
    base: str = ""

    @property
    def key(self) -> Key:
        """Name, group and family."""
        return self.recipe.name, self.group, self.family

    def record(self) -> dict[str, str]:
        """Returns plain JSON values, for ``private/build.json``."""
        base = {"base": self.base} if self.base else {}
        return {**base, "recipe": self.recipe.to_json(), "group": self.group, "family": self.family}


@dataclass(frozen=True)
class Plan:
    """The sets of a competition.

    Attributes:
        train: Meta-train sets.
        sets: Validation and test sets, by part, "val" and "test".
        bases: Images of which the sets of each part are made, in the OOD track the IND ones, by part.
        render: Function of part and planned set that returns the labelled images.
        inputs: Hashes of the files that were read, by option.
        files: Public files besides validation and test sets: text or images by path below ``public/``.
    """

    train: Sequence[FromRecipe | FromPools]
    sets: Mapping[str, Sequence[PlannedSet]]
    bases: Mapping[str, ImageSet]
    render: Callable[[str, PlannedSet], ImageSet]
    inputs: Mapping[str, str]
    files: Mapping[str, str | ImageSet]

    def keys(self, part: str) -> list[Key]:
        """Returns the keys of the sets of "val" or "test"."""
        return [planned.key for planned in self.sets[part]]


@dataclass(frozen=True)
class Truth:
    """The measured targets.

    Attributes:
        targets: Targets by part and id, fractions.
        deviations: Standard deviations of the targets of "val" and "test" over draws of images, by part and
            id; {} if they follow from the number of images.
    """

    targets: Values
    deviations: Values = field(default_factory=dict)
