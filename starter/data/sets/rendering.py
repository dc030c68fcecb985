"""Renderings: unlabelled sets for observation, made from a recipe or read from a file on demand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch

from starter.data.images.arrays import read_npz
from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import SELECTIONS, Recipe
from submission.arrays import IntArray, Pixels
from submission.files import digest_of

Images = Callable[[], Pixels]
"""Function that returns a set's images in order, uint8 (n, h, w, 3)."""


class Rendering(Protocol):
    """A set that can be rendered repeatedly, with a digest that is known before its pixels."""

    @property
    def name(self) -> str:
        """The set's name."""

    @property
    def digest(self) -> str:
        """Hash of the pixels and their order."""

    def __len__(self) -> int: ...

    def chunks(self) -> Iterator[torch.Tensor]:
        """Returns the images in order, uint8 (at most 500, 3, h, w)."""

    @property
    def render(self) -> Images:
        """Function that returns all images. Methods receive it, so it has no reference to labels."""


@dataclass(frozen=True)
class FromRecipe:
    """A rendering of a recipe from its base, `called` by any text; None for the recipe's name."""

    recipe: Recipe
    base: ImageSet
    called: str | None = None

    @classmethod
    def whole(cls, images: ImageSet) -> "FromRecipe":
        """Returns the rendering of an existing set, unchanged; a folder's name may be any text."""
        return cls(Recipe("whole", 0, ()), images, images.name)

    @property
    def name(self) -> str:
        """The set's name."""
        return self.recipe.name if self.called is None else self.called

    @property
    def digest(self) -> str:
        """A hash of the pixels and their order."""
        return digest_of(self.recipe.digest, self.base.digest)

    def __len__(self) -> int:
        return self.recipe.size(self.base)

    def labels(self) -> IntArray:
        """Returns the images' classes (n,), without rendering them."""
        return self.base.truth[self.recipe.indices(self.base)]

    def labelled(self) -> ImageSet:
        """Returns the images with their labels."""
        return self.recipe.render(self.base)

    def chunks(self) -> Iterator[torch.Tensor]:
        """Returns the images in order, uint8 (at most 500, 3, h, w) a chunk."""
        return self.recipe.chunks(self.base)

    @property
    def made_of(self) -> str:
        """Its operations, for people."""
        return ", ".join(operation for operation, _ in self.recipe.ops)

    @property
    def render(self) -> Images:
        """A function that gives all images, without a way to their labels."""
        pixels, chosen = ImageSet(self.name, self.base.images), self.recipe.indices(self.base)
        operations = tuple(op for op in self.recipe.ops if op[0] not in SELECTIONS)
        recipe = replace(self.recipe, ops=operations)
        return lambda: recipe.render(pixels.take(chosen)).images


@dataclass(frozen=True)
class FromFile:
    """A set in an ``.npz`` file of known SHA-256 and size, which is read only when pixels are needed."""

    name: str
    path: Path
    sha256: str
    size: int

    @property
    def digest(self) -> str:
        """A hash of the pixels and their order."""
        return digest_of(self.sha256)

    def __len__(self) -> int:
        return self.size

    def chunks(self) -> Iterator[torch.Tensor]:
        """Returns the images in order, uint8 (at most 500, 3, h, w) a chunk."""
        return FromRecipe.whole(self._read()).chunks()

    @property
    def render(self) -> Images:
        """A function that gives all images, without a way to their labels."""
        return lambda: self._read().images

    def _read(self) -> ImageSet:
        """Returns the set without labels, even if the file has some."""
        return replace(read_npz(self.path, self.name), labels=None)
