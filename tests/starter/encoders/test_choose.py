"""An encoder by its name, file or function; features are checked, and those of a pair have length one."""

import numpy as np
import pytest
from encoders import hasty_encoder

from starter.encoders import EncoderPair, ImageFunction
from starter.encoders.choose import load_encoder, load_image_encoder
from submission import UnusableInput

PIXELS = np.random.default_rng(0).integers(1, 256, (3, 8, 8, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("load", "images", "file"),
    [
        (load_encoder, "IMAGES", "encoder-0.safetensors"),
        (load_image_encoder, "QUICK_IMAGES", "referee.safetensors"),
    ],
)
def test_the_embedded_encoder_is_trained_once_and_kept(load, images, file, tmp_path, monkeypatch):
    monkeypatch.setattr("starter.encoders.two_tower.train_encoder", lambda *_, **__: hasty_encoder())
    monkeypatch.setattr(f"starter.encoders.two_tower.{images}", 250)
    first = load("embedded", tmp_path, progress=False)
    monkeypatch.delattr("starter.encoders.two_tower.train_encoder")
    assert load("embedded", tmp_path, progress=False).name == first.name
    assert [path.name for path in tmp_path.iterdir()] == [file]
    assert load(str(tmp_path / file), tmp_path).name == first.name


def test_functions_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_encoders.py").write_text(
        "from starter.encoders import EncoderPair, ImageFunction\n"
        "def images():\n    return ImageFunction('mine', lambda images: images.mean(axis=(1, 2)))\n"
        "def both():\n    return EncoderPair('both', lambda images: images.mean(axis=(1, 2)), len)\n"
        "def bad():\n    return 5\n"
        "def worse():\n    raise OSError('no weights')\n"
    )
    alone = load_image_encoder("my_encoders:images", tmp_path)
    np.testing.assert_allclose(alone.encode_images(PIXELS), PIXELS.mean(axis=(1, 2)))
    assert not hasattr(alone, "encode_texts")
    both = load_image_encoder("zero-shot:my_encoders:both", tmp_path)
    assert hasattr(both, "encode_texts")
    np.testing.assert_allclose(np.linalg.norm(both.encode_images(PIXELS), axis=1), 1, rtol=1e-6)
    assert load_encoder("my_encoders:both", tmp_path).name == "both"
    for name, problem in (
        ("bad", "no attribute 'name'"),
        ("worse", "no weights"),
        ("images", "encode_texts"),
        ("none", "cannot be imported"),
    ):
        with pytest.raises(UnusableInput, match=problem):
            load_encoder(f"my_encoders:{name}", tmp_path)
    for load in (load_encoder, load_image_encoder):
        with pytest.raises(UnusableInput, match="nowhere"):
            load("nowhere.safetensors", tmp_path)


def test_features_of_a_pair_have_length_one():
    rng = np.random.default_rng(0)
    images, texts = 5 * rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    encoder = EncoderPair("mine", lambda _: images, lambda _: texts)
    for found, given in ((encoder.encode_images(PIXELS), images), (encoder.encode_texts("ab"), texts)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("features", [np.ones((2, 4)), np.ones((3, 0)), np.full((3, 4), np.nan)])
def test_features_that_cannot_be_used_are_refused(features):
    for encoder in (
        ImageFunction("mine", lambda _: features),
        EncoderPair("mine", lambda _: features, lambda _: features),
    ):
        with pytest.raises(UnusableInput, match=r"mine: image features must be finite numbers \(3, d\)"):
            encoder.encode_images(PIXELS)
    with pytest.raises(UnusableInput, match="rows of zeros"):
        EncoderPair("mine", np.zeros, lambda _: np.zeros((2, 4))).encode_texts("ab")
