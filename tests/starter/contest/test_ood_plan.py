"""Plans of mixes: how many images of either kind, which OOD sets, families that stay whole, and too few images."""

import cv2
import numpy as np
import pytest
from asked import ood_settings
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from starter.contest.ood import plan
from starter.data.sets.mix import LEAST, family
from starter.data.sources.glyphs.digits import CLASSES
from starter.data.sources.sources import load_source
from submission import UnusableInput


def philox(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def sized(low, high, ratio="hidden", **others):
    return ood_settings(sizes=(low, high), ratio=ratio, **others)


@given(
    st.integers(0, 10_000),
    st.one_of(
        st.tuples(st.integers(least, 900), st.just(ratio))
        for ratio, least in {"hidden": 40, "1:1": 40, "9:1": 200, "1:30": 620}.items()
    ),
)
def test_a_mix_of_a_fixed_size_has_that_size_and_no_more_of_a_kind_than_it_may(seed, asked):
    n, ratio = asked
    settings = sized(n, n, ratio)
    ind, ood = plan.draw_counts(settings, philox(seed))
    most = plan.most_images(settings)
    assert ind + ood == n
    assert LEAST <= ind <= most[0] <= n - LEAST
    assert LEAST <= ood <= most[1] <= n - LEAST


@pytest.mark.parametrize(("ratio", "ind"), [("1:1", 250), ("4:1", 400), ("24:1", 480), ("1:24", 20)])
def test_a_ratio_is_kept(ratio, ind):
    settings = sized(500, 500, ratio)
    assert plan.draw_counts(settings, philox()) == plan.most_images(settings) == (ind, 500 - ind)
    assert plan.ind_needed(settings, 7) == 7 * ind


@pytest.mark.parametrize(("arguments", "count"), [((125, 125), 40), ((100, 800, "any"), 3)])
@pytest.mark.slow
def test_so_many_ind_images_suffice_but_in_one_of_many_draws(arguments, count):
    settings, rng = sized(*arguments), philox(count)
    sums = np.array([sum(plan.draw_counts(settings, rng)[0] for _ in range(count)) for _ in range(2000)])
    assert (sums > plan.ind_needed(settings, count)).mean() < 0.005
    assert plan.ind_needed(settings, count) < 1.1 * sums.max()


def test_every_ood_set_is_mixed_as_often_as_any_other():
    mixes = plan.draw_mixes(
        sized(100, 100, train_sets=30), "train", {"a": 90, "b_1": 95, "b_2": 80}, philox()
    )
    assert sorted(mix.ood_set for mix in mixes) == ["a"] * 10 + ["b_1"] * 10 + ["b_2"] * 10
    assert mixes[0].name == "train_0001"
    assert len({mix.seed for mix in mixes}) == 30


def test_mixes_apart_take_turns_as_far_as_images_reach():
    pools = {"a": 400, "b": 170, "c": 79, "d": 240}
    mixes = plan.draw_apart(sized(100, 100, test_sets=9), 720, pools, philox())
    assert sorted(mix.ood_set for mix in mixes) == list("aaaabbddd")
    assert sum(mix.ind for mix in mixes) <= 720
    with pytest.raises(ValueError, match="11 mixes cannot be drawn"):
        plan.draw_apart(sized(100, 100, test_sets=11), 2000, pools, philox())
    with pytest.raises(ValueError, match="9 mixes cannot be drawn from 100 IND"):
        plan.draw_apart(sized(100, 100, test_sets=9), 100, pools, philox())
    assert len(plan.draw_apart(sized(100, 100, "1:1", test_sets=4), 200, {"a": 200}, philox())) == 4
    with pytest.raises(ValueError, match="4 mixes cannot be drawn from 199 IND"):
        plan.draw_apart(sized(100, 100, "1:1", test_sets=4), 199, {"a": 200}, philox())


def test_shares_of_mixes_apart_are_uniform_however_few_images_there_are():
    """The range must not narrow as images run short, in the last mixes least of all."""
    settings, shares = sized(125, 125), []
    for seed in range(60):
        mixes = plan.draw_apart(settings, plan.ind_needed(settings, 40), {"a": 2000, "b": 2000}, philox(seed))
        shares.append([mix.ind / 125 for mix in mixes])
    for drawn in (np.array(shares), np.array(shares)[:, -10:]):
        assert stats.kstest(drawn.ravel(), stats.uniform(0.2, 0.6).cdf).pvalue > 0.01


NAMES = [
    f"{source}_{i}"
    for source, n in zip("abcdefghij", (9, 1, 2, 1, 1, 3, 1, 1, 1, 1), strict=True)
    for i in range(n)
]


@pytest.mark.parametrize("seed", range(3))
def test_families_are_never_divided(seed):
    parts = plan.split_families(NAMES, seed)
    assert sorted(name for names in parts.values() for name in names) == sorted(NAMES)
    families = {part: {family(name) for name in names} for part, names in parts.items()}
    assert sum(map(len, families.values())) == 10
    assert {part: len(found) for part, found in families.items()} == {"train": 6, "val": 1, "test": 3}
    assert "a" in families["train"]
    with pytest.raises(UnusableInput, match="OOD sets of 4 families"):
        plan.split_families(["a_1", "a_2", "b", "c", "d"], 0)


def test_sets_of_the_tests_own_leave_the_others_to_learn_from():
    parts = plan.part_sets(NAMES, 0, ["y_1", "x_1", "y_2"])
    assert parts["test"] == ["x_1", "y_1", "y_2"]
    assert parts["val"] == plan.split_families(NAMES, 0)["val"]
    assert sorted(parts["train"] + parts["val"]) == sorted(NAMES)
    assert plan.part_sets(NAMES, 0) == plan.split_families(NAMES, 0)
    with pytest.raises(UnusableInput, match="set 'a_77' is of the family 'a', as 'a_8' of ood: rename"):
        plan.part_sets(NAMES, 0, ["a_77", "x"])
    with pytest.raises(UnusableInput, match=r"one family of OOD sets \(x\), two are needed"):
        plan.part_sets(NAMES, 0, ["x_1", "x_2"])


def test_class_images_are_resized_as_all_others(tmp_path):
    splits = load_source("glyphs", 0)
    for name in "abcde":
        for number in range(40):
            image = philox(100 * ord(name) + number).integers(200, 256, (32, 16, 3), np.uint8)
            path = tmp_path / f"zoo/{name}/{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), image)
    manifest = tmp_path / "classes.csv"
    manifest.write_text("source,class,assignment\n" + "".join(f"zoo,{name},far\n" for name in "abcde"))
    asked = {"ood": "", "classes": str(manifest), "images": str(tmp_path)}
    for resize, border in (("pad", 0), ("crop", 200)):
        found, _ = plan.ood_sets(ood_settings(resize=resize, **asked), splits, splits.test_base)
        assert [each.images[:, :, 0].min() >= border for each in found.values()] == [True] * 5
        assert [each.images[:, :, 0].max() > 0 for each in found.values()] == [resize == "crop"] * 5


SETS = {f"{name}_1": 400 for name in "abcdefghijk"}
IND = {"train": 4000, "val": 1000, "test": 3000}
"""As many as of CIFAR-10, with eleven OOD sets of each part."""


def test_the_defaults_fit_cifar_and_the_embedded_sets():
    plan.check_images(ood_settings(), IND, {"train": SETS, "val": SETS, "test": SETS})
    assert plan.read_most(ood_settings(), CLASSES) == 1000


@pytest.mark.parametrize(
    ("ind", "ood", "asked", "word"),
    [
        ({"test": 2500}, {}, {}, "need 2,911 IND images .* there are 2,500 .*test_sets 33, or a smaller"),
        ({}, {}, {"test_sets": 48, "set_size": 500}, "ask for test_sets 8, or a smaller set_size"),
        ({}, {"test": {"a": 133, "b": 900}}, {"test_sets": 9, "sizes": (150, 160)}, "for 8 mixes"),
        ({}, {"test": {"a": 133, "b": 400}}, {"set_size": 500}, "'a' of the test part has 133 .* up to 400"),
        ({"train": 90}, {}, {"set_size": 200, "test_sets": 3}, "^the train part has 90 images to draw from"),
    ],
)
def test_too_few_images_are_refused_with_what_fits(ind, ood, asked, word):
    with pytest.raises(UnusableInput, match=word):
        plan.check_images(
            ood_settings(**asked), {**IND, **ind}, {"train": SETS, "val": SETS, "test": SETS, **ood}
        )
