"""The plan of the sets of the accuracy track, made before anything is rendered."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, cycle, islice
from math import ceil

import numpy as np
from numpy.random import Generator

from starter.contest.accuracy.settings import AccuracySettings
from starter.contest.plan import Look, Plan, PlannedSet
from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS, groups_of, new_operations, policy_of
from starter.data.operations.operation import Params
from starter.data.sets.recipe import Recipe, draw_recipes, read_recipes
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.glyphs.digits import NATURAL, natural_set
from starter.data.sources.sources import load_images, set_names
from starter.data.sources.splits import Splits
from starter.observing.sets import RECIPES_FILE
from submission import UnusableInput
from submission.arrays import FloatArray, IntArray
from submission.files import digest_of
from submission.random import BASE_IMAGES, SHARED, TEST_SETS, VAL_SETS

FEW_CLASSES = 7
"""A natural set with fewer classes than this counts as `natural-few`."""
CLUSTER = 60
"""Mean number of images of a cluster of a sub-population."""
LEAKED_SHARE = 0.05
"""Largest public fraction of a natural test set in a practice competition; in a hidden one it is 0."""

BASE = {"kind": "base"}
Natural = dict[str, ImageSet]
"""The sets that were read from paths, by path."""


def plan_accuracy(settings: AccuracySettings, splits: Splits, test_seed: int, look: Look | None) -> Plan:
    """Plan the sets of every part; `look` is used where the group has sub-populations."""
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    own = read_recipes(settings.recipes) if settings.recipes else []
    for path in (*settings.val_from, *settings.test_from):
        set_names(path, splits.classes)  # a wrong path is told before a wrong size
    check_sizes(settings, own, bases, splits.tested)
    read: Natural = {}
    seeds = {"val": settings.seed, "test": test_seed}
    sets = {
        part: plan_part(settings, part, splits, seed=seed, own=own, read=read) for part, seed in seeds.items()
    }
    _check_overlap(settings, splits, sets, read)
    recipes = own or plan_train(settings, splits.meta_base, look)
    inputs = {
        f"--{part}-from {path}": read[path].digest for part in sorted(sets) for path in _paths(sets[part])
    }
    if own:
        inputs[f"--recipes {settings.recipes}"] = digest_of(*(recipe.to_json() for recipe in own))
    return Plan(
        train=[FromRecipe(recipe, splits.meta_base) for recipe in recipes],
        sets=sets,
        bases=bases,
        render=lambda part, planned: render(planned, bases[part], read),
        inputs=inputs,
        files={RECIPES_FILE: "".join(recipe.to_json() + "\n" for recipe in recipes)},
    )


def plan_train(settings: AccuracySettings, base: ImageSet, look: Look | None) -> list[Recipe]:
    """Returns the meta-train sets' recipes; sub-populations are clusters of what `look` sees in the base."""
    parts = any(policy_of(group).part_share for group in groups_of(settings.group))
    clusters = hard_to_easy(*look(base), settings.seed) if parts and look else None
    recipes = draw_recipes(
        *(settings.group, settings.train_sets, settings.seed, settings.set_size),
        ops_per_set=settings.ops_per_set,
        clusters=clusters,
    )
    if not settings.whole_test or settings.set_size < len(base):
        return recipes
    # Sets of the whole base show it in its order, as in DataCV: one file of labels is enough.
    return [
        replace(recipe, ops=recipe.pixel_ops) if recipe.selection == "sample" else recipe
        for recipe in recipes
    ]


def hard_to_easy(features: FloatArray, confidence: FloatArray, seed: int) -> IntArray:
    """Returns each image's cluster by k-means on standardised features (n, d), by rising confidence (n,)."""
    from sklearn.cluster import KMeans

    rows = features.astype(np.float64)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    members = KMeans(max(len(rows) // CLUSTER, 1), n_init=1, random_state=seed).fit_predict(rows)
    _, members = np.unique(members, return_inverse=True)
    mean = np.bincount(members, confidence) / np.bincount(members)
    return np.argsort(np.argsort(mean, kind="stable"), kind="stable")[members]


def check_sizes(
    settings: AccuracySettings, own: Sequence[Recipe], bases: Mapping[str, ImageSet], tested: int
) -> None:
    """Refuse sets larger than their base, a part of `tested` images, before anything is rendered."""
    for recipe in own:
        recipe.size(bases["train"])
    for part, base in bases.items():
        made = settings.sets(part) > 0 and not (own and part == "train")
        count = len(base)
        if made and settings.set_size > count:
            enough = ceil(settings.set_size * tested / count)
            raise UnusableInput(
                f"--source has {tested:,} test images for all parts, and {count:,} of them for {part} sets, "
                f"of {settings.set_size:,} each: use --set-size {count}, or give {enough:,} test images"
            )


def plan_part(
    settings: AccuracySettings, part: str, like: Splits, seed: int, own: Sequence[Recipe], read: Natural
) -> list[PlannedSet]:
    """Returns the sets of "val" or "test" in a random order under neutral names; `read` gets those at paths.

    With the embedded source, three eighths of the sets have natural shift. Of the others, two fifths have the
    meta-train operations (`seen`), the rest one new operation each (`new`; if none is new, all are `seen`).
    """
    rng = (TEST_SETS if part == "test" else VAL_SETS)(seed)
    wanted = settings.sets(part)
    natural = round(wanted * 3 / 8) if settings.source == "glyphs" else 0
    new = _share(settings, part, _new_operations(settings, own), rng)
    seen = round((wanted - natural) * 2 / 5) if new else wanted - natural
    planned = _seen(settings, own, seen, rng)
    planned += _new(settings, new, wanted - natural - seen, rng)
    planned += _embedded_natural(settings, part, natural, rng)
    for path in settings.val_from if part == "val" else settings.test_from:
        planned += _from_path(settings, path, like, rng, read)
    if part == "test" and len(planned) < 2:
        raise UnusableInput(
            f"--test-from {settings.test_from[0]} holds one set, but two test sets or more are needed: one "
            "for the public score, one for the private"
        )
    order = rng.permutation(len(planned))
    recipes = [replace(planned[old].recipe, name=f"{part}_{new:04d}") for new, old in enumerate(order, 1)]
    named = [replace(planned[old], recipe=recipe) for recipe, old in zip(recipes, order, strict=True)]
    if part == "val":
        return named
    numbers = count()
    turns = max(1, len(like.test_base) // settings.set_size)
    return [
        replace(each, base={"kind": "turn", "turn": next(numbers), "turns": turns, "seed": seed})
        if each.base == BASE
        else each
        for each in named
    ]


def render(planned: PlannedSet, split: ImageSet, read: Mapping[str, ImageSet] | None = None) -> ImageSet:
    """Returns the labelled set; `split` is the validation or test base, `read` has the sets at paths."""
    assert isinstance(planned.recipe, Recipe)
    return planned.recipe.render(base_images(planned, split, read or {}))


def base_images(planned: PlannedSet, split: ImageSet, read: Mapping[str, ImageSet]) -> ImageSet:
    """Returns the images that a set draws from; too few at the end of a round of turns are skipped."""
    recipe = planned.recipe
    assert isinstance(recipe, Recipe)
    match planned.base:
        case {"path": path}:
            return read[path]
        case {"family": family}:
            return natural_set(family, 2 * recipe.ops[0][1]["n"], recipe.seed, recipe.name, split.name)
        case {"turn": turn, "turns": turns, "seed": seed}:
            n = recipe.size(split)
            order = BASE_IMAGES(seed, turn // turns).permutation(len(split))
            return split.take(order[turn % turns * n :][:n])
    return split


def _seen(settings: AccuracySettings, own: Sequence[Recipe], count: int, rng: Generator) -> list[PlannedSet]:
    if own:
        drawn = [own[i] for i in rng.integers(len(own), size=count)]
        sample = _sample(settings)
        recipes = [Recipe("set", _seed(rng), (sample, *recipe.pixel_ops)) for recipe in drawn]
    else:
        size = settings.set_size
        operations = settings.ops_per_set
        recipes = draw_recipes(settings.group, count, _seed(rng), size, ops_per_set=operations)
    return [PlannedSet(recipe, "seen", "+".join(sorted(recipe.families)), BASE) for recipe in recipes]


def _new_operations(settings: AccuracySettings, own: Sequence[Recipe]) -> list[str]:
    """Returns corruptions that are new to a method trained on the meta-train sets."""
    if not own:
        return list(new_operations(settings.group))
    seen = set().union(*(recipe.families for recipe in own))
    return [name for name in GROUPS["corruptions"] if OPERATIONS[name].family not in seen]


def _new(settings: AccuracySettings, families: list[str], count: int, rng: Generator) -> list[PlannedSet]:
    planned = []
    for family in islice(cycle(families), count):
        ops = (_sample(settings), (family, OPERATIONS[family].draw_params(rng)))
        planned.append(PlannedSet(Recipe("set", _seed(rng), ops), "new", family, BASE))
    return planned


def _embedded_natural(settings: AccuracySettings, part: str, count: int, rng: Generator) -> list[PlannedSet]:
    families = _share(settings, part, list(NATURAL), rng)
    planned = []
    for family in islice(cycle(families), count):
        select = _sample(settings)
        if rng.random() < 0.5:
            select = ("resample_classes", {"n": settings.set_size, "concentration": 1.0})
        recipe = Recipe("set", _seed(rng), (select,))
        planned.append(PlannedSet(recipe, "natural", family, {"kind": "natural", "family": family}))
    return planned


def _from_path(
    settings: AccuracySettings, path: str, like: Splits, rng: Generator, read: Natural
) -> list[PlannedSet]:
    planned = []
    for name in set_names(path, like.classes):
        fit = settings.fit(like.image_size)
        images = load_images(name, like.classes, settings.set_size, settings.seed, fit)
        few = len(np.unique(images.truth)) < min(FEW_CLASSES, len(like.classes))
        recipe = Recipe("set", _seed(rng), (("sample", {"n": len(images)}),))
        group = "natural-few" if few else "natural"
        planned.append(PlannedSet(recipe, group, images.name, {"kind": "path", "path": name}))
        read[name] = images
    return planned


def _share(settings: AccuracySettings, part: str, names: list[str], rng: Generator) -> list[str]:
    """Returns the families of a part: a quarter for "val", the others (or all without "val") for "test"."""
    shuffled = SHARED(settings.seed).permutation(names).tolist()
    quarter = max(1, len(names) // 4) if settings.val_sets and len(names) > 1 else 0
    mine = shuffled[:quarter] if part == "val" else shuffled[quarter:]
    return rng.permutation(mine).tolist()


def _sample(settings: AccuracySettings) -> tuple[str, Params]:
    return "sample", {"n": settings.set_size}


def _seed(rng: Generator) -> int:
    return int(rng.integers(2**63))


def _paths(planned: Sequence[PlannedSet]) -> list[str]:
    """Returns the paths of the sets that are read from paths."""
    return sorted(each.base["path"] for each in planned if each.base and "path" in each.base)


def _check_overlap(
    settings: AccuracySettings, splits: Splits, sets: Mapping[str, Sequence[PlannedSet]], read: Natural
) -> None:
    """Refuse natural test sets with images that are public, perhaps with labels, in the same folder."""
    labelled = [splits.train, splits.reference, splits.meta_base, splits.val_base]
    labelled += [replace(read[path], name=path) for path in _paths(sets["val"])]
    for path in _paths(sets["test"]):
        if not (shared := read[path].shared(labelled)):
            continue
        count = max(shared.values())
        where = max(shared, key=lambda name: shared[name])
        size = len(read[path])
        found = f"--test-from {path}: {count} of its {size} images are public with labels, in {where}"
        if settings.hidden or count > LEAKED_SHARE * size:
            raise UnusableInput(f"{found}; take them out, or name another set")
        print(f"warning: {found}", file=sys.stderr)
