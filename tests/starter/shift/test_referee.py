"""The referee by name: what is trained is kept, and what cannot be used is told."""

import stat
from functools import partial

import numpy as np
import pytest
from encoders import few_glyphs, hasty_encoder
from laids import random_laid

from starter.encoders.contrastive import train_encoder
from starter.encoders.two_tower import LENGTH
from starter.shift import referee
from starter.shift.laid import Laid, train_laid
from starter.shift.referee import kept_in, open_referee, read_referee
from submission import UnusableInput

CLASSES = ("0", "1")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A hasty encoder of the kit in a file; its matrix is trained for a moment."""
    monkeypatch.setattr(referee, "train_laid", partial(train_laid, steps=3))
    hasty_encoder().save(tmp_path / "encoder.safetensors")
    return tmp_path / "encoder.safetensors"


def test_what_a_competition_keeps_is_its_owners_alone(tmp_path):
    kept = kept_in(tmp_path / "contest")
    assert kept.parent == tmp_path / "contest/cache"
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_a_matrix_is_trained_once_and_kept(file, tmp_path, monkeypatch):
    encoder, laid = open_referee(str(file), "", CLASSES, tmp_path / "kept", progress=False)
    assert laid.encoder == encoder.name
    monkeypatch.delattr(referee, "train_laid")
    again = open_referee(str(file), "", CLASSES, tmp_path / "kept", progress=False)[1]
    np.testing.assert_array_equal(again.matrix, laid.matrix)
    (kept,) = (tmp_path / "kept").iterdir()
    assert open_referee(str(file), str(kept), CLASSES, tmp_path)[1].matrix.shape == laid.matrix.shape


def test_an_encoder_of_ones_own(tmp_path):
    path = tmp_path / "laid.safetensors"
    random_laid()[1].save(path)
    encoder, laid = open_referee("laids:encoder", str(path), CLASSES, tmp_path)
    assert encoder.encode_images(np.zeros((2, 8, 8, 3), np.uint8)).shape == (2, 16)
    assert isinstance(laid, Laid)


def test_a_matrix_of_another_encoder_is_refused(file, tmp_path):
    random_laid()[1].save(tmp_path / "laid.safetensors")
    with pytest.raises(UnusableInput, match="belongs to the encoder projection, not to two-tower-"):
        open_referee(str(file), str(tmp_path / "laid.safetensors"), CLASSES, tmp_path)


@pytest.fixture
def folder(tmp_path):
    """What `unseen laid` leaves when it was run with two seeds: the matrix belongs to the second encoder."""
    train_encoder(few_glyphs(), 1, (0, 1), progress=False).save(tmp_path / "encoder-0.safetensors")
    hasty_encoder().save(tmp_path / "encoder-1.safetensors")
    Laid(np.eye(LENGTH, dtype=np.float32), hasty_encoder().name).save(tmp_path / "laid.safetensors")
    return tmp_path


def test_the_embedded_encoder_is_that_of_the_matrix_whatever_its_seed(folder):
    for path in (folder, folder / "laid.safetensors"):
        encoder, laid = read_referee(path, "embedded")
        assert encoder.name == laid.encoder == hasty_encoder().name


def test_nothing_is_trained_where_a_matrix_lies_alone(folder):
    for file in folder.glob("encoder-*"):
        file.unlink()
    with pytest.raises(UnusableInput, match="which is not beside it: name that encoder"):
        open_referee("embedded", str(folder), CLASSES, folder / "kept")
    assert not (folder / "kept").exists()
