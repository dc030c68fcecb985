"""Tests for `starter.encoders.two_tower`: features, words, files."""

import numpy as np
import pytest
from encoders import few_glyphs, hasty_encoder

from starter.encoders.two_tower import LENGTH, TwoTowerEncoder, vocabulary, words_of
from submission import UnusableInput


def test_features_are_unit_rows_that_do_not_depend_on_the_batch():
    encoder, images = hasty_encoder(), few_glyphs().images

    found = encoder.encode_images(images)

    assert found.shape == (250, LENGTH)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_images(images[3:5]), found[3:5], atol=1e-5)


def test_neither_the_order_nor_unknown_words_count():
    encoder = hasty_encoder()

    found = encoder.encode_texts(["7, on china", "On CHINA: 7!", "a 7 photographed on china"])

    np.testing.assert_allclose(found, found[[0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_a_text_without_a_known_word_is_refused():
    with pytest.raises(UnusableInput, match="knows no word of 'zebra'"):
        hasty_encoder().encode_texts(["7", "zebra"])


def test_words_are_numbered_by_the_alphabet():
    assert words_of("With Gaussian-noise, 7") == ["with", "gaussian", "noise", "7"]
    assert vocabulary((("b a", "c"), ("a",))) == {"a": 1, "b": 2, "c": 3}


def test_a_file_goes_back(tmp_path):
    encoder = hasty_encoder()
    encoder.save(tmp_path / "a.safetensors")
    found = TwoTowerEncoder.load(tmp_path / "a.safetensors")
    found.save(tmp_path / "b.safetensors")

    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert found.name == encoder.name
    assert found.phrases == encoder.phrases
    images = few_glyphs().images[:5]
    assert (found.encode_images(images) == encoder.encode_images(images)).all()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of the kind")
    for name in ("bad.safetensors", "none.safetensors"):
        with pytest.raises(UnusableInput, match=f"{name} is no encoder of the kit"):
            TwoTowerEncoder.load(tmp_path / name)
