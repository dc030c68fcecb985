"""How far a set lies outside of what was seen."""

import dataclasses

import numpy as np
from observations import seen, source_of

from unseen.estimation.outside import Labelled

RNG = np.random.default_rng(0)
LABELS = RNG.integers(4, size=600)
LOGITS = RNG.normal(size=(600, 4)) + 2 * np.eye(4)[LABELS]


def test_parts_of_the_labelled_images_are_inside_and_other_confidences_are_not():
    labelled = Labelled(source_of(LOGITS[:400], LABELS[:400]))
    assert labelled.distance(seen(LOGITS[400:])) < 1.5
    assert labelled.distance(seen(LOGITS[400:] / 5)) > 5


def test_features_that_moved_are_outside_though_logits_are_as_before():
    rows = RNG.normal(size=(600, 12)).astype(np.float32)
    known = source_of(LOGITS[:400], LABELS[:400])
    known = dataclasses.replace(known, observation=seen(LOGITS[:400], features=rows[:400]))
    labelled = Labelled(known)
    assert labelled.distance(seen(LOGITS[400:], features=rows[400:])) < 2
    assert labelled.distance(seen(LOGITS[400:], features=rows[400:] + 1)) > 5
