"""Folds by operation: what is tested, what is learnt from, and the sets' lazy subset."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.contract.conformance import example_meta_train
from baselines.contract.families import FEWEST, folds, root_mean_square, subset

FAMILIES = st.lists(st.frozensets(st.sampled_from("abcde"), max_size=3), min_size=3, max_size=30)


@given(FAMILIES)
def test_a_fold_tests_the_sets_with_an_operation_and_learns_from_all_others(families):
    for fold in folds(families):
        assert sorted([*fold.train, *fold.test]) == list(range(len(families)))
        assert len(fold.train) >= FEWEST
        assert len(fold.test) >= 1
        if not fold.operation.startswith("part"):
            assert [fold.operation in family for family in families] == [
                i in fold.test for i in range(len(families))
            ]


@given(FAMILIES)
def test_every_operation_that_leaves_enough_sets_has_one_fold(families):
    found = [fold.operation for fold in folds(families) if not fold.operation.startswith("part")]
    without = {name: sum(name not in family for family in families) for name in "abcde"}
    present = {name for family in families for name in family}
    assert found == sorted(name for name in present if without[name] >= FEWEST)


@pytest.mark.parametrize("family", [frozenset({"blur"}), frozenset({"a", "b", "c"}), frozenset()])
def test_where_no_operation_can_be_left_out_the_sets_are_divided_in_turn(family):
    found = folds([family] * 12)
    assert [fold.test.tolist() for fold in found] == [[0, 5, 10], [1, 6, 11], [2, 7], [3, 8], [4, 9]]
    assert [len(fold.train) for fold in found] == [9, 9, 10, 10, 10]


def test_three_sets_are_enough_and_two_are_not():
    assert len(folds([frozenset({"a"})] * 3)) == 3
    with pytest.raises(ValueError, match="at least 3 sets, got 2"):
        folds([frozenset({"a"}), frozenset({"b"})])


def test_root_mean_square_weighs_folds_not_sets():
    assert root_mean_square([np.full(100, 0.0), np.array([1.0, -1.0])]) == pytest.approx(np.sqrt(0.5))


def test_subset_holds_the_chosen_sets_and_reads_them_when_asked():
    meta = example_meta_train(sets=6)
    part = subset(meta, np.array([4, 1]))
    assert [observation.set_name for observation in part.sets] == ["train_4", "train_1"]
    assert part.sets[1:][0] is meta.sets[1]
    assert part.targets.tolist() == meta.targets[[4, 1]].tolist()
    assert part.correct[0] is meta.correct[4]
    assert part.families == [meta.families[4], meta.families[1]]
    assert part.source is meta.source
