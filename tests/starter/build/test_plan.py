"""Plans: what a build refuses to plan, how many sets of which group, and what val and test share."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest
from asked import accuracy_settings
from large import SETS, large_competition

from leaderboard.board.part import families_of
from starter.build.plan import FEW_CLASSES, InTurn, OfSplit, Planned, plan_part, plan_train
from starter.build.settings import read_settings
from starter.images.imageset import ImageSet
from starter.operations import GROUPS
from starter.sets.recipe import Recipe, draw_recipes
from starter.sources.glyphs.digits import NATURAL
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.solution import solution_of

SEVEN = ["autocontrast", "brightness", "color", "solarize", "contrast", "affine", "sharpen"]


def labelled(name, labels, seed=0, side=32):
    labels = np.asarray(labels, np.int64)
    images = np.random.default_rng(seed).integers(256, size=(len(labels), side, side, 3), dtype=np.uint8)
    return ImageSet(name, images, labels)


def splits(k=10, n=40):
    names = ("train", "reference", "meta_base", "val_base", "test_base")
    parts = [labelled(name, np.arange(n) % k, seed) for seed, name in enumerate(names)]
    return Splits(tuple(f"c{i}" for i in range(k)), *parts)


def write(path, labels):
    images = labelled("x", labels)
    np.savez(path, images=images.images, labels=images.labels)
    return str(path)


def small(**changes):
    return accuracy_settings(**{"set_size": 20, **changes})


def train_of(settings):
    return plan_train(settings, settings.plan)


def sets_of(settings, part, like, seed):
    return plan_part(settings, settings.plan, part, like, seed)


def groups(planned):
    return Counter(plan.group for plan in planned)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_sets": 1}, "--train-sets must be at least 2, got 1"),
        ({"val_sets": -1}, "--val-sets must be at least 0, got -1"),
        ({"test_sets": -1}, "--test-sets must be at least 0, got -1"),
        ({"set_size": 1}, "--set-size must be at least 2, got 1"),
        ({"seed": -1}, "--seed must be at least 0, got -1"),
        ({"skip_unreadable": 2.0}, "--skip-unreadable must be below 1.0, got 2.0"),
        ({"skip_unreadable": "few"}, "--skip-unreadable must be a number, got 'few'"),
        ({"seed": 2**63}, "--seed must be at most 9223372036854775807, got 9223372036854775808"),
        ({"train_sets": 10**12}, "--train-sets must be at most 100000, got 1000000000000"),
        ({"source": "a\nb"}, r"--source 'a\\nb': a name or a path of printable characters"),
        ({"classifiers": ("tiny=a.pt", "Tiny=b.pt")}, "--classifier tiny is given twice"),
        ({"classifiers": ()}, "at least one --classifier"),
        ({"classifiers": ("small", "a=x.pt", "small=y.pt")}, "--classifier small is given twice"),
        ({"test_sets": 1}, "--test-sets must be at least 2: one for the public score"),
        ({"test_sets": 0}, "needs test sets: --test-sets above 0, or --test-from PATH"),
        ({"group": "weather"}, "--group 'weather' is unknown; there are default, a, b, corruptions, wide"),
        ({"ops_per_set": (2, 1)}, "--ops-per-set must be LOW HIGH with 0 <= LOW <= HIGH <= 7, got 2 1"),
        ({"ops_per_set": (3, 8)}, "HIGH <= 7, got 3 8"),
        ({"ops_per_set": (-1, 2)}, "0 <= LOW"),
        ({"precision": "half"}, "--precision must be one of float32, float16, bfloat16, got 'half'"),
        ({"engine": "onnx"}, "--engine must be torch or openvino, got 'onnx'"),
        ({"feedback": "none"}, "--feedback must be rounded or ladder or guarded, got 'none'"),
        ({"decimals": 10}, "--decimals must be at most 9, got 10"),
        ({"daily_limit": -1}, "--daily-limit must be at least 0, got -1"),
        ({"total_limit": 10**7}, "--total-limit must be at most 1000000, got 10000000"),
        *(
            ({"deadline": text}, "--deadline must be a date with a time, such as 2026-12-31T23:59 .UTC., got")
            for text in (
                "soon",
                "2026-12-31",
                "12:00",
                "2026-12-31T25:00",
                "2026-12-31T12:00:00.5",
                "0001-01-01T00:00+01:00",
            )
        ),
        ({"hidden": True}, "--hidden needs test images of your own: --test-sets 0 and --test-from PATH"),
        ({"hidden": True, "test_from": ("x",)}, "--hidden needs test images of your own"),
        (
            {"val_from": ("x/a",), "test_from": ("y", "x/b/../a")},
            "--val-from x/a and --test-from x/b/../a share",
        ),
        ({"val_from": ("x/a.zip/cats",), "test_from": ("x/a.zip",)}, "share images"),
        ({"val_from": ("x",), "test_from": ("x/a",)}, "share images"),
    ],
)
def test_settings_are_refused_one_by_one(changes, message):
    with pytest.raises(UnusableInput, match=message):
        accuracy_settings(**changes)


def test_settings_at_the_borders_are_taken():
    accuracy_settings(train_sets=2, val_sets=0, test_sets=0, test_from=("x",), set_size=2, seed=2**63 - 1)
    accuracy_settings(ops_per_set=(0, 0), precision="bfloat16", classifiers=("a=x", "b=x"))
    accuracy_settings(test_sets=0, test_from=("x/a", "x/b"), val_from=("x/c", "x/ab"), hidden=True)


@pytest.mark.parametrize(
    "text", ["2026-12-31T23:30", "2026-12-31 23:30:00", "2026-12-31T23:30Z", "2027-01-01T01:30+02:00"]
)
def test_rules_of_a_competition_come_from_settings(text):
    assert accuracy_settings(deadline=text, total_limit=7, feedback="ladder", decimals=3).rules() == {
        "feedback": "ladder",
        "decimals": 3,
        "deadline": datetime(2026, 12, 31, 23, 30, tzinfo=timezone.utc),
        "daily_limit": None,
        "total_limit": 7,
    }
    assert accuracy_settings().rules()["deadline"] is None


@pytest.mark.parametrize(
    ("given", "feedback", "daily"),
    [
        ({}, "rounded", 5),
        ({"daily_limit": 0}, "rounded", None),
        ({"feedback": "ladder"}, "ladder", None),
        ({"hidden": True}, "guarded", None),
        ({"hidden": True, "feedback": "rounded"}, "rounded", 5),
        ({"hidden": True, "daily_limit": 3}, "guarded", 3),
    ],
)
def test_the_feedback_left_out_is_by_whether_the_test_is_hidden_and_the_limit_by_the_feedback(
    given, feedback, daily
):
    images = {"test_sets": 0, "test_from": ("x",)} if "hidden" in given else {}
    settings = accuracy_settings(**given, **images)
    rules = settings.rules()
    assert (rules["feedback"], rules["daily_limit"]) == (feedback, daily)
    assert read_settings(json.loads(json.dumps(settings.record()))) == settings


def test_settings_come_back_and_tell_differences():
    one = small(classifiers=("a=x", "b"), test_from=("p",))
    assert read_settings(json.loads(json.dumps(one.record()))) == one
    assert one.differences(one) == []
    assert one.differences(small(classifiers=("a=x", "b"), seed=4)) == [
        "--test-from: ('p',) here, () asked for",
        "--seed: 0 here, 4 asked for",
    ]


def test_public_settings_tell_no_path_and_nothing_of_the_test_sets():
    settings = small(
        source="/home/ann/photos.zip",
        classifiers=("net=/home/ann/w.pt",),
        test_from=("/mnt/a",),
        val_from=("/mnt/b",),
    )
    shown = settings.public()
    assert (shown["train_sets"], shown["set_size"], shown["ops_per_set"]) == (120, 20, [3, 3])
    assert "/" not in json.dumps(shown)
    assert json.loads(json.dumps(shown)) == shown
    assert small(test_sets=40).public() == small(test_sets=7, test_from=("x",)).public()


def test_meta_train_is_drawn_from_the_public_seed():
    recipes = train_of(small(train_sets=30, ops_per_set=(1, 3)))
    assert recipes == train_of(small(train_sets=30, ops_per_set=(1, 3), test_sets=9))
    assert recipes != train_of(small(train_sets=30, ops_per_set=(1, 3), seed=1))
    assert [recipe.name for recipe in recipes] == [f"train_{i:04d}" for i in range(1, 31)]
    assert {len(recipe.families) for recipe in recipes} == {1, 2, 3}
    assert set().union(*(recipe.families for recipe in recipes)) <= set(SEVEN)
    assert {recipe.ops[0] == ("sample", {"n": 20}) for recipe in recipes} == {True}


@pytest.mark.parametrize("part", ["val", "test"])
def test_the_same_seed_gives_the_same_plan(part):
    settings, like = small(test_sets=20, val_sets=20), splits()
    one = [plan.record() for plan in sets_of(settings, part, like, 5)]
    assert [plan.record() for plan in sets_of(settings, part, like, 5)] == one
    assert [plan.record() for plan in sets_of(settings, part, like, 6)] != one
    seeds = [plan["recipe"] for plan in one]
    assert len(set(seeds)) == 20


def test_the_test_seed_tells_nothing_of_validation_and_the_other_way_round():
    settings, like = small(test_sets=20, val_sets=20), splits()
    val, test = (sets_of(settings, part, like, 0) for part in ("val", "test"))
    assert not {plan.recipe.seed for plan in val} & {plan.recipe.seed for plan in test}


def test_names_are_neutral_and_the_order_is_shuffled():
    planned = sets_of(small(), "test", splits(), 5)
    assert [plan.recipe.name for plan in planned] == [f"test_{i:04d}" for i in range(1, 49)]
    order = [plan.group for plan in planned]
    assert [plan.group for plan in sets_of(small(), "test", splits(), 6)] != order
    for group, count in Counter(order).items():
        places = [i for i, other in enumerate(order) if other == group]
        assert places[-1] - places[0] >= count, f"{group} stands in one block"


@pytest.mark.parametrize(
    ("source", "count", "expected"),
    [
        ("glyphs", 48, {"seen": 12, "unseen": 18, "natural": 18}),
        ("glyphs", 24, {"seen": 6, "unseen": 9, "natural": 9}),
        ("cifar10", 20, {"seen": 8, "unseen": 12}),
        ("photos.zip", 2, {"seen": 1, "unseen": 1}),
        ("glyphs", 2, {"seen": 0, "unseen": 1, "natural": 1}),
    ],
)
def test_groups_are_counted(source, count, expected):
    settings = small(source=source, test_sets=count, val_sets=count)
    for part in ("val", "test"):
        assert groups(sets_of(settings, part, splits(), 5)) == Counter(expected)


def test_seen_sets_use_the_meta_train_operations_and_unseen_ones_do_not():
    for plan in sets_of(small(ops_per_set=(1, 2)), "test", splits(), 5):
        families = plan.recipe.families
        if plan.group == "seen":
            assert families <= set(SEVEN)
            assert plan.family == "+".join(sorted(families))
        if plan.group == "unseen":
            assert families == {plan.family}
            assert plan.family in GROUPS["corruptions"]
            assert 1 <= plan.recipe.ops[1][1]["severity"] <= 5
        if plan.group == "natural":
            assert str(plan.base) == f"natural:{plan.family}"
            assert plan.family in NATURAL


def test_meta_train_sets_of_corruptions_leave_the_other_operations_unseen():
    settings = small(group="corruptions", source="cifar10", test_sets=20, val_sets=5)
    planned = sets_of(settings, "test", splits(), 5)
    assert groups(planned) == {"seen": 8, "unseen": 12}
    unseen = {plan.family for plan in planned if plan.group == "unseen"}
    assert unseen <= set(SEVEN)
    assert not unseen & {
        plan.family for plan in sets_of(settings, "val", splits(), 0) if plan.group == "unseen"
    }


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_val_and_test_share_no_unseen_and_no_natural_family(seed):
    settings = small(val_sets=60, test_sets=90, seed=seed)
    shared = [
        {plan.family for plan in sets_of(settings, part, splits(), 9) if plan.group != "seen"}
        for part in ("val", "test")
    ]
    assert len(shared[0]) == len(GROUPS["corruptions"]) // 4 + len(NATURAL) // 4
    assert not shared[0] & shared[1]
    assert shared[0] | shared[1] == {*GROUPS["corruptions"], *NATURAL}


def test_without_validation_the_test_has_every_family():
    planned = sets_of(small(val_sets=0, test_sets=100), "test", splits(), 9)
    assert {plan.family for plan in planned if plan.group != "seen"} == {*GROUPS["corruptions"], *NATURAL}
    assert sets_of(small(val_sets=0), "val", splits(), 9) == []


@pytest.mark.parametrize(
    ("k", "labels", "group"),
    [
        (10, range(10), "natural"),
        (10, range(FEW_CLASSES), "natural"),
        (10, range(FEW_CLASSES - 1), "natural-few"),
        (10, [0, 3], "natural-few"),
        (3, [0, 1, 2], "natural"),
        (3, [0, 1], "natural-few"),
    ],
)
def test_natural_sets_with_few_classes_are_a_group_of_their_own(tmp_path, k, labels, group):
    path = write(tmp_path / "photos.npz", np.repeat(list(labels), 2))
    planned = sets_of(small(val_sets=0, val_from=(path,)), "val", splits(k), 5)
    assert [(plan.group, plan.family, str(plan.base)) for plan in planned] == [
        (group, "photos", f"path:{path}")
    ]


def test_sets_at_paths_are_cut_to_size_resized_and_named_neutrally(tmp_path):
    for name in "abc":
        np.savez(
            tmp_path / f"{name}.npz",
            images=labelled(name, [0] * 30, side=40).images,
            labels=np.arange(30) % 10,
        )
    settings = small(source="cifar10", test_sets=5, test_from=(str(tmp_path),), set_size=20)
    planned = sets_of(settings, "test", splits(), 5)
    assert groups(planned) == {"seen": 2, "unseen": 3, "natural": 3}
    assert [plan.recipe.name for plan in planned] == [f"test_{i:04d}" for i in range(1, 9)]
    for plan in planned:
        if plan.group == "natural":
            rendered = plan.render(splits().test_base)
            assert rendered.images.shape == (20, 32, 32, 3)
            assert rendered.name == plan.recipe.name
            assert rendered.labels.tolist() != plan.base.images.labels.tolist()
            assert sorted(rendered.labels) == sorted(plan.base.images.labels)
            assert "images" not in plan.record()


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(UnusableInput, match="gone: no such file or folder"):
        sets_of(small(test_from=(str(tmp_path / "gone"),)), "test", splits(), 5)


def test_planned_sets_render_the_same_again_with_their_labels():
    settings, like = small(test_sets=8, set_size=30, ops_per_set=(1, 1)), splits()
    planned = sets_of(settings, "test", like, 5)
    assert groups(planned).keys() == {"seen", "unseen", "natural"}
    for plan in planned:
        one, other = plan.render(like.test_base), plan.render(like.test_base)
        assert one.name == plan.recipe.name
        assert len(one) == 30
        assert one.digest == other.digest
        if isinstance(plan.base, InTurn):
            mine = plan.base.images_for(plan.recipe, like.test_base)
            np.testing.assert_array_equal(one.labels, mine.labels[plan.recipe.indices(mine)])


def test_test_sets_take_base_images_in_turns():
    """None recurs before the base is used up, then in another order; the record says which turn was whose."""
    settings, like = small(test_sets=40, set_size=90, source="cifar10"), splits(n=400)
    planned = sets_of(settings, "test", like, 5)
    turns = {plan.base.turn: plan for plan in planned}
    assert sorted(turns) == list(range(40))
    size = len(like.test_base)
    shown = [set(turns[i].base.images_for(turns[i].recipe, like.test_base).hashes()) for i in range(40)]
    round_of = size // 90
    assert round_of > 1
    assert len(set().union(*shown[:round_of])) == 90 * round_of
    assert shown[round_of] not in shown[:round_of]
    for plan in planned[:3]:
        assert Planned.from_record(plan.record()) == plan


def test_wide_has_every_operation_so_nothing_is_unseen():
    settings = small(group="wide", train_sets=60, source="cifar10")
    assert settings.plan.ops_per_set == (0, 3)
    assert groups(sets_of(settings, "test", splits(), 5)) == {"seen": 48}
    assert "class_prior" in set().union(*(recipe.families for recipe in plan_train(settings, settings.plan)))


def test_natural_like_sets_leave_nearly_all_corruptions_unseen():
    settings = small(group="natural-like", train_sets=60, source="cifar10", val_sets=0)
    assert settings.plan.ops_per_set == (0, 3)
    planned = sets_of(settings, "test", splits(), 5)
    assert groups(planned) == {"seen": 19, "unseen": 29}
    assert "jpeg_compression" not in {plan.family for plan in planned if plan.group == "unseen"}


def test_groups_are_joined_and_what_any_has_is_seen():
    settings = small(group="wide+natural-like", source="cifar10", val_sets=0)
    assert settings.plan.ops_per_set == (0, 3)
    assert groups(sets_of(settings, "test", splits(), 5)) == {"seen": 48}
    assert small(group="default+natural-like", source="cifar10").plan.ops_per_set == ()
    with pytest.raises(UnusableInput, match="--group 'wide\\+own' is unknown; there are default"):
        small(group="wide+own", source="cifar10")


@pytest.mark.parametrize(("group", "missing"), [("a", "fog"), ("b", "jpeg_compression")])
def test_a_corruption_that_a_group_has_a_variant_of_is_not_unseen(group, missing):
    planned = sets_of(small(group=group, source="cifar10", val_sets=0), "test", splits(), 5)
    assert missing not in {plan.family for plan in planned if plan.group == "unseen"}
    assert groups(planned) == {"seen": 19, "unseen": 29}


def recipes_file(path, recipes):
    path.write_text("".join(recipe.to_json() + "\n" for recipe in recipes))
    return str(path)


def test_recipes_of_ones_own_make_the_meta_train_sets_and_the_seen_ones(tmp_path):
    own = draw_recipes("corruptions", 30, 7, 15, prefix="mine", ops_per_set=(1, 1))
    settings = small(recipes=recipes_file(tmp_path / "mine.jsonl", own), source="cifar10")
    assert plan_train(settings, settings.plan) == own
    planned = sets_of(settings, "test", splits(), 5)
    mine = set().union(*(recipe.families for recipe in own))
    for plan in planned:
        assert (plan.family in mine) == (plan.group == "seen")
        assert plan.recipe.ops[0] == ("sample", {"n": 20})
    assert "mine.jsonl" not in json.dumps(settings.public())
    assert "train_sets" not in settings.public()


def test_recipes_that_cannot_be_used_are_told(tmp_path):
    one = draw_recipes("default", 1, 7, 15)
    taken = [replace(one[0], name="val_0001"), one[0]]
    for recipes, message in (
        (one, "2 recipes or more are needed"),
        (taken, "'val_0001' is the name of another"),
    ):
        with pytest.raises(UnusableInput, match=message):
            train_of(small(recipes=recipes_file(tmp_path / "x.jsonl", recipes)))
    with pytest.raises(UnusableInput, match=r"(?i)no such file"):
        train_of(small(recipes=str(tmp_path / "none.jsonl")))


def test_a_deadline_that_has_passed_is_refused():
    noon = datetime(2026, 5, 10, 12, tzinfo=timezone.utc)
    accuracy_settings().check_deadline(noon)
    accuracy_settings(deadline="2026-05-10T12:01").check_deadline(noon)
    for passed in ("2026-05-10T12:00", "2026-05-10T13:30+02:00"):
        with pytest.raises(UnusableInput, match=f"--deadline {re.escape(passed)} has passed: give a time in"):
            accuracy_settings(deadline=passed).check_deadline(noon)


def test_the_record_that_a_build_writes_is_read(tmp_path):
    competition = large_competition(tmp_path / "contest")
    planned = [Planned(OfSplit(), Recipe(name, 7, (("sample", {"n": 500}),)), "seen", "one") for name in SETS]
    (competition.private / "build.json").write_text(json.dumps({"test": [plan.record() for plan in planned]}))
    assert len(families_of(competition, solution_of(competition))) == 2  # in two groups
