"""Training: it learns, goes on where it stopped to the same bytes, and says what it cannot use."""

import re

import numpy as np
import pytest
import safetensors.numpy
import torch
from numpy.testing import assert_array_equal

from starter.data.sources.sources import load_source
from starter.models.classifiers import load_classifier
from starter.models.classifiers import train as train_module
from starter.models.classifiers.train import PAD, Training, _cropped, train
from submission import UnusableInput


@pytest.fixture
def source(tmp_path):
    """Two classes: bright squares on the left or the right, in noise."""
    labels = np.arange(240) % 2
    images = np.random.default_rng(0).integers(100, size=(240, 16, 16, 3), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[:, 8 * label : 8 * label + 8] += 120
    np.savez(tmp_path / "blobs.npz", images=images, labels=labels, classes=["left", "right"])
    return str(tmp_path / "blobs.npz")


def asked(source, **changes):
    return Training(**{"source": source, "arch": "small", "epochs": 4, "batch": 20, "flip": False, **changes})


def test_the_file_is_the_classifier_whose_accuracy_is_told(source, tmp_path):
    told = train(asked(source), tmp_path / "small.safetensors", "cpu")
    path, share, rest = re.fullmatch(r"(.*): ([0-9.]+) % of (.*)", told).groups()
    assert rest == "120 images of the test split are classified correctly"
    classifier = load_classifier(f"small={path}", ("left", "right"), "bfloat16")
    parts = [
        getattr(load_source(source), part) for part in ("reference", "meta_base", "val_base", "test_base")
    ]
    right = [classifier(part.images)[0].argmax(1).numpy() == part.labels for part in parts]
    assert float(share) == pytest.approx(100 * np.concatenate(right).mean(), abs=1)
    np.testing.assert_allclose(classifier.mean, 0.43, atol=0.01)
    assert [path.name for path in tmp_path.iterdir() if "checkpoint" in path.name] == []


def test_an_interrupted_training_goes_on_to_the_same_bytes(source, tmp_path, monkeypatch):
    whole, half = tmp_path / "whole.safetensors", tmp_path / "half.safetensors"
    train(asked(source), whole, "cpu")
    batches = train_module._batches

    def stop_in_the_third(pixels, training, epoch):
        if epoch == 2:
            raise KeyboardInterrupt
        return batches(pixels, training, epoch)

    with monkeypatch.context() as patch:
        patch.setattr(train_module, "_batches", stop_in_the_third)
        with pytest.raises(KeyboardInterrupt):
            train(asked(source), half, "cpu")
    assert not half.exists()
    with pytest.raises(UnusableInput, match="was begun with epochs 4: go on with that, or take the"):
        train(asked(source, epochs=5), half, "cpu")
    train(asked(source), half, "cpu")
    assert half.read_bytes() == whole.read_bytes()


def test_a_head_alone_leaves_the_other_layers_as_they_are(source, tmp_path):
    body, headed = tmp_path / "body.safetensors", tmp_path / "headed.safetensors"
    train(asked("glyphs", epochs=1), body, "cpu")
    told = train(asked(source, start=str(body), head_alone=True), headed, "cpu")
    assert float(re.search(r"([0-9.]+) %", told)[1]) > 90
    before, after = (safetensors.numpy.load_file(path) for path in (body, headed))
    assert (len(before["fc.weight"]), len(after["fc.weight"])) == (10, 2)
    for name in set(before) - {"fc.weight", "fc.bias"}:
        assert_array_equal(before[name], after[name], err_msg=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arch": "resnet57"}, "arch 'resnet57' is unknown; there are .*, and timm:NET, tor"),
        ({"skip_unreadable": float("nan"), "epochs": 0}, "epochs must lie in .*; skip_unreadable must"),
        ({"rate": float("inf")}, "rate must lie in"),
        ({"head_alone": True}, "head_alone needs start"),
    ],
)
def test_settings_are_refused_all_at_once(changes, message):
    with pytest.raises(UnusableInput, match=message):
        asked("glyphs", **changes)


def test_what_cannot_be_used_is_told(source, tmp_path):
    (tmp_path / "there.safetensors").write_bytes(b"")
    (tmp_path / "damaged.safetensors.checkpoint").write_bytes(b"PK")
    for name, message in (
        ("a.pt", "must end in .safetensors"),
        ("there.safetensors", "there.safetensors exists already"),
        ("damaged.safetensors", "checkpoint is damaged: take it away"),
    ):
        with pytest.raises(UnusableInput, match=message):
            train(asked(source), tmp_path / name, "cpu")
    with pytest.raises(UnusableInput, match="device 'cpux' cannot be used here"):
        train(asked(source), tmp_path / "x.safetensors", "cpux")


def test_crops_and_flips_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(40, 3, 12, 10), dtype=np.uint8)
    shift, flips = rng.integers(0, 2 * PAD + 1, (2, 40)), rng.random(40) < 0.5
    found = _cropped(torch.from_numpy(images), torch.from_numpy(shift), torch.from_numpy(flips)).numpy()
    for image, down, right, flip, crop in zip(images, *shift, flips, found, strict=True):
        padded = np.pad(image, ((0, 0), (PAD, PAD), (PAD, PAD)))
        expected = padded[:, down : down + 12, right : right + 10]
        assert_array_equal(crop, expected[:, :, ::-1] if flip else expected)
