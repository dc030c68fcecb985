"""Tests for `starter.encoders.captions`: captions, and what does not fit."""

import numpy as np
import pytest

from starter.encoders.captions import ABSENT, Captioned, join

PHRASES = (("a cat", "a dog"), ("in fog", "in snow"), ("small",))


def captioned(values, easy=None):
    values = np.array(values, np.int64)
    images = np.zeros((len(values), 8, 8, 3), np.uint8)
    return Captioned(images, values, PHRASES, np.zeros(len(values), bool) if easy is None else easy)


def test_a_caption_says_what_is_told_and_applies():
    found = captioned([[1, 0, ABSENT], [0, 1, 0]])

    assert found.caption(0, [True, True, True]) == "a dog, in fog"
    assert found.caption(1, [True, False, True]) == "a cat, small"


def test_parts_are_joined():
    found = join([captioned([[1, 0, 0]], np.array([True])), captioned([[0, 0, 0]])])

    assert found.values.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert found.easy.tolist() == [True, False]


@pytest.mark.parametrize("values", [[[2, 0, 0]], [[0, 0, -2]]])
def test_a_value_without_a_phrase_is_refused(values):
    with pytest.raises(ValueError, match="a value has no phrase"):
        captioned(values)


def test_shapes_must_fit():
    with pytest.raises(ValueError, match=r"values must be \(1, 3\) and easy \(1,\), got \(1, 2\)"):
        captioned([[0, 0]])
