"""Tests for `starter.encoders.choose`: an encoder by its name, file or function."""

import numpy as np
import pytest
from encoders import hasty_encoder

from starter.encoders import ImageFunction
from starter.encoders.choose import is_own_code, load_encoder, load_image_encoder
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


def test_an_encoder_of_images_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_images.py").write_text(
        "from starter.encoders import EncoderPair, ImageFunction\n"
        "def images():\n    return ImageFunction('mine', lambda images: images.mean(axis=(1, 2)))\n"
        "def both():\n    return EncoderPair('both', lambda images: images.mean(axis=(1, 2)), len)\n"
    )
    pixels = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    found = load_image_encoder("own_images:images", tmp_path)
    np.testing.assert_allclose(found.encode_images(pixels), pixels.mean(axis=(1, 2)))
    assert not hasattr(found, "encode_texts")
    both = load_image_encoder("zero-shot:own_images:both", tmp_path)
    assert hasattr(both, "encode_texts")
    np.testing.assert_allclose(np.linalg.norm(both.encode_images(pixels), axis=1), 1, rtol=1e-6)
    with pytest.raises(
        UnusableInput, match=r"must be \(2, d\), a row of numbers for each of 2 inputs, got \(3, 1\)"
    ):
        ImageFunction("short", lambda images: np.zeros((3, 1))).encode_images(pixels)
    with pytest.raises(UnusableInput, match="NaN or infinite"):
        ImageFunction("nan", lambda images: np.full((2, 1), np.nan)).encode_images(pixels)
    assert [is_own_code(spec) for spec in ("a.b:c", "zero-shot:a:b", "clip:a=b", "timm:a", "lite0")] == [
        *(True, True, False, False, False)
    ]


def test_a_referees_embedded_encoder_is_trained_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("starter.encoders.embedded.train_encoder", lambda *_, **__: hasty_encoder())
    monkeypatch.setattr("starter.encoders.embedded.QUICK_IMAGES", 250)
    first = load_image_encoder("embedded", tmp_path, progress=False)
    monkeypatch.delattr("starter.encoders.embedded.train_encoder")
    assert load_image_encoder("embedded", tmp_path, progress=False).name == first.name
    assert load_image_encoder(str(tmp_path / "referee.safetensors"), tmp_path).name == first.name
    with pytest.raises(
        UnusableInput, match="there is no encoder 'nowhere': name lite0, embedded, torchvision:NAME"
    ):
        load_image_encoder("nowhere", tmp_path)
