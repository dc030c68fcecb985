"""Effective invariance against a loop over images."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of

from baselines.accuracy.ei import ei

ANY = source_of([[1.0, 0.0]], [0])
NAMES = ("rotate90", "rotate180", "rotate270", "grey")


def viewed(logits, *views):
    return seen(logits, views=dict(zip(NAMES, np.asarray(views, np.float32), strict=True)))


def top(row):
    odds = [np.exp(value - max(row)) for value in row]
    return odds.index(max(odds)), max(odds) / sum(odds)


@pytest.mark.parametrize("name", LOGITS)
def test_ei_against_a_loop(name):
    logits = np.asarray(LOGITS[name], np.float32)
    rng = np.random.default_rng(0)
    views = [logits + rng.normal(size=logits.shape) * scale for scale in (0, 1, 3, 1e4)]
    target = viewed(logits, *views)
    total = 0.0
    for view in target.views.values():
        for row, other in zip(logits.astype(float).tolist(), view.astype(float).tolist(), strict=True):
            (label, p), (label_view, p_view) = top(row), top(other)
            total += (p * p_view) ** 0.5 if label == label_view else 0.0
    assert ei(target, ANY) == pytest.approx(total / (4 * len(logits)), rel=1e-9)


def test_views_that_change_nothing_everything_and_one_of_four():
    certain = 1e4 * np.eye(3)
    assert ei(viewed(certain, *[certain] * 4), ANY) == 1
    assert ei(viewed(certain, *[certain[::-1] * [1, 2, 1]] * 4), ANY) == pytest.approx(1 / 3)
    assert ei(viewed(certain, certain, certain, certain, np.roll(certain, 1, axis=0)), ANY) == 0.75


def test_uniform_predictions_agree_with_the_probability_of_any_class():
    assert ei(viewed(np.zeros((5, 4)), *np.zeros((4, 5, 4))), ANY) == pytest.approx(0.25)
