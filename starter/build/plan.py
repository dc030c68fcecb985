"""What a competition is made of: the settings of a build, and which sets it plans from them."""

import json
import re
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS, POLICIES, Policy, unseen_operations
from starter.operations.operation import Params
from starter.sets.recipe import Recipe, draw_recipes, read_recipes
from starter.sources.glyphs.digits import NATURAL, natural_set
from starter.sources.sources import load_images, set_names
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.competition import FEEDBACKS
from submission.random import SHARED, TEST_SETS, VAL_SETS

FEW_CLASSES = 7
"""A natural set with fewer classes than this counts as `natural-few`."""
LIMITS = {
    "train_sets": (2, 100_000),
    "val_sets": (0, 10_000),
    "test_sets": (0, 10_000),
    "set_size": (2, 1_000_000),
    "seed": (0, 2**63 - 1),
    "decimals": (0, 9),
    "daily_limit": (0, 1_000_000),
    "total_limit": (0, 1_000_000),
}
"""The least and the most that a setting may be."""
LONGEST_LICENCE = 500
_TAKEN = re.compile(r"(val|test)_\d{4,}")


@dataclass(frozen=True)
class Settings:
    """What `unseen build` was asked for. All plain JSON values, so that a folder remembers them.

    Attributes:
        source: a name in SOURCES or a path.
        classifiers: each NAME or NAME=WEIGHTS.
        train_sets, val_sets, test_sets, set_size: how many sets of how many images are made here.
        group: the operations of the meta-train sets, a name in GROUPS.
        ops_per_set: how many of them a set gets, at least and at most; () as the group's policy has it.
        recipes: a file of recipes of one's own, in the place of `train_sets`, `group` and `ops_per_set`.
        val_from, test_from: paths of natural-shift sets that are added to validation and test.
        grid: the encoder that tells how far images are, as for `load_encoder`: validation and test sets are
            then cells of a grid of shifts; "" for the usual sets.
        referee: the folder of `unseen shift laid` with its LAID matrix; "" to train one.
        seed: of everything public.
        precision: of the classifiers' forward pass, one for the whole competition.
        hidden: the test images stand nowhere in public; without it the competition is for practice.
        datacv_splits: the DataCV challenge's own division of the source, with all test images in every base.
        licence: of the images at paths, for ``public/LICENCES.txt``; those of sources with a name are known.
        feedback: what a team is told of a submission, a key of `submission.competition.FEEDBACKS`.
        decimals: of published scores.
        daily_limit, total_limit: submissions that a team may make a day (UTC) and in all; 0 for any number.
        deadline: ISO 8601, in UTC unless it names an offset; "" for none.
    """

    track: ClassVar[str] = "accuracy"

    source: str = "glyphs"
    classifiers: tuple[str, ...] = ("small",)
    train_sets: int = 120
    val_sets: int = 24
    test_sets: int = 48
    set_size: int = 500
    group: str = "default"
    ops_per_set: tuple[int, ...] = ()
    recipes: str = ""
    val_from: tuple[str, ...] = ()
    test_from: tuple[str, ...] = ()
    grid: str = ""
    referee: str = ""
    seed: int = 0
    precision: str = "float32"
    hidden: bool = False
    datacv_splits: bool = False
    licence: str = ""
    feedback: str = "rounded"
    decimals: int = 2
    daily_limit: int = 0
    total_limit: int = 0
    deadline: str = ""

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            if not least <= getattr(self, name) <= most:
                bound = f"at least {least}" if getattr(self, name) < least else f"at most {most}"
                raise UnusableInput(f"--{name.replace('_', '-')} must be {bound}, got {getattr(self, name)}")
        if not self.source.isprintable() or not self.source.strip():
            raise UnusableInput(
                f"--source {self.source!r}: a name or a path of printable characters is needed"
            )
        if not self.licence.isprintable() or len(self.licence) > LONGEST_LICENCE:
            raise UnusableInput(
                f"--licence must be a line of at most {LONGEST_LICENCE} printable characters, as 'CC BY 4.0'"
            )
        if not self.classifiers:
            raise UnusableInput("a competition needs at least one --classifier")
        names = [name.casefold() for name in self.classifier_names]
        for name in self.classifier_names:
            if names.count(name.casefold()) > 1:
                raise UnusableInput(
                    f"--classifier {name} stands there twice; each needs a name of its own (not only in case)"
                )
        self._check_test()
        if self.group not in GROUPS:
            raise UnusableInput(f"--group {self.group!r} is unknown; there are {', '.join(GROUPS)}")
        if not self.ops_per_set:
            object.__setattr__(self, "ops_per_set", POLICIES.get(self.group, Policy()).ops_per_set)
        low, high = self.ops_per_set
        if not 0 <= low <= high <= len(GROUPS[self.group]):
            most = len(GROUPS[self.group])
            raise UnusableInput(
                f"--ops-per-set must be LOW HIGH with 0 <= LOW <= HIGH <= {most}, got {low} {high}"
            )
        if self.precision not in ("float32", "bfloat16"):
            raise UnusableInput(f"--precision must be float32 or bfloat16, got {self.precision!r}")
        if self.grid and (self.val_from or self.test_from):
            option = "val" if self.val_from else "test"
            raise UnusableInput(f"--grid makes the validation and test sets: leave --{option}-from out")
        if self.referee and not self.grid:
            raise UnusableInput("--referee belongs to --grid ENCODER, which is missing")
        if self.feedback not in FEEDBACKS:
            raise UnusableInput(f"--feedback must be {' or '.join(FEEDBACKS)}, got {self.feedback!r}")
        _moment(self.deadline)
        for val in self.val_from:
            for test in self.test_from:
                if _overlap(val, test):
                    raise UnusableInput(
                        f"--val-from {val} and --test-from {test} share images, and those of validation sets "
                        "are public with their accuracy: name other sets"
                    )

    def _check_test(self) -> None:
        """Check that there are test sets, and that hidden ones are of one's own images."""
        if self.test_sets == 1 and not self.test_from:
            raise UnusableInput(
                "--test-sets must be at least 2: one for the public score, one for the private"
            )
        if self.test_sets == 0 and not self.test_from:
            raise UnusableInput("a competition needs test sets: --test-sets above 0, or --test-from PATH")
        if self.hidden and (self.test_sets or not self.test_from):
            raise UnusableInput("--hidden needs test images of your own: --test-sets 0 and --test-from PATH")

    def check_deadline(self, now: datetime) -> None:
        """Raise UnusableInput where the deadline has passed, so that nothing could be submitted."""
        deadline = _moment(self.deadline)
        if deadline is not None and deadline <= now:
            raise UnusableInput(f"--deadline {self.deadline} has passed: name a time to come")

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        return tuple(spec.partition("=")[0] for spec in self.classifiers)

    @property
    def subjects(self) -> tuple[str, ...]:
        """The names of what is under evaluation: the classifiers."""
        return self.classifier_names

    def rules(self) -> dict[str, Any]:
        """The fields of a `Competition` that say how submissions are taken."""
        limits = {"daily_limit": self.daily_limit or None, "total_limit": self.total_limit or None}
        return {
            "feedback": self.feedback,
            "decimals": self.decimals,
            "deadline": _moment(self.deadline),
            **limits,
        }

    @property
    def public_paths(self) -> tuple[str, ...]:
        """The paths, besides the source, whose images participants get with their labels."""
        return self.val_from

    def public(self) -> dict[str, object]:
        """The settings that participants see: nothing of the test sets, no paths of the organizer's."""
        drawn = () if self.recipes else ("train_sets", "group", "ops_per_set")
        shown = (*drawn, "set_size", "datacv_splits")
        return self._cells() | {name: json.loads(json.dumps(getattr(self, name))) for name in shown}

    def _cells(self) -> dict[str, object]:
        """Whose cells validation and test sets are, where they are any."""
        return {"grid": Path(self.grid).name} if self.grid else {}

    def record(self) -> dict[str, Any]:
        """Plain JSON values from which `from_json` makes the same settings."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Settings":
        """The settings in what `record` and JSON made of them.

        Raises:
            UnusableInput: a setting is unknown here, has another type or cannot be used.
        """
        types = {field.name: type(field.default) for field in fields(cls)}
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in document.items()}
        for name, value in values.items():
            if type(value) is not types.get(name):
                raise UnusableInput(f"setting {name!r} of {value!r} is none of this version's")
        return cls(**values)

    def differences(self, other: "Settings") -> list[str]:
        """Each setting that differs, as a readable line."""
        if self.track != other.track:
            return [f"--track: {self.track} here, {other.track} asked for"]
        pairs = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return [
            f"--{name.replace('_', '-')}: {mine} here, {theirs} asked for"
            for name, mine, theirs in pairs
            if mine != theirs
        ]


@dataclass(frozen=True)
class Planned:
    """A validation or test set before it is rendered.

    Attributes:
        base: where its images come from: "base" (the split's own), "natural:<family>", "path:<path>/<set>" or
            "cell:<cell>".
        recipe: what is done to them; its name is the set's.
        group: seen | unseen | natural; `natural-few` where a natural set has few classes; of a cell, its
            level.
        family: what a fold, a bootstrap draw or the public/private split never divides
            (docs/decisions/0010-families.md).
        images: the set at a path, which is read once, or the cell's.
    """

    base: str
    recipe: Recipe
    group: str
    family: str
    images: ImageSet | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Name, group and family."""
        return self.recipe.name, self.group, self.family

    def record(self) -> dict[str, object]:
        """Plain JSON values, for ``private/build.json``."""
        return {
            "base": self.base,
            "recipe": self.recipe.to_json(),
            "group": self.group,
            "family": self.family,
        }

    def render(self, split: ImageSet) -> ImageSet:
        """The labelled set; `split` is the validation or test base."""
        if self.images is not None:
            return self.recipe.render(self.images)
        if self.base == "base":
            return self.recipe.render(split)
        family, size = self.base.removeprefix("natural:"), self.recipe.ops[0][1]["n"]
        return self.recipe.render(
            natural_set(family, 2 * size, self.recipe.seed, self.recipe.name, split.name)
        )


def plan_train(settings: Settings) -> list[Recipe]:
    """The meta-train sets' recipes: those of the file, or drawn from the public seed.

    Raises:
        UnusableInput: the file cannot be read, has one recipe, or one with the name of another part's set.
    """
    if not settings.recipes:
        return draw_recipes(
            settings.group,
            settings.train_sets,
            settings.seed,
            settings.set_size,
            ops_per_set=settings.ops_per_set,
        )
    recipes = read_recipes(settings.recipes)
    if len(recipes) < LIMITS["train_sets"][0]:
        raise UnusableInput(
            f"--recipes {settings.recipes}: {LIMITS['train_sets'][0]} recipes or more are needed"
        )
    for recipe in recipes:
        if _TAKEN.fullmatch(recipe.name):
            raise UnusableInput(
                f"--recipes {settings.recipes}: {recipe.name!r} is the name of another set here"
            )
    return recipes


def plan_part(settings: Settings, part: str, like: Splits, seed: int) -> list[Planned]:
    """The sets of "val" or "test" in a random order under neutral names.

    Of the sets made here, three eighths are natural shift where the source is the embedded one (it alone
    has some); of the rest, two fifths apply the meta-train operations (`seen`) and the others one operation
    that is new each (`unseen`, see `unseen_operations`; where nothing is new, all are `seen`). Validation has
    a quarter of these operations and of the natural families, test the others.
    """
    rng = (TEST_SETS if part == "test" else VAL_SETS)(seed)
    count = settings.val_sets if part == "val" else settings.test_sets
    natural = round(count * 3 / 8) if settings.source == "glyphs" else 0
    new = _share(settings, part, _unseen_operations(settings), rng)
    seen = round((count - natural) * 2 / 5) if new else count - natural
    planned = _seen(settings, seen, rng)
    planned += _unseen(settings, new, count - natural - seen, rng)
    planned += _embedded_natural(settings, part, natural, rng)
    for path in settings.val_from if part == "val" else settings.test_from:
        planned += _from_path(settings, path, like, rng)
    if part == "test" and len(planned) < 2:
        raise UnusableInput(
            f"--test-from {settings.test_from[0]} holds one set, but two test sets or more are needed: one "
            "for the public score, one for the private"
        )
    order = rng.permutation(len(planned))
    return [_named(planned[old], f"{part}_{new:04d}") for new, old in enumerate(order, start=1)]


def _seen(settings: Settings, count: int, rng: np.random.Generator) -> list[Planned]:
    size = settings.set_size
    if settings.recipes:
        own, sample = plan_train(settings), ("sample", {"n": size})
        drawn = [own[i] for i in rng.integers(len(own), size=count)]
        recipes = [Recipe("set", _seed(rng), (sample, *recipe.pixel_ops)) for recipe in drawn]
    else:
        recipes = draw_recipes(settings.group, count, _seed(rng), size, ops_per_set=settings.ops_per_set)
    return [Planned("base", recipe, "seen", "+".join(sorted(recipe.families))) for recipe in recipes]


def _unseen_operations(settings: Settings) -> list[str]:
    """Corruptions that are new to a method that has learnt from the meta-train sets."""
    if not settings.recipes:
        return list(unseen_operations(settings.group))
    seen = set().union(*(recipe.families for recipe in plan_train(settings)))
    return [name for name in GROUPS["corruptions"] if OPERATIONS[name].family not in seen]


def _unseen(settings: Settings, families: list[str], count: int, rng: np.random.Generator) -> list[Planned]:
    planned = []
    for i in range(count):
        family = families[i % len(families)]
        ops = (("sample", {"n": settings.set_size}), (family, OPERATIONS[family].draw_params(rng)))
        planned.append(Planned("base", Recipe("set", _seed(rng), ops), "unseen", family))
    return planned


def _embedded_natural(settings: Settings, part: str, count: int, rng: np.random.Generator) -> list[Planned]:
    families = _share(settings, part, list(NATURAL), rng)
    planned = []
    for i in range(count):
        family = families[i % len(families)]
        select: tuple[str, Params] = ("sample", {"n": settings.set_size})
        if rng.random() < 0.5:
            select = ("resample_classes", {"n": settings.set_size, "concentration": 1.0})
        planned.append(Planned(f"natural:{family}", Recipe("set", _seed(rng), (select,)), "natural", family))
    return planned


def _from_path(settings: Settings, path: str, like: Splits, rng: np.random.Generator) -> list[Planned]:
    planned = []
    for name in set_names(path):
        images = load_images(name, like.classes, settings.set_size, settings.seed, like.image_size)
        assert images.labels is not None
        few = len(np.unique(images.labels)) < min(FEW_CLASSES, len(like.classes))
        recipe = Recipe("set", _seed(rng), (("sample", {"n": len(images)}),))
        group = "natural-few" if few else "natural"
        planned.append(Planned(f"path:{name}", recipe, group, images.name, images))
    return planned


def _share(settings: Settings, part: str, names: list[str], rng: np.random.Generator) -> list[str]:
    """A quarter of the families for validation, the others (without validation, or of one, all) for test."""
    public = SHARED(settings.seed)
    shuffled = [names[i] for i in public.permutation(len(names))]
    quarter = max(1, len(names) // 4) if settings.val_sets and len(names) > 1 else 0
    mine = shuffled[:quarter] if part == "val" else shuffled[quarter:]
    return [mine[i] for i in rng.permutation(len(mine))]


def _moment(text: str) -> datetime | None:
    """A deadline in UTC, None for "".

    >>> _moment("2026-12-31T12:00+01:00").isoformat()
    '2026-12-31T11:00:00+00:00'

    Raises:
        UnusableInput: it is no such time.
    """
    if not text:
        return None
    try:
        found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
        if ":" not in text or found.microsecond:
            raise ValueError("no time of day in whole seconds")
        return found.replace(tzinfo=found.tzinfo or timezone.utc).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise UnusableInput(
            f"--deadline must be a date with a time, such as 2026-12-31T23:59 (UTC), got {text!r}"
        ) from None


def _overlap(one: str, other: str) -> bool:
    """Whether one path is the other, or leads into it."""
    first, second = Path(one).resolve(), Path(other).resolve()
    return first.is_relative_to(second) or second.is_relative_to(first)


def _named(planned: Planned, name: str) -> Planned:
    return replace(planned, recipe=replace(planned.recipe, name=name))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
