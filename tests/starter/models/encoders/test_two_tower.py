"""The small encoder: features, files, the loss against a loop, training from a seed; and its captioned images."""

import math

import numpy as np
import pytest
import torch
from encoders import few_glyphs, hasty_encoder
from safetensors.numpy import save_file
from torch.nn.functional import normalize

from starter.data.images.imageset import ImageSet
from starter.data.sources.glyphs.digits import CLASSES
from starter.models.encoders.captions import GROUP, SHIFT_PHRASES, captioned_glyphs, captioned_photos
from starter.models.encoders.two_tower import LENGTH, TwoTowerEncoder, contrastive_loss, train_encoder
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
    with pytest.raises(UnusableInput, match="knows no word of 'zebra'"):
        hasty_encoder().encode_texts(["7", "zebra"])


def test_a_file_goes_back_and_others_are_refused(tmp_path):
    encoder = hasty_encoder()
    encoder.save(tmp_path / "a.safetensors")
    found = TwoTowerEncoder.load(tmp_path / "a.safetensors")
    found.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert found.name == encoder.name
    assert found.phrases == encoder.phrases
    images = few_glyphs().images[:5]
    assert (found.encode_images(images) == encoder.encode_images(images)).all()
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of the kind")
    for name in ("bad.safetensors", "none.safetensors"):
        with pytest.raises(UnusableInput, match=name):
            TwoTowerEncoder.load(tmp_path / name)
    save_file({"head.weight": np.ones((3, 4), np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(UnusableInput, match="no encoder of the kit"):
        TwoTowerEncoder.load(tmp_path / "other.safetensors")


def unit(n, seed):
    return normalize(torch.randn(n, 6, generator=torch.Generator().manual_seed(seed)))


def test_all_captions_that_fit_share_an_image():
    images, texts = unit(3, 0), unit(3, 1)
    fits = torch.tensor([[True, True, False], [True, True, False], [False, False, True]])
    total = 0.0
    for rows, wanted in ((images @ texts.T, fits), (texts @ images.T, fits.T)):
        for row, fit in zip(rows.tolist(), wanted.tolist(), strict=True):
            whole = math.log(sum(math.exp(value) for value in row))
            own = [whole - value for value, yes in zip(row, fit, strict=True) if yes]
            total += sum(own) / len(own) / 6
    found = contrastive_loss(images, texts, fits, torch.tensor(1.0))
    assert float(found) == pytest.approx(total, abs=1e-6)


def test_a_seed_gives_the_weights_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    first = train_encoder(few_glyphs(), epochs=(0, 1))
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.rand(1) == drawn
    assert first.name == hasty_encoder().name
    assert train_encoder(few_glyphs(), seed=1, epochs=(0, 1)).name != first.name


def test_all_digits_come_in_a_group_and_more_of_them_begin_with_the_same():
    few, more = few_glyphs(), captioned_glyphs(500, 0)
    assert (more.images[:250] == few.images).all()
    assert (len(more.images), more.easy.sum()) == (500, 100)
    assert (more.values[more.easy, 4] == 0).all()
    groups = few.values[:, 0].reshape(-1, GROUP)
    digits = groups[(groups < len(CLASSES)).all(1)]
    assert len(digits)
    assert (np.sort(digits, 1) == np.repeat(range(10), GROUP // 10)).all()


def photos(n, side=16, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (n, side, side, 3), np.uint8)
    return ImageSet("photos", images, np.arange(n) % 2)


def test_classes_of_the_same_name_are_one():
    first, second = photos(300), photos(100, seed=1)
    found = captioned_photos([(first, ("cat", "red fox")), (second, ("red_fox", "dog"))], 0)
    assert found.phrases == (("cat", "red fox", "dog"), SHIFT_PHRASES)
    assert np.bincount(found.values[:, 0]).tolist() == [150, 200, 50]
    assert found.easy.sum() == 200
    assert (found.values[found.easy, 1] == 0).all()
    assert (found.values[~found.easy, 1] > 0).all()
    untouched = {image.tobytes() for image in found.images[found.easy]}
    known = {image.tobytes(): label for image, label in zip(first.images, first.labels, strict=True)}
    known |= {image.tobytes(): label + 1 for image, label in zip(second.images, second.labels, strict=True)}
    assert untouched < set(known)
    for image, value in zip(found.images[found.easy], found.values[found.easy, 0], strict=True):
        assert known[image.tobytes()] == value
