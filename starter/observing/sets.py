"""The images of a competition's public folder."""

from dataclasses import dataclass, replace
from functools import cached_property

from starter.data.images.arrays import read_npz
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromFile, FromRecipe, Rendering
from submission import Competition

REFERENCES = (("source", "reference"), ("source", "train_ref"))
"""Reference and training images, used by every method, as (part, name) for `PublicSets.find`."""
RECIPES_FILE = "train/recipes.jsonl"


@dataclass(frozen=True)
class PublicSets:
    """The images of a competition's public folder; every file is checked against its hash before use."""

    competition: Competition

    @property
    def fit(self) -> Fit:
        """Size of the images, and how the build resized those at paths."""
        return Fit(self.competition.image_size, self.competition.settings["resize"])

    @cached_property
    def base(self) -> ImageSet:
        """The labelled images from which meta-train sets are rendered."""
        return self._read("base.npz")

    @cached_property
    def reference(self) -> ImageSet:
        """The labelled in-distribution images, on which no classifier was trained."""
        return self._read("reference.npz")

    @cached_property
    def train_ref(self) -> ImageSet:
        """Unlabelled training images."""
        return self._read("train_ref.npz")

    @cached_property
    def train(self) -> tuple[FromRecipe, ...]:
        """The meta-train sets."""
        lines = self.competition.text(RECIPES_FILE).splitlines()
        return tuple(FromRecipe(Recipe.from_json(line), self.base) for line in lines)

    def stored(self, part: str) -> tuple[Rendering, ...]:
        """Returns the sets of "val" or "test"."""
        return tuple(self.find(part, name) for name in self.competition.sets(part))

    def observed(self, part: str) -> list[tuple[str, str]]:
        """Returns the (part, name) of everything to observe for the sets of `part`."""
        return [(part, name) for name in self.competition.sets(part)]

    def find(self, part: str, name: str) -> Rendering:
        """Returns a set, without reading others; the part "source" has "reference" and "train_ref"."""
        if part == "source":
            return FromRecipe.whole(replace(getattr(self, name), labels=None))
        if part == "train":
            return next(rendering for rendering in self.train if rendering.name == name)
        file, competition = f"{part}/{name}.npz", self.competition
        size = competition.sizes[part][name]
        return FromFile(name, competition.file(file), competition.files[file], size)

    def _read(self, file: str) -> ImageSet:
        return read_npz(self.competition.file(file))
