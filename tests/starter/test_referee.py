"""The referee by name: what is trained is kept, and what cannot be used is told."""

from functools import partial

import numpy as np
import pytest
import torch
from laids import random_laid

from starter import referee
from starter.encoders import TwoTowerEncoder
from starter.encoders.two_tower import TwoTower, vocabulary
from starter.laid import Laid, train_laid
from starter.referee import open_referee
from submission import UnusableInput

PHRASES = (("the digit 1", "the digit 2"), ("with fog", "with noise", "with frost"), ("in ink", "in chalk"))


@pytest.fixture
def file(tmp_path, monkeypatch):
    """An untrained encoder of the kit in a file; its matrix is trained for a moment and three covariates."""
    monkeypatch.setattr(referee, "train_laid", partial(train_laid, steps=3))
    monkeypatch.setattr(referee, "caption_prompts", partial(referee.caption_prompts, count=3))
    torch.manual_seed(0)
    encoder = TwoTowerEncoder(TwoTower(len(vocabulary(PHRASES))).eval(), PHRASES)
    encoder.save(tmp_path / "encoder.safetensors")
    return tmp_path / "encoder.safetensors"


def test_a_matrix_is_trained_once_and_kept(file, tmp_path, monkeypatch):
    encoder, laid = open_referee(str(file), "", tmp_path / "kept", progress=False)
    assert laid.encoder == encoder.name
    monkeypatch.setattr(referee, "train_laid", None)
    again = open_referee(str(file), "", tmp_path / "kept", progress=False)[1]
    np.testing.assert_array_equal(again.matrix, laid.matrix)
    (kept,) = (tmp_path / "kept").iterdir()
    assert open_referee(str(file), str(kept), tmp_path, progress=False)[1].matrix.shape == laid.matrix.shape


def test_an_encoder_of_ones_own(tmp_path):
    path = tmp_path / "laid.safetensors"
    random_laid()[1].save(path)
    encoder, laid = open_referee("laids:encoder", str(path), tmp_path)
    assert encoder.encode_images(np.zeros((2, 8, 8, 3), np.uint8)).shape == (2, 16)
    assert isinstance(laid, Laid)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nowhere.safetensors", "nowhere.safetensors is no encoder"),
        ("laids:nothing", "laids:nothing: module 'laids' has no attribute"),
        ("no_such_module:x", "no module named 'no_such_module'"),
        ("no-module:x", "is not module:function, as in my_clip:encoder"),
        ("laids:encoder", "the encoder laids:encoder needs --laid FILE"),
        ("laids:random_laid", "what it returns has no name"),
        ("laids:broken", "encoder laids:broken fails: OSError: no weights"),
    ],
)
def test_mistakes_get_one_clear_line(tmp_path, spec, message):
    with pytest.raises(UnusableInput, match=message) as found:
        open_referee(spec, "", tmp_path)
    assert "\n" not in str(found.value)


def test_a_matrix_of_another_encoder_is_refused(file, tmp_path):
    random_laid()[1].save(tmp_path / "laid.safetensors")
    with pytest.raises(UnusableInput, match="belongs to the encoder projection, not to two-tower-"):
        open_referee(str(file), str(tmp_path / "laid.safetensors"), tmp_path, progress=False)
