"""Judges of single images: what they learn from, what they remember."""

import numpy as np
import pytest
import torch

from oracle.unseen_best.judge import Judge, Tables, scaled

RNG = np.random.default_rng(0)


def made_up(n):
    """A set whose first rich indicator and fourth of SYP's tell what is right."""
    right = RNG.random(n) < 0.6
    rich, syp = RNG.random((n, 3)).astype(np.float32), RNG.random((n, 5)).astype(np.float32)
    rich[:, 0] += right
    syp[:, 3] += right
    return Tables(rich, scaled(syp)), right


SETS = [made_up(200) for _ in range(6)]
SOURCE = made_up(100)


def judge(most=10_000, steps=20):
    sets, right = zip(*SETS, strict=True)
    return Judge.of(sets, right, *SOURCE, {"trees": 30, "leaves": 7}, most, steps, 0)


def test_both_tell_right_from_wrong():
    learnt, (tables, right) = judge(steps=1500), made_up(400)
    assert ((learnt.probabilities(tables) > 0.5) == right).mean() > 0.95
    assert learnt.share(tables) == pytest.approx(right.mean(), abs=0.05)


def test_columns_are_scaled_by_the_sets_own_range():
    table = RNG.normal(3, 5, (50, 5)).astype(np.float32)
    table[:, 1] = 4
    before = table.copy()
    found = scaled(table)
    assert (table == before).all()
    assert (found[:, 1] == 0).all()
    assert found[:, 0] == pytest.approx((table[:, 0] - table[:, 0].min()) / np.ptp(table[:, 0]), abs=1e-6)


def test_the_global_generator_is_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    judge(steps=2)
    assert torch.rand(1) == expected


@pytest.mark.parametrize("steps", [0, 20])
def test_what_is_kept_judges_the_same(steps):
    learnt, (tables, _) = judge(most=300, steps=steps), made_up(60)
    again = Judge.restore(learnt.state())
    np.testing.assert_array_equal(again.probabilities(tables), learnt.probabilities(tables))
    if steps:
        assert again.share(tables) == learnt.share(tables)
    else:
        assert again.network is None
