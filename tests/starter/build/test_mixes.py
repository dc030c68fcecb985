"""Planning mixes: how many images of either kind, which OOD sets, and families that stay whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from starter.build.mixes import Sizes, draw_apart, draw_mixes, part_sets, split_families
from starter.sets.mix import LEAST, family
from submission import UnusableInput


def philox(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def test_hidden_shares_are_uniform():
    sizes, rng = Sizes(500, 500), philox()
    shares = np.array([sizes.draw(rng)[0] / 500 for _ in range(2000)])
    assert stats.kstest(shares, stats.uniform(0.2, 0.6).cdf).pvalue > 0.01


@given(
    st.integers(0, 10_000),
    st.one_of(
        st.tuples(st.integers(least, 900), st.just(ratio))
        for ratio, least in {"hidden": 40, "1:1": 40, "9:1": 200, "1:30": 620}.items()
    ),
)
def test_a_mix_of_a_fixed_size_has_that_size_and_no_more_of_a_kind_than_it_may(seed, asked):
    n, ratio = asked
    sizes = Sizes(n, n, ratio)
    ind, ood = sizes.draw(philox(seed))
    assert ind + ood == n
    assert LEAST <= ind <= sizes.most[0] <= n - LEAST
    assert LEAST <= ood <= sizes.most[1] <= n - LEAST


@pytest.mark.parametrize(("ratio", "ind"), [("1:1", 250), ("4:1", 400), ("24:1", 480), ("1:24", 20)])
def test_a_ratio_is_kept(ratio, ind):
    sizes = Sizes(500, 500, ratio)
    assert sizes.draw(philox()) == sizes.most == (ind, 500 - ind)
    assert sizes.needed(7) == 7 * ind


def test_any_ratio_draws_both_sizes():
    drawn = np.array([Sizes(100, 800, "any").draw(philox(seed)) for seed in range(300)])
    assert drawn.min(0).tolist() >= [100, 100]
    assert (drawn.max(0) > 780).all()
    assert Sizes(100, 800, "any").most == (800, 800)


@pytest.mark.parametrize("arguments", [(125, 125), (100, 400), (100, 800, "any")])
@pytest.mark.parametrize("count", [3, 40])
def test_so_many_ind_images_suffice_but_in_one_of_many_draws(arguments, count):
    sizes, rng = Sizes(*arguments), philox(count)
    sums = np.array([sum(sizes.draw(rng)[0] for _ in range(count)) for _ in range(2000)])
    assert (sums > sizes.needed(count)).mean() < 0.005
    assert sizes.needed(count) < 1.1 * sums.max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((39, 100), "40 <= LOW"),
        ((100, 50), "LOW <= HIGH"),
        ((199, 300, "9:1"), "200 <= LOW <= HIGH, since a mix of 9:1 has 20 images of each kind at least"),
        ((19, 30, "any"), "20 <= LOW"),
        ((100, 100, "1:0"), "--ratio"),
        ((100, 100, "half"), "--ratio"),
        ((100, 100, "nan:1"), "--ratio"),
        ((100, 100, "inf:1"), "--ratio"),
    ],
)
def test_sizes_that_make_no_mix_are_refused(arguments, message):
    with pytest.raises(UnusableInput, match=message):
        Sizes(*arguments)


def test_every_ood_set_is_mixed_as_often_as_any_other():
    mixes = draw_mixes(30, Sizes(100, 100), {"a": 90, "b_1": 95, "b_2": 80}, philox(), "train")
    assert sorted(mix.ood_set for mix in mixes) == ["a"] * 10 + ["b_1"] * 10 + ["b_2"] * 10
    assert mixes[0].name == "train_0001"
    assert len({mix.seed for mix in mixes}) == 30


def test_mixes_apart_take_turns_as_far_as_images_reach():
    pools = {"a": 400, "b": 170, "c": 79, "d": 240}
    mixes = draw_apart(9, Sizes(100, 100), 720, pools, philox(), "test")
    assert sorted(mix.ood_set for mix in mixes) == list("aaaabbddd")
    assert sum(mix.ind for mix in mixes) <= 720
    with pytest.raises(ValueError, match="11 mixes cannot be drawn"):
        draw_apart(11, Sizes(100, 100), 2000, pools, philox(), "test")
    with pytest.raises(ValueError, match="9 mixes cannot be drawn from 100 IND"):
        draw_apart(9, Sizes(100, 100), 100, pools, philox(), "test")


def test_shares_of_mixes_apart_are_uniform_however_few_images_there_are():
    """The range must not narrow as images run short, in the last mixes least of all."""
    sizes, shares = Sizes(125, 125), []
    for seed in range(60):
        mixes = draw_apart(40, sizes, sizes.needed(40), {"a": 2000, "b": 2000}, philox(seed), "test")
        shares.append([mix.ind / 125 for mix in mixes])
    for drawn in (np.array(shares), np.array(shares)[:, -10:]):
        assert stats.kstest(drawn.ravel(), stats.uniform(0.2, 0.6).cdf).pvalue > 0.01


NAMES = [
    f"{source}_{i}"
    for source, n in zip("abcdefghij", (9, 1, 2, 1, 1, 3, 1, 1, 1, 1), strict=True)
    for i in range(n)
]


@pytest.mark.parametrize("seed", range(5))
def test_families_are_never_divided(seed):
    parts = split_families(NAMES, seed)
    assert sorted(name for names in parts.values() for name in names) == sorted(NAMES)
    families = {part: {family(name) for name in names} for part, names in parts.items()}
    assert sum(map(len, families.values())) == 10
    assert {part: len(found) for part, found in families.items()} == {"train": 6, "val": 1, "test": 3}
    assert "a" in families["train"]


def test_too_few_families_are_refused():
    with pytest.raises(UnusableInput, match="OOD sets of 4 families"):
        split_families(["a_1", "a_2", "b", "c", "d"], 0)


def test_sets_of_the_tests_own_leave_the_others_to_learn_from():
    parts = part_sets(NAMES, 0, ["y_1", "x_1", "y_2"])
    assert parts["test"] == ["x_1", "y_1", "y_2"]
    assert parts["val"] == split_families(NAMES, 0)["val"]
    assert sorted(parts["train"] + parts["val"]) == sorted(NAMES)
    assert part_sets(NAMES, 0) == split_families(NAMES, 0)
    with pytest.raises(UnusableInput, match="set 'a_77' is of the family 'a', as 'a_8' of --ood: rename"):
        part_sets(NAMES, 0, ["a_77", "x"])
    with pytest.raises(UnusableInput, match=r"one family of OOD sets \(x\), two are needed"):
        part_sets(NAMES, 0, ["x_1", "x_2"])
