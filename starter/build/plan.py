"""The plan of the sets of a competition of the accuracy track, made before anything is rendered.

The module is long because every kind of base is next to the plan that chooses it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from starter.build.settings import AccuracyPlan, Settings
from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS, unseen_operations
from starter.operations.operation import Params
from starter.sets.recipe import Recipe, draw_recipes, read_recipes
from starter.sources.glyphs.digits import NATURAL, natural_set
from starter.sources.sources import load_images, set_names
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.random import BASE_IMAGES, SHARED, TEST_SETS, VAL_SETS

FEW_CLASSES = 7
"""A natural set with fewer classes than this counts as `natural-few`."""
LEAST_TRAIN = 2
"""Fewest meta-train sets of a competition."""
_TAKEN = re.compile(r"(val|test)_\d{4,}")


class Base(Protocol):
    """The origin of a set's images; its text is recorded in `private/build.json`."""

    def images_for(self, recipe: Recipe, split: ImageSet) -> ImageSet:
        """Returns the images that `recipe` draws from; `split` is the validation or test base."""


@dataclass(frozen=True)
class OfSplit:
    """The split's own images."""

    def __str__(self) -> str:
        return "base"

    def images_for(self, recipe: Recipe, split: ImageSet) -> ImageSet:
        """Returns the images that `recipe` draws from; see `Base`."""
        return split


@dataclass(frozen=True)
class InTurn:
    """A set's share of the split's images in rounds: no image recurs before all have been drawn.

    Images at the end of a round that are too few for a set are skipped.

    Attributes:
        turn: Number of the set, from 0.
        turns: Number of sets in a round.
        seed: Seed of the order of the images, which differs between rounds.
    """

    turn: int
    turns: int
    seed: int

    def __str__(self) -> str:
        return f"turn:{self.turn}:{self.turns}:{self.seed}"

    def images_for(self, recipe: Recipe, split: ImageSet) -> ImageSet:
        """Returns the images that `recipe` draws from; see `Base`."""
        n = recipe.size(split)
        order = BASE_IMAGES(self.seed, self.turn // self.turns).permutation(len(split))
        start = self.turn % self.turns * n
        return split.take(order[start : start + n])


@dataclass(frozen=True)
class OfFamily:
    """Digits of an embedded family of natural shift, drawn independently for each set."""

    family: str

    def __str__(self) -> str:
        return f"natural:{self.family}"

    def images_for(self, recipe: Recipe, split: ImageSet) -> ImageSet:
        """Returns the images that `recipe` draws from; see `Base`."""
        drawn = 2 * recipe.ops[0][1]["n"]
        return natural_set(self.family, drawn, recipe.seed, recipe.name, split.name)


@dataclass(frozen=True)
class AtPath:
    """A set at a path; it is read once."""

    path: str
    images: ImageSet

    def __str__(self) -> str:
        return f"path:{self.path}"

    def images_for(self, recipe: Recipe, split: ImageSet) -> ImageSet:
        """Returns the images that `recipe` draws from; see `Base`."""
        return self.images


@dataclass(frozen=True)
class OfCell:
    """The images of a cell of a grid of shifts."""

    cell: str
    images: ImageSet

    def __str__(self) -> str:
        return f"cell:{self.cell}"

    def images_for(self, recipe: Recipe, split: ImageSet) -> ImageSet:
        """Returns the images that `recipe` draws from; see `Base`."""
        return self.images


@dataclass(frozen=True)
class Planned:
    """A validation or test set before it is rendered.

    Attributes:
        base: Origin of its images.
        recipe: Recipe with the operations and the set's name.
        group: "seen", "unseen", "natural", or "natural-few" for a natural set with few classes; for a cell,
            its level.
        family: Name of a group of sets that folds, bootstrap draws and the public/private split never divide
            (docs/decisions/0010-families.md).
    """

    base: Base
    recipe: Recipe
    group: str
    family: str

    @classmethod
    def from_record(cls, entry: Mapping[str, str]) -> "Planned":
        """Returns the set of a `record`, for images of a split or of an embedded family."""
        kind, _, family = entry["base"].partition(":")
        if kind == "turn":
            base: Base = InTurn(*map(int, family.split(":")))
        else:
            base = OfSplit() if kind == "base" else OfFamily(family)
        return cls(base, Recipe.from_json(entry["recipe"]), entry["group"], entry["family"])

    @property
    def key(self) -> tuple[str, str, str]:
        """Name, group and family."""
        return self.recipe.name, self.group, self.family

    def record(self) -> dict[str, object]:
        """Returns plain JSON values, for ``private/build.json``."""
        return {
            "base": str(self.base),
            "recipe": self.recipe.to_json(),
            "group": self.group,
            "family": self.family,
        }

    def render(self, split: ImageSet) -> ImageSet:
        """Returns the labelled set; `split` is the validation or test base."""
        return self.recipe.render(self.base.images_for(self.recipe, split))


def plan_train(
    settings: Settings, plan: AccuracyPlan, clusters: NDArray[np.int64] | None = None
) -> list[Recipe]:
    """Returns the meta-train sets' recipes: those of the file, or drawn from the public seed.

    Sub-populations consist of `clusters` of the base's images; see `draw_recipes`.

    Raises:
        UnusableInput: the file cannot be read, has one recipe, or one with the name of another part's set.
    """
    if not plan.recipes:
        return draw_recipes(
            plan.group,
            settings.train_sets,
            settings.seed,
            settings.set_size,
            ops_per_set=plan.ops_per_set,
            clusters=clusters,
        )
    recipes = read_recipes(plan.recipes)
    if len(recipes) < LEAST_TRAIN:
        raise UnusableInput(f"--recipes {plan.recipes}: {LEAST_TRAIN} recipes or more are needed")
    for recipe in recipes:
        if _TAKEN.fullmatch(recipe.name):
            raise UnusableInput(f"--recipes {plan.recipes}: {recipe.name!r} is the name of another set here")
    return recipes


def check_sizes(
    settings: Settings, plan: AccuracyPlan, train: Sequence[Recipe], counts: Mapping[str, int], tested: int
) -> None:
    """Refuse sets larger than their base, before anything is rendered or trained.

    Args:
        settings: Common settings.
        plan: Settings of the accuracy track.
        train: Recipes of the meta-train sets.
        counts: Number of base images of "validation", "test" and "meta-train" sets.
        tested: Number of test images of the source, of which these bases are parts.

    Raises:
        UnusableInput: a set is larger than its base; the message gives a remedy.
    """
    made = {"meta-train": 0} if plan.recipes else {"meta-train": settings.train_sets}
    made |= {} if settings.grid else {"validation": settings.val_sets, "test": settings.test_sets}
    for part, count in counts.items():
        if made.get(part) and settings.set_size > count:
            enough = ceil(settings.set_size * tested / count)
            raise UnusableInput(
                f"{tested:,} test images make {count:,} {part} images, {settings.set_size:,} are asked for a "
                f"set: use --set-size {count}, or {enough:,} test images"
            )
    for recipe in train if plan.recipes else ():
        if recipe.selection and (n := recipe.ops[0][1]["n"]) > counts["meta-train"]:
            raise UnusableInput(
                f"--recipes {plan.recipes}: {recipe.name!r} draws {n:,} images, and there are "
                f"{counts['meta-train']:,} to draw from: ask for a smaller set"
            )


def plan_part(settings: Settings, plan: AccuracyPlan, part: str, like: Splits, seed: int) -> list[Planned]:
    """Returns the sets of "val" or "test" in a random order under neutral names.

    With the embedded source, three eighths of the sets have natural shift. Of the others, two fifths have the
    meta-train operations (`seen`), and the rest have one new operation each (`unseen`, see
    `unseen_operations`; if no operation is new, all are `seen`). Validation sets have a quarter of the new
    operations and of the natural families, test sets the others.
    """
    rng = (TEST_SETS if part == "test" else VAL_SETS)(seed)
    wanted = settings.val_sets if part == "val" else settings.test_sets
    natural = round(wanted * 3 / 8) if settings.source == "glyphs" else 0
    new = _share(settings, part, _unseen_operations(settings, plan), rng)
    seen = round((wanted - natural) * 2 / 5) if new else wanted - natural
    planned = _seen(settings, plan, seen, rng)
    planned += _unseen(settings, new, wanted - natural - seen, rng)
    planned += _embedded_natural(settings, part, natural, rng)
    for path in plan.val_from if part == "val" else settings.test_from:
        planned += _from_path(settings, path, like, rng)
    if part == "test" and len(planned) < 2:
        raise UnusableInput(
            f"--test-from {settings.test_from[0]} holds one set, but two test sets or more are needed: one "
            "for the public score, one for the private"
        )
    order = rng.permutation(len(planned))
    named = [_named(planned[old], f"{part}_{new:04d}") for new, old in enumerate(order, start=1)]
    return (
        _in_turns(named, max(1, len(like.test_base) // settings.set_size), seed) if part == "test" else named
    )


def _in_turns(planned: Sequence[Planned], around: int, seed: int) -> list[Planned]:
    """Returns the sets; those from the split's images share them in rounds of `around` sets."""
    made = [each.recipe.name for each in planned if each.base == OfSplit()]
    bases = {name: InTurn(turn, around, seed) for turn, name in enumerate(made)}
    return [replace(each, base=bases.get(each.recipe.name, each.base)) for each in planned]


def _seen(settings: Settings, plan: AccuracyPlan, count: int, rng: np.random.Generator) -> list[Planned]:
    if plan.recipes:
        own, sample = plan_train(settings, plan), ("sample", {"n": settings.set_size})
        drawn = [own[i] for i in rng.integers(len(own), size=count)]
        recipes = [Recipe("set", _seed(rng), (sample, *recipe.pixel_ops)) for recipe in drawn]
    else:
        recipes = draw_recipes(plan.group, count, _seed(rng), settings.set_size, ops_per_set=plan.ops_per_set)
    return [Planned(OfSplit(), recipe, "seen", "+".join(sorted(recipe.families))) for recipe in recipes]


def _unseen_operations(settings: Settings, plan: AccuracyPlan) -> list[str]:
    """Returns corruptions that are new to a method trained on the meta-train sets."""
    if not plan.recipes:
        return list(unseen_operations(plan.group))
    seen = set().union(*(recipe.families for recipe in plan_train(settings, plan)))
    return [name for name in GROUPS["corruptions"] if OPERATIONS[name].family not in seen]


def _unseen(settings: Settings, families: list[str], count: int, rng: np.random.Generator) -> list[Planned]:
    planned = []
    for i in range(count):
        family = families[i % len(families)]
        ops = (("sample", {"n": settings.set_size}), (family, OPERATIONS[family].draw_params(rng)))
        planned.append(Planned(OfSplit(), Recipe("set", _seed(rng), ops), "unseen", family))
    return planned


def _embedded_natural(settings: Settings, part: str, count: int, rng: np.random.Generator) -> list[Planned]:
    families = _share(settings, part, list(NATURAL), rng)
    planned = []
    for i in range(count):
        family = families[i % len(families)]
        select: tuple[str, Params] = ("sample", {"n": settings.set_size})
        if rng.random() < 0.5:
            select = ("resample_classes", {"n": settings.set_size, "concentration": 1.0})
        planned.append(Planned(OfFamily(family), Recipe("set", _seed(rng), (select,)), "natural", family))
    return planned


def _from_path(settings: Settings, path: str, like: Splits, rng: np.random.Generator) -> list[Planned]:
    planned = []
    for name in set_names(path, like.classes):
        fit = settings.fit(like.image_size)
        images = load_images(name, like.classes, settings.set_size, settings.seed, fit)
        assert images.labels is not None
        few = len(np.unique(images.labels)) < min(FEW_CLASSES, len(like.classes))
        recipe = Recipe("set", _seed(rng), (("sample", {"n": len(images)}),))
        group = "natural-few" if few else "natural"
        planned.append(Planned(AtPath(name, images), recipe, group, images.name))
    return planned


def _share(settings: Settings, part: str, names: list[str], rng: np.random.Generator) -> list[str]:
    """Returns the families of a part: a quarter for "val", the others (or all without "val") for "test"."""
    public = SHARED(settings.seed)
    shuffled = [names[i] for i in public.permutation(len(names))]
    quarter = max(1, len(names) // 4) if settings.val_sets and len(names) > 1 else 0
    mine = shuffled[:quarter] if part == "val" else shuffled[quarter:]
    return [mine[i] for i in rng.permutation(len(mine))]


def _named(planned: Planned, name: str) -> Planned:
    return replace(planned, recipe=replace(planned.recipe, name=name))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
