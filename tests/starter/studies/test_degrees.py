"""Tests for `starter.studies.degrees`: a table of what shift_degrees gives, of a competition and of folders."""

import cv2
import numpy as np
import pytest
from encoders import few_glyphs, hasty_encoder

from starter.competition.sets import PublicSets
from starter.encoders.two_tower import LENGTH
from starter.shift.degrees import shift_degrees
from starter.shift.laid import Laid
from starter.sources.glyphs.digits import glyph_splits
from starter.studies.degrees import degree_table, measured_sets
from submission import UnusableInput

LAID = Laid(np.eye(LENGTH, dtype=np.float32), hasty_encoder().name)


def test_a_row_an_image():
    images, encoder = few_glyphs().images, hasty_encoder()
    sets = [("first", images[:4]), ("second", images[4:10])]

    table = degree_table(encoder, LAID, images[10:], sets)

    assert table.columns.tolist() == ["set", "row", "semantic", "covariate"]
    assert table["set"].tolist() == ["first"] * 4 + ["second"] * 6
    assert table["row"].tolist() == [*range(4), *range(6)]
    halves = (LAID.decompose(encoder.encode_images(part)) for part in (images[:10], images[10:]))
    expected = shift_degrees(*halves)
    np.testing.assert_allclose(table[["semantic", "covariate"]].to_numpy().T, expected, atol=1e-5)


def test_the_matrix_must_be_the_encoders():
    other = Laid(LAID.matrix, "another")
    with pytest.raises(UnusableInput, match="belongs to the encoder another, not to two-tower-"):
        degree_table(hasty_encoder(), other, few_glyphs().images, [])


def test_of_a_competition_validation_and_test_sets_are_measured(contest):
    known, sets = measured_sets(contest.root, "glyphs", None, 0, 10)
    found = dict(sets)

    assert list(found) == [*contest.sets("val"), *contest.sets("test")]
    assert {len(images) for images in found.values()} == {60}
    assert (known == PublicSets(contest).train_ref.images).all()


@pytest.mark.slow
def test_of_a_folder_every_set(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(3):
            cv2.imwrite(str(tmp_path / name / f"{number}.png"), np.full((40, 40, 3), 90, np.uint8))

    known, sets = measured_sets(tmp_path, "glyphs", None, 0, 2)

    assert {name: images.shape for name, images in sets} == {"a": (2, 32, 32, 3), "b": (2, 32, 32, 3)}
    assert (known == glyph_splits(0).train.images).all()
