"""Sets of many classes without a shift are neither far nor of other class shares, nor these a temperature."""

import numpy as np
import pytest

from baselines.accuracy.shift import Labelled, other_shares
from baselines.contract.intervals import FAR
from starter.observing.observation import Observation, Source


def test_chance_gives_300_classes_no_other_shares_and_two_of_ten_are_seen():
    rng = np.random.default_rng(0)
    same = [other_shares(*rng.integers(300, size=(2, 500)), 300) for _ in range(100)]
    few = [other_shares(rng.integers(2, size=60), rng.integers(10, size=500), 10) for _ in range(20)]
    assert (sum(same), sum(few)) == (0, 20)


@pytest.mark.parametrize(("classes", "images", "drawn"), [(300, 300, 300), (1000, 500, 1000), (10, 400, 4)])
@pytest.mark.slow
def test_few_new_images_of_many_classes_and_of_the_hard_ones_are_not_far(classes, images, drawn):
    rng = np.random.default_rng(1)
    known_labels = rng.integers(classes, size=1500 - 2 * images)
    labels = np.concatenate([known_labels, rng.integers(drawn, size=2 * images)])
    signal = np.linspace(1.3, 3.9, classes) if drawn < classes else np.full(classes, 4)
    logits = np.float32(2 * (rng.normal(size=(1500, classes)) + np.diag(signal)[labels]))
    parts = np.split(logits, [1500 - 2 * images, -images])
    known, *new = (Observation("set", "model", part) for part in parts)
    labelled = Labelled(Source(known, known_labels, known, np.zeros((classes, 1)), np.zeros(classes)))
    for each in new:
        shift = labelled.shift(each)
        assert (shift.other_shares, shift.outside < FAR, shift.scale) == (drawn < classes, True, 1.0)
