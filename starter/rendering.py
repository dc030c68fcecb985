"""Renderings: unlabelled sets as they will be observed, made by a recipe or read from a file when needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from starter.cache import cache_key
from starter.imageset import ImageSet
from starter.npz import read_npz
from starter.recipes import Recipe


class Rendering(Protocol):
    """A set that can be rendered again and again, with a digest that is known before its pixels are."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str:
        """Identifies the pixels and their order."""

    def __len__(self) -> int: ...

    def chunks(self) -> Iterator[torch.Tensor]:
        """The images in order, uint8 (at most 500, 3, h, w)."""

    def images(self) -> NDArray[np.uint8]:
        """All images in order, uint8 (n, h, w, 3)."""


@dataclass(frozen=True)
class FromRecipe:
    """A recipe and the base that it is made from."""

    recipe: Recipe
    base: ImageSet

    @classmethod
    def whole(cls, images: ImageSet) -> "FromRecipe":
        """A set that is there already, as it is."""
        return cls(Recipe(images.name, 0, ()), images)

    @property
    def name(self) -> str:
        return self.recipe.name

    @property
    def digest(self) -> str:
        return cache_key(self.recipe.digest, self.base.digest)

    def __len__(self) -> int:
        return self.recipe.size(self.base)

    def chunks(self) -> Iterator[torch.Tensor]:
        return self.recipe.chunks(self.base)

    def images(self) -> NDArray[np.uint8]:
        return self.recipe.render(self.base).images


@dataclass(frozen=True)
class FromFile:
    """A set in an ``.npz`` file whose SHA-256 is known; the file is read only when its pixels are needed."""

    name: str
    path: Path
    sha256: str
    size: int

    @property
    def digest(self) -> str:
        return cache_key(self.sha256)

    def __len__(self) -> int:
        return self.size

    def chunks(self) -> Iterator[torch.Tensor]:
        return FromRecipe.whole(self._read()).chunks()

    def images(self) -> NDArray[np.uint8]:
        return self._read().images

    def _read(self) -> ImageSet:
        return read_npz(self.path, self.name)
