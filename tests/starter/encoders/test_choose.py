"""Tests for `starter.encoders.choose`: an encoder by its name, file or function."""

import pytest
from encoders import hasty_encoder

from starter.encoders.choose import load_encoder
from submission import UnusableInput


def test_the_embedded_encoder_is_trained_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("starter.encoders.embedded.train_encoder", lambda *_, **__: hasty_encoder())
    monkeypatch.setattr("starter.encoders.embedded.IMAGES", 250)
    first = load_encoder("embedded", tmp_path, progress=False)
    monkeypatch.delattr("starter.encoders.embedded.train_encoder")

    assert load_encoder("embedded", tmp_path, progress=False).name == first.name
    assert [path.name for path in tmp_path.iterdir()] == ["encoder-0.safetensors"]
    assert load_encoder(str(tmp_path / "encoder-0.safetensors"), tmp_path).name == first.name


def test_a_function_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_encoders.py").write_text(
        "from starter.encoders import EncoderPair\n"
        "def good():\n    return EncoderPair('mine', len, len)\n"
        "def bad():\n    return 5\n"
        "def worse():\n    raise OSError('no weights')\n"
    )
    assert load_encoder("my_encoders:good", tmp_path).name == "mine"
    with pytest.raises(UnusableInput, match="what it returns has no name, which an encoder needs"):
        load_encoder("my_encoders:bad", tmp_path)
    with pytest.raises(UnusableInput, match="encoder my_encoders:worse fails: OSError: no weights"):
        load_encoder("my_encoders:worse", tmp_path)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nowhere.safetensors", "nowhere.safetensors is no encoder of the kit"),
        ("clip:ViT-B-32", "give clip:MODEL=WEIGHTS"),
        ("no module:here", "'no module:here' is not module:function, as in my_clip:encoder"),
    ],
)
def test_what_cannot_be_an_encoder(spec, problem, tmp_path):
    with pytest.raises(UnusableInput, match=problem):
        load_encoder(spec, tmp_path)
