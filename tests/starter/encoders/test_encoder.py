"""Tests for `starter.encoders.encoder`: a pair of functions becomes an encoder, or is refused in a line."""

import numpy as np
import pytest

from starter.encoders import EncoderPair
from submission import UnusableInput

IMAGES = np.zeros((3, 8, 8, 3), np.uint8)


def pair(images, texts):
    return EncoderPair("mine", lambda _: images, lambda _: texts)


def test_features_have_length_one():
    rng = np.random.default_rng(0)
    images, texts = 5 * rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    encoder = pair(images, texts)

    for found, given in ((encoder.encode_images(IMAGES), images), (encoder.encode_texts("ab"), texts)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        (
            np.ones((2, 4)),
            r"mine: image features must be \(3, d\), a row of numbers for each of 3 inputs, got \(2, 4\)",
        ),
        (np.ones(3), r"got \(3,\)"),
        (np.ones((3, 0)), r"got \(3, 0\)"),
        (np.full((3, 4), np.nan), "hold NaN, infinite values or rows of zeros"),
        (np.zeros((3, 4)), "hold NaN, infinite values or rows of zeros"),
    ],
)
def test_features_that_cannot_be_used_are_refused(features, problem):
    with pytest.raises(UnusableInput, match=problem):
        pair(features, features).encode_images(IMAGES)
