"""Degrees of rendered sets against scikit-learn's neighbours, with and without the cache.

The matrix by name: what is trained is kept, and what cannot be used is told.
"""

from functools import partial

import numpy as np
import pytest
from encoders import few_glyphs, hasty_encoder
from laids import random_laid
from sklearn.neighbors import NearestNeighbors

from starter.encoders.two_tower import LENGTH, train_encoder
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache
from starter.sets.rendering import FromRecipe
from starter.shift import ruler as ruler_module
from starter.shift.laid import Laid, train_laid
from starter.shift.ruler import measured_degrees, open_laid, read_laid
from submission import UnusableInput

IMAGES = np.random.default_rng(0).integers(256, size=(640, 8, 8, 3), dtype=np.uint8)


IND = ImageSet("ind", IMAGES[:40])


def test_degrees_are_the_tenth_neighbours_distances(tmp_path):
    encoder, laid = random_laid()
    sets = [FromRecipe.whole(ImageSet("x", part)) for part in (IMAGES[40:600], IMAGES[600:])]
    degrees = measured_degrees(sets, IND, encoder, laid, Cache(tmp_path), progress=False)
    known, queries = (encoder.encode_images(part) @ laid.matrix for part in (IMAGES[:40], IMAGES[40:]))
    for found, part in zip(degrees, (slice(8), slice(8, None)), strict=True):
        neighbours = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(known[:, part])
        assert found == pytest.approx(neighbours.kneighbors(queries[:, part])[0][:, -1], abs=1e-5)


def test_degrees_are_cached_by_images_and_matrix(tmp_path):
    cache, sets = Cache(tmp_path), [FromRecipe.whole(ImageSet("x", IMAGES[40:50]))]
    first = measured_degrees(sets, IND, *random_laid(), cache, progress=False)
    (file,) = tmp_path.rglob("*.safetensors")
    again = measured_degrees(sets, ImageSet("other", IMAGES[:40]), *random_laid(), cache, progress=False)
    np.testing.assert_array_equal(first, again)
    assert [*tmp_path.rglob("*.safetensors")] == [file]
    measured_degrees(sets, ImageSet("ind", IMAGES[:39]), *random_laid(), cache, progress=False)
    measured_degrees(sets, IND, *random_laid(seed=1), cache, progress=False)
    assert len([*tmp_path.rglob("*.safetensors")]) == 3


CLASSES = ("0", "1")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A hasty encoder of the kit in a file; its matrix is trained for a moment."""
    monkeypatch.setattr(ruler_module, "train_laid", partial(train_laid, steps=3))
    hasty_encoder().save(tmp_path / "encoder.safetensors")
    return tmp_path / "encoder.safetensors"


def test_a_matrix_is_trained_once_and_kept(file, tmp_path, monkeypatch):
    encoder, laid = open_laid(str(file), "", CLASSES, tmp_path / "kept", progress=False)
    assert laid.encoder == encoder.name
    monkeypatch.delattr(ruler_module, "train_laid")
    again = open_laid(str(file), "", CLASSES, tmp_path / "kept", progress=False)[1]
    np.testing.assert_array_equal(again.matrix, laid.matrix)
    (kept,) = (tmp_path / "kept").iterdir()
    assert open_laid(str(file), str(kept), CLASSES, tmp_path)[1].matrix.shape == laid.matrix.shape


def test_an_encoder_of_ones_own(tmp_path):
    path = tmp_path / "laid.safetensors"
    random_laid()[1].save(path)
    encoder, laid = open_laid("laids:encoder", str(path), CLASSES, tmp_path)
    assert encoder.encode_images(np.zeros((2, 8, 8, 3), np.uint8)).shape == (2, 16)
    assert isinstance(laid, Laid)


def test_a_matrix_of_another_encoder_is_refused(file, tmp_path):
    random_laid()[1].save(tmp_path / "laid.safetensors")
    with pytest.raises(UnusableInput, match="belongs to the encoder projection"):
        open_laid(str(file), str(tmp_path / "laid.safetensors"), CLASSES, tmp_path)


@pytest.fixture
def folder(tmp_path):
    """What `unseen shift laid` leaves when it was run with two seeds: the matrix belongs to the second encoder."""
    train_encoder(few_glyphs(), 1, (0, 1), progress=False).save(tmp_path / "encoder-0.safetensors")
    hasty_encoder().save(tmp_path / "encoder-1.safetensors")
    Laid(np.eye(LENGTH, dtype=np.float32), hasty_encoder().name).save(tmp_path / "laid.safetensors")
    return tmp_path


def test_the_embedded_encoder_is_that_of_the_matrix_whatever_its_seed(folder):
    for path in (folder, folder / "laid.safetensors"):
        encoder, laid = read_laid(path, "embedded")
        assert encoder.name == laid.encoder == hasty_encoder().name


def test_nothing_is_trained_where_a_matrix_lies_alone(folder):
    for file in folder.glob("encoder-*"):
        file.unlink()
    with pytest.raises(UnusableInput, match="not beside it"):
        open_laid("embedded", str(folder), CLASSES, folder / "kept")
    assert not (folder / "kept").exists()
