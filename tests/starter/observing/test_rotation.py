"""The rotation head, on features from which the rotation can and cannot be told."""

import numpy as np
import pytest
import torch

from starter.observing.rotation import ROTATIONS, fit_rotation_head, turned


def features(separation, n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, n, d)) + separation * np.eye(4, d)[:, None, :]


def told_apart(head, values):
    return head.told_apart(torch.from_numpy(values.astype(np.float32))).float().mean().item()


def test_tells_apart_what_is_separate_and_guesses_otherwise():
    assert told_apart(fit_rotation_head(features(8)), features(8, seed=1)) > 0.99
    assert told_apart(fit_rotation_head(features(0)), features(0, seed=1)) == pytest.approx(0.25, abs=0.06)


def test_scale_of_the_features_does_not_matter():
    small, large = features(2), 1000 * features(2) + 50
    assert told_apart(fit_rotation_head(small), small) == pytest.approx(
        told_apart(fit_rotation_head(large), large)
    )


def test_same_features_same_head():
    assert fit_rotation_head(features(1)).digest == fit_rotation_head(features(1)).digest
    assert fit_rotation_head(features(1)).digest != fit_rotation_head(features(2)).digest


def test_refuses_other_shapes():
    with pytest.raises(ValueError, match=r"\(4, n, d\)"):
        fit_rotation_head(np.zeros((3, 5, 2)))


def test_turns_as_numpy_does():
    images = np.random.default_rng(0).integers(256, size=(2, 3, 4, 6), dtype=np.uint8)
    for quarter_turns in ROTATIONS:
        expected = np.rot90(images, quarter_turns, axes=(2, 3))
        np.testing.assert_array_equal(turned(torch.from_numpy(images), quarter_turns), expected)
