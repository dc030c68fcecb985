"""Tests for `starter.studies.zeroshot`: accuracies against a loop, the table and its sets."""

import numpy as np
import pytest

from starter.data.images.imageset import ImageSet
from starter.data.sources.glyphs.digits import glyph_splits
from starter.models.encoders import EncoderPair
from starter.studies.shift.laid import text_pca
from starter.studies.zeroshot import labelled_sets, zero_shot, zero_shot_table, zero_shot_text


def rows(n, length=8, seed=0):
    return np.random.default_rng(seed).standard_normal((n, length)).astype(np.float32)


@pytest.mark.parametrize("top", [1, 5])
def test_accuracy_is_that_of_a_loop(top):
    images, texts = rows(50), rows(9, seed=1)
    labels = np.random.default_rng(2).integers(9, size=50)
    right = 0
    for image, label in zip(images, labels, strict=True):
        cosines = [image @ text / np.linalg.norm(image) / np.linalg.norm(text) for text in texts]
        right += label in np.argsort(cosines)[-top:]

    assert zero_shot(images, texts, labels, top) == right / 50


def test_the_table_has_a_row_for_each_part_method_and_set():
    """An encoder of meaning times 4 beside style: PCA finds the four directions."""
    classes = np.eye(4, 6, dtype=np.float32)
    styles = np.eye(2, 6, 4, dtype=np.float32)
    known = classes[:, None] + styles[None]
    encoder = EncoderPair(
        "made up",
        lambda images: classes[images[:, 0, 0, 0]] + styles[images[:, 0, 0, 1]],
        lambda texts: classes[[int(text) for text in texts]],
    )
    labels = np.arange(40) % 4
    images = np.zeros((40, 8, 8, 3), np.uint8)
    images[:, 0, 0, 0], images[:, 0, 0, 1] = labels, np.arange(40) // 20
    sets = {"test": ImageSet("test", images, labels)}

    table = zero_shot_table(encoder, ["0", "1", "2", "3"], sets, {"PCA": text_pca(known)})

    assert table["part"].tolist() == ["whole", "semantic", "covariate"]
    assert table["method"].tolist() == ["", "PCA", "PCA"]
    assert table["acc1"].tolist()[:2] == [1, 1]
    assert (table["acc5"] == 1).all()
    assert "100.0" in zero_shot_text(table)


@pytest.mark.slow
def test_digits_are_shown_as_they_are_corrupted_and_in_other_faces():
    splits = glyph_splits(0)
    sets = labelled_sets(splits, {})
    assert [*sets] == ["test", "corrupted", "natural"]
    assert [*map(len, sets.values())] == [3000, 3000, 14 * 214]
    assert not (sets["test"].images[0] == sets["corrupted"].images).all((1, 2, 3)).any()
    mine = splits.val_base.take(np.arange(10), "mine")
    assert labelled_sets(splits, {"mine": mine})["natural"].digest == mine.digest
