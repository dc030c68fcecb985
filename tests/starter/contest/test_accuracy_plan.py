"""Plans of the accuracy track: how many sets of which group, what val and test share, and what is refused."""

import json
from collections import Counter

import numpy as np
import pytest
from asked import accuracy_settings

from starter.contest.accuracy.plan import (
    FEW_CLASSES,
    base_images,
    hard_to_easy,
    plan_accuracy,
    plan_part,
    plan_train,
    render,
)
from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS
from starter.data.sets.recipe import Recipe, draw_recipes
from starter.data.sources.glyphs.digits import NATURAL
from starter.data.sources.splits import Splits
from submission import UnusableInput

SEVEN = ["autocontrast", "brightness", "color", "solarize", "contrast", "affine", "sharpen"]


def labelled(name, labels, seed=0, side=32):
    labels = np.asarray(labels, np.int64)
    images = np.random.default_rng(seed).integers(256, size=(len(labels), side, side, 3), dtype=np.uint8)
    return ImageSet(name, images, labels)


def splits(k=10, n=40):
    names = ("train", "reference", "meta_base", "val_base", "test_base")
    parts = [labelled(name, np.arange(n) % k, seed) for seed, name in enumerate(names)]
    return Splits(tuple(f"c{i}" for i in range(k)), *parts)


def write(path, labels, side=32):
    images = labelled("x", labels, side=side)
    np.savez(path, images=images.images, labels=images.labels)
    return str(path)


def small(**changes):
    return accuracy_settings(**{"set_size": 20, **changes})


def sets_of(settings, part, like, seed, own=()):
    return plan_part(settings, part, like, seed, own, {})


@pytest.mark.parametrize("part", ["val", "test"])
def test_a_seed_gives_a_plan_with_neutral_names_in_a_random_order(part):
    settings, like = small(test_sets=48, val_sets=48), splits()
    planned, again, other = (sets_of(settings, part, like, seed) for seed in (5, 5, 6))
    one = [plan.record() for plan in planned]
    assert [plan.record() for plan in again] == one != [plan.record() for plan in other]
    assert len({plan["recipe"] for plan in one}) == 48
    assert [plan.recipe.name for plan in planned] == [f"{part}_{i:04d}" for i in range(1, 49)]
    order = [plan.group for plan in planned]
    assert [plan.group for plan in other] != order
    for group, count in Counter(order).items():
        places = [i for i, other in enumerate(order) if other == group]
        assert places[-1] - places[0] >= count, f"{group} stands in one block"


@pytest.mark.parametrize(
    ("source", "count", "expected"),
    [
        ("glyphs", 48, {"seen": 12, "new": 18, "natural": 18}),
        ("glyphs", 24, {"seen": 6, "new": 9, "natural": 9}),
        ("cifar10", 20, {"seen": 8, "new": 12}),
        ("glyphs", 2, {"seen": 0, "new": 1, "natural": 1}),
    ],
)
def test_groups_are_counted(source, count, expected):
    settings = small(source=source, test_sets=count, val_sets=count)
    for part in ("val", "test"):
        found = sets_of(settings, part, splits(), 5)
        assert Counter(plan.group for plan in found) == Counter(expected)


def test_seen_sets_use_the_meta_train_operations_and_new_ones_do_not():
    for plan in sets_of(small(ops_per_set=(1, 2)), "test", splits(), 5):
        families = plan.recipe.families
        if plan.group == "seen":
            assert families <= set(SEVEN)
            assert plan.family == "+".join(sorted(families))
        if plan.group == "new":
            assert families == {plan.family}
            assert plan.family in GROUPS["corruptions"]
            assert 1 <= plan.recipe.ops[1][1]["severity"] <= 5
        if plan.group == "natural":
            assert plan.base == {"kind": "natural", "family": plan.family}
            assert plan.family in NATURAL


@pytest.mark.parametrize("seed", [0, 1])
def test_val_and_test_share_no_new_and_no_natural_family(seed):
    settings = small(val_sets=60, test_sets=90, seed=seed)
    shared = [
        {plan.family for plan in sets_of(settings, part, splits(), 9) if plan.group != "seen"}
        for part in ("val", "test")
    ]
    assert len(shared[0]) == len(GROUPS["corruptions"]) // 4 + len(NATURAL) // 4
    assert not shared[0] & shared[1]
    assert shared[0] | shared[1] == {*GROUPS["corruptions"], *NATURAL}


@pytest.mark.parametrize(
    ("k", "labels", "group"),
    [
        (10, range(FEW_CLASSES), "natural"),
        (10, range(FEW_CLASSES - 1), "natural-few"),
        (3, [0, 1, 2], "natural"),
        (3, [0, 1], "natural-few"),
    ],
)
def test_natural_sets_with_few_classes_are_a_group_of_their_own(tmp_path, k, labels, group):
    path = write(tmp_path / "photos.npz", np.repeat(list(labels), 2))
    planned = sets_of(small(val_sets=0, val_from=(path,)), "val", splits(k), 5)
    origin = {"kind": "path", "path": str(path)}
    assert [(plan.group, plan.family, plan.base) for plan in planned] == [(group, "photos", origin)]


def test_sets_at_paths_are_cut_to_size_resized_and_named_neutrally(tmp_path):
    for name in "abc":
        write(tmp_path / f"{name}.npz", np.arange(30) % 10, side=40)
    settings = small(source="cifar10", test_sets=5, test_from=(str(tmp_path),), set_size=20)
    read = {}
    planned = plan_part(settings, "test", splits(), 5, (), read)
    assert Counter(plan.group for plan in planned) == {"seen": 2, "new": 3, "natural": 3}
    assert [plan.recipe.name for plan in planned] == [f"test_{i:04d}" for i in range(1, 9)]
    for plan in planned:
        if plan.group == "natural":
            rendered, images = render(plan, splits().test_base, read), read[plan.base["path"]]
            assert rendered.images.shape == (20, 32, 32, 3)
            assert rendered.name == plan.recipe.name
            assert rendered.labels.tolist() != images.labels.tolist()
            assert sorted(rendered.labels) == sorted(images.labels)
            assert "images" not in plan.record()


def test_test_sets_take_base_images_in_turns():
    """None recurs before the base is used up, then in another order; the record says which turn was whose."""
    settings, like = small(test_sets=40, set_size=90, source="cifar10"), splits(n=400)
    planned = sets_of(settings, "test", like, 5)
    turns = {plan.base["turn"]: plan for plan in planned}
    assert sorted(turns) == list(range(40))
    size = len(like.test_base)
    shown = [set(base_images(turns[i], like.test_base, {}).hashes()) for i in range(40)]
    round_of = size // 90
    assert round_of > 1
    assert len(set().union(*shown[:round_of])) == 90 * round_of
    assert shown[round_of] not in shown[:round_of]


def recipes_file(path, recipes):
    path.write_text("".join(recipe.to_json() + "\n" for recipe in recipes))
    return str(path)


def test_recipes_of_ones_own_make_the_meta_train_sets_and_the_seen_ones(tmp_path):
    own = draw_recipes("corruptions", 30, 7, 15, prefix="mine", ops_per_set=(1, 1))
    settings = small(recipes=recipes_file(tmp_path / "mine.jsonl", own), source="cifar10")
    planned = sets_of(settings, "test", splits(), 5, own)
    mine = set().union(*(recipe.families for recipe in own))
    for plan in planned:
        assert (plan.family in mine) == (plan.group == "seen")
        assert plan.recipe.ops[0] == ("sample", {"n": 20})
    assert "mine.jsonl" not in json.dumps(settings.public())
    assert "train_sets" not in settings.public()


@pytest.mark.parametrize("changes", [{}, {"val_sets": 0}, {"val_sets": 0, "test_sets": 0}])
def test_sets_larger_than_their_base_are_refused_with_both_numbers(changes, tmp_path):
    np.savez(tmp_path / "own.npz")
    settings = small(set_size=50, test_from=(str(tmp_path / "own.npz"),), **changes)
    with pytest.raises(
        UnusableInput, match=r"160 test images for all parts, and 40 of them for \w+ sets, of 50"
    ):
        plan_accuracy(settings, splits(), 5, None)
    (tmp_path / "own.npz").unlink()
    with pytest.raises(UnusableInput, match="no such file"):
        plan_accuracy(settings, splits(), 5, None)
    own = [Recipe(name, 0, (("sample", {"n": 41}),)) for name in ("a", "b")]
    with pytest.raises(UnusableInput, match="'a' draws 41 images"):
        plan_accuracy(small(recipes=recipes_file(tmp_path / "x.jsonl", own)), splits(), 5, None)


def test_sub_populations_are_whole_neighbouring_clusters_of_what_a_network_sees():
    settings, seen = small(group="natural-like", train_sets=30, set_size=20), []
    rng = np.random.default_rng(0)

    def look(images):
        seen.append(images.name)
        return rng.normal(size=(len(images), 3)), rng.uniform(size=len(images))

    base = splits(n=400).meta_base
    kinds = Counter(recipe.selection for recipe in plan_train(settings, base, look))
    assert seen == ["meta_base"]
    assert kinds.keys() == {"sample", "resample_classes", "among"}


def test_as_in_datacv_whole_sets_keep_the_order_of_the_base_and_all_else_of_their_recipes():
    base = splits().meta_base
    drawn = plan_train(small(set_size=40), base, None)
    assert plan_train(small(set_size=39, datacv_splits=True), base, None)[0].selection == "sample"
    assert {recipe.selection for recipe in drawn} == {"sample"}
    whole = [Recipe(recipe.name, recipe.seed, recipe.pixel_ops) for recipe in drawn]
    assert plan_train(small(set_size=40, datacv_splits=True), base, None) == whole


def test_blobs_are_numbered_from_the_least_sure_on():
    rng = np.random.default_rng(0)
    blob = np.repeat([2, 0, 1], 60)
    features = (np.eye(3)[blob] * 50 + rng.normal(size=(180, 3))).astype(np.float16)
    confidence = np.array([0.4, 0.9, 0.6])[blob]
    np.testing.assert_array_equal(hard_to_easy(features, confidence, 0), np.array([0, 2, 1])[blob])
    assert set(hard_to_easy(np.ones((20, 4), np.float16), np.ones(20), 0)) == {0}
