"""Folds by operation: what is tested, what is learnt from, and the sets' lazy subset."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixes import gaussian_mixes

from baselines.contract.conformance import example_meta_train
from baselines.contract.families import FEWEST, divided, folds, half, random_folds, side_of, subset

MIXES = gaussian_mixes(sets=40, n=400, share=(0.5, 0.5))
FAMILIES = st.lists(st.frozensets(st.sampled_from("abcde"), max_size=3), min_size=3, max_size=30)


@given(FAMILIES)
def test_each_operation_that_leaves_enough_sets_has_a_fold_that_tests_its_sets_and_learns_from_others(
    families,
):
    found = folds(families)
    for fold in found:
        assert sorted([*fold.train, *fold.test]) == list(range(len(families)))
        assert len(fold.train) >= FEWEST
        assert len(fold.test) >= 1
    left_out = [fold for fold in found if not fold.operation.startswith("part")]
    for fold in left_out:
        assert [i for i, family in enumerate(families) if fold.operation in family] == fold.test.tolist()
    without = {name: sum(name not in family for family in families) for name in frozenset().union(*families)}
    assert [fold.operation for fold in left_out] == sorted(n for n in without if without[n] >= FEWEST)


@pytest.mark.parametrize("family", [frozenset({"blur"}), frozenset({"a", "b", "c"}), frozenset()])
def test_where_no_operation_can_be_left_out_the_sets_are_divided_in_turn(family):
    found = folds([family] * 12)
    assert [fold.test.tolist() for fold in found] == [[0, 5, 10], [1, 6, 11], [2, 7], [3, 8], [4, 9]]
    assert [len(fold.train) for fold in found] == [9, 9, 10, 10, 10]


def test_three_sets_are_enough_and_two_are_not():
    assert len(folds([frozenset({"a"})] * 3)) == 3
    with pytest.raises(ValueError, match="at least 3 sets, got 2"):
        folds([frozenset({"a"}), frozenset({"b"})])


def test_a_fold_leaves_a_family_out_of_what_it_learns_from():
    test = gaussian_mixes(sets=20, seed=2)
    parts = folds(MIXES.families, test.families)
    assert sorted(i for fold in parts for i in fold.test) == list(range(20))
    for fold in parts:
        assert all(test.families[i] == {fold.operation} for i in fold.test)
        assert {MIXES.families[i] for i in fold.train} == set(MIXES.families) - {frozenset({fold.operation})}


def test_random_splits_keep_ood_sets_together_and_repeat():
    parts = random_folds(MIXES, 5)
    for fold, again in zip(parts, random_folds(MIXES, 5), strict=True):
        assert {MIXES.ood_sets[i] for i in fold.train}.isdisjoint(MIXES.ood_sets[i] for i in fold.test)
        assert (len(fold.train), len(fold.test)) == (30, 10)
        assert (fold.test == again.test).all()
    assert len({tuple(fold.test) for fold in parts}) > 1
    assert not {MIXES.families[i] for i in fold.train}.isdisjoint(MIXES.families[i] for i in fold.test)
    for fold in random_folds(replace(MIXES, ood_sets=()), 3):  # of families where OOD sets have no names
        assert {MIXES.families[i] for i in fold.train}.isdisjoint(MIXES.families[i] for i in fold.test)


def test_parts_test_every_family_once():
    parts = divided(MIXES, 5)
    assert len(parts) == 5
    assert sorted(np.concatenate([fold.test for fold in parts])) == list(range(40))
    for fold in parts:
        assert {MIXES.families[i] for i in fold.train}.isdisjoint(MIXES.families[i] for i in fold.test)
        assert len(fold.train) + len(fold.test) == 40


def test_subset_holds_the_chosen_sets_and_reads_them_when_asked():
    meta = example_meta_train(sets=6)
    part = subset(meta, np.array([4, 1]))
    assert [observation.set_name for observation in part.sets] == ["train_4", "train_1"]
    assert part.sets[1:][0] is meta.sets[1]
    assert part.targets.tolist() == meta.targets[[4, 1]].tolist()
    assert part.correct[0] is meta.correct[4]
    assert part.labels[1] is meta.labels[1]
    assert part.families == [meta.families[4], meta.families[1]]
    assert part.source is meta.source


def with_bases():
    """Made-up sets, each of 60 of 100 base images."""
    meta, rng = example_meta_train(sets=6), np.random.default_rng(0)
    return replace(meta, bases=[rng.choice(100, 60, replace=False) for _ in meta.sets])


def test_halves_share_no_base_image():
    meta = with_bases()
    sides = [half(meta, side) for side in (0, 1)]
    seen = [set(np.concatenate(side.bases)) for side in sides]
    assert seen[0].isdisjoint(seen[1])
    assert seen[0] | seen[1] == set(np.concatenate(meta.bases))
    for i, observation in enumerate(meta.sets):
        rows = [side_of(meta, side)[i] for side in (0, 1)]
        assert sorted(np.concatenate(rows)) == list(range(60))
        for side, chosen in zip(sides, rows, strict=True):
            np.testing.assert_array_equal(side.sets[i].logits, observation.logits[chosen])
            np.testing.assert_array_equal(side.sets[i].images(), observation.images()[chosen])
            assert side.targets[i] == meta.correct[i][chosen].mean()
            np.testing.assert_array_equal(side.labels[i], meta.labels[i][chosen])
    assert subset(sides[0], np.array([2])).bases[0].tolist() == sides[0].bases[2].tolist()


def test_a_set_stays_whole_where_it_cannot_be_halved():
    meta = with_bases()
    assert len(half(replace(meta, bases=[2 * each for each in meta.bases]), 1).sets[0]) == 60
    assert len(half(replace(meta, bases=()), 0).sets[0]) == 60
