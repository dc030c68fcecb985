"""Judges of single images: what they learn from, what they remember."""

import numpy as np

from oracle.unseen_best.judge import Judge

RNG = np.random.default_rng(0)


def made_up(n):
    """A set whose first indicator tells what is right."""
    right = RNG.random(n) < 0.6
    table = RNG.random((n, 3)).astype(np.float32)
    table[:, 0] += right
    return table, right


SETS = [made_up(200) for _ in range(6)]


def judge(most=10_000):
    tables, right = zip(*SETS, strict=True)
    return Judge.of(tables, right, trees=30, leaves=7, most=most, seed=0)


def test_tells_right_from_wrong():
    table, right = made_up(400)
    assert ((judge().probabilities(table) > 0.5) == right).mean() > 0.95


def test_at_most_so_many_images_are_learnt_from():
    table, _ = made_up(60)
    assert (judge(most=300).probabilities(table) != judge().probabilities(table)).any()


def test_what_is_kept_judges_the_same():
    learnt, (table, _) = judge(most=300), made_up(60)
    np.testing.assert_array_equal(
        Judge.restore(learnt.state()).probabilities(table), learnt.probabilities(table)
    )
