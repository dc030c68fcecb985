"""The referee by name: what is trained is kept, and what cannot be used is told."""

from functools import partial

import numpy as np
import pytest
from encoders import hasty_encoder
from laids import random_laid

from starter import referee
from starter.laid import Laid, train_laid
from starter.referee import open_referee
from submission import UnusableInput

CLASSES = ("0", "1")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A hasty encoder of the kit in a file; its matrix is trained for a moment."""
    monkeypatch.setattr(referee, "train_laid", partial(train_laid, steps=3))
    hasty_encoder().save(tmp_path / "encoder.safetensors")
    return tmp_path / "encoder.safetensors"


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
