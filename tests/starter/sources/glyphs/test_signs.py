"""Embedded OOD sets: characters that exist, none of which is a digit's shape, and the same images again."""

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.ft2font import FT2Font

from starter.sources.glyphs.signs import PICTURES, SCRIPTS, other_glyphs
from starter.sources.glyphs.typefaces import DIGITS, SCRIPT_FILES, script


@pytest.fixture(scope="module")
def sets():
    return other_glyphs(0, size=20)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_faces_have_every_character_once(name):
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for file in SCRIPT_FILES:
        known = FT2Font(str(folder / file)).get_charmap()
        assert [hex(ord(c)) for c in SCRIPTS[name] if ord(c) not in known] == []
    assert len(set(SCRIPTS[name])) == len(SCRIPTS[name]) >= 12


def test_no_character_has_the_shape_of_a_digit():
    digits = script(DIGITS).fields[::2] > 0
    for name, characters in SCRIPTS.items():
        shapes = script(characters).fields[::2] > 0
        for character, shape in zip(characters, shapes, strict=True):
            union = (digits | shape).sum((1, 2))
            overlap = ((digits & shape).sum((1, 2)) / union).max()
            assert overlap < 0.93, f"{name}: {character}"


def test_sets_differ_and_are_the_same_again_and_of_each_seed_others(sets):
    assert list(sets) == [*SCRIPTS, *PICTURES]
    assert len({images.images.tobytes() for images in sets.values()}) == len(sets)
    again, other = other_glyphs(0, size=20), other_glyphs(1, size=20)
    for name, images in sets.items():
        np.testing.assert_array_equal(images.images, again[name].images)
        assert (images.images != other[name].images).any(), name
