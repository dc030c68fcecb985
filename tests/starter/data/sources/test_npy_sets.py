"""Layouts of other collections: every set found, its own images with their own labels, and what is amiss named."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from starter.data.images.reading import Fit
from starter.data.sources.npy_sets import load_stored, stored_set, stored_sets
from submission import UnusableInput

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RNG = np.random.default_rng(0)
LABELS = RNG.integers(10, size=20).astype(np.uint8)


def pixels(n=20, side=4):
    return RNG.integers(256, size=(n, side, side, 3), dtype=np.uint8)


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
    return path


def names(path):
    """What lies at a path: the paths of its sets, from there on."""
    return [str(stored.path.relative_to(path)) for stored in stored_sets(path)]


def load(path, **arguments):
    stored = stored_set(Path(path))
    assert stored is not None
    return load_stored(stored, CLASSES, **arguments)


@pytest.fixture
def meta_train(tmp_path):
    """DataCV's meta-train sets: three files, one file of labels."""
    images = [pixels() for _ in range(3)]
    for number, array in enumerate(images):
        save(tmp_path / f"train_data/new_data_{number:03d}.npy", array)
    save(tmp_path / "train_data/labels.npy", LABELS)
    return tmp_path / "train_data", images


@pytest.fixture
def corrupted(tmp_path):
    """CIFAR-10-C: two corruptions, five severities of 20 images."""
    images = {name: pixels(100) for name in ("fog", "jpeg_compression")}
    for name, array in images.items():
        save(tmp_path / f"CIFAR-10-C/{name}.npy", array)
    save(tmp_path / "CIFAR-10-C/labels.npy", np.tile(LABELS, 5))
    return tmp_path / "CIFAR-10-C", images


def test_meta_train_sets_share_their_labels(meta_train):
    folder, images = meta_train
    assert names(folder) == ["new_data_000.npy", "new_data_001.npy", "new_data_002.npy"]
    for stored, expected in zip(stored_sets(folder), images, strict=True):
        assert stored_set(stored.path) == stored
        assert len(stored) == 20
        found = load_stored(stored, CLASSES)
        assert found.name == stored.images.stem
        np.testing.assert_array_equal(found.images, expected)
        np.testing.assert_array_equal(found.labels, LABELS)


def test_validation_folders_are_found_two_levels_down_and_named_as_their_paths(tmp_path, monkeypatch):
    images = {}
    for place in ("cifar-10.1/all", "cifar-10.1-c/fog", "cifar-10.1-c/snow", "cifar10-f-32/01"):
        images[place] = pixels()
        save(tmp_path / "val" / place / "data.npy", images[place])
        save(tmp_path / "val" / place / "labels.npy", LABELS)
    assert names(tmp_path / "val") == list(images)
    assert names(tmp_path / "val/cifar-10.1-c") == ["fog", "snow"]
    for place, expected in images.items():
        found = load(tmp_path / "val" / place)
        assert found.name == place.split("/")[1]
        np.testing.assert_array_equal(found.images, expected)
    monkeypatch.chdir(tmp_path / "val/cifar-10.1-c/fog")
    assert load(".").name == "fog"
    assert load("data.npy").digest == load(".").digest


def test_numbered_test_sets_have_no_labels_unless_they_lie_there(tmp_path):
    images = [pixels(), pixels(7)]
    for number, array in enumerate(images, 1):
        save(tmp_path / f"test_data/{number:03d}.npy", array)
    assert names(tmp_path / "test_data") == ["001.npy", "002.npy"]
    found = load(tmp_path / "test_data/002.npy")
    assert (found.name, found.labels) == ("002", None)
    np.testing.assert_array_equal(found.images, images[1])
    save(tmp_path / "test_data/labels.npy", LABELS)
    np.testing.assert_array_equal(load(tmp_path / "test_data/001.npy").labels, LABELS)


def test_corruptions_have_five_severities_in_order(corrupted):
    folder, images = corrupted
    assert names(folder) == [f"{name}/{severity}" for name in images for severity in range(1, 6)]
    for name, blocks in images.items():
        for severity in range(1, 6):
            found = load(folder / name / str(severity))
            assert found.name == name
            np.testing.assert_array_equal(found.images, blocks[20 * severity - 20 : 20 * severity])
            np.testing.assert_array_equal(found.labels, LABELS)
    one = [folder / "fog" / str(severity) for severity in range(1, 6)]
    for path in (folder / "fog.npy", folder / "fog"):
        assert [stored.path for stored in stored_sets(path)] == one


@pytest.mark.parametrize("name", ["gaussian_noise_3", "fog-s5", "fog_severity_1", "mine"])
@pytest.mark.parametrize("times", [1, 5])
def test_one_severity_is_one_set(tmp_path, name, times):
    """With labels of its own, or beside those of all five, whose fifths are equal."""
    images = pixels()
    save(tmp_path / f"{name}.npy", images)
    save(tmp_path / "labels.npy", np.tile(LABELS, times))
    assert names(tmp_path) == [f"{name}.npy"]
    found = load(tmp_path / f"{name}.npy")
    assert found.name == name
    np.testing.assert_array_equal(found.images, images)
    np.testing.assert_array_equal(found.labels, LABELS)


def test_a_severity_of_labels_in_turn_is_one_set(tmp_path):
    save(tmp_path / "snow_2.npy", pixels(50))
    save(tmp_path / "labels.npy", np.arange(50) % 10)
    assert len(load(tmp_path)) == 50


def test_a_folder_holds_ten_sets_and_no_file_of_other_lengths(corrupted):
    folder, images = corrupted
    with pytest.raises(UnusableInput, match=r"holds 10 sets; name one, as in .*CIFAR-10-C/fog/1"):
        load(folder)
    for absent in ("fog/0", "fog/6", "fog/1/1", "mist", "mist/1", "fog.npy/1", "labels.npy", "labels"):
        assert stored_set(folder / absent) is None
    save(folder / "fog.npy", images["fog"][:99])
    with pytest.raises(UnusableInput, match=r"fog\.npy: 99 images are not 5 severities"):
        load(folder / "fog/1")


def test_the_parts_of_cifar_10_1(tmp_path):
    for version, n in (("v4", 8), ("v6", 6)):
        save(tmp_path / f"cifar10.1_{version}_data.npy", pixels(n))
        save(tmp_path / f"cifar10.1_{version}_labels.npy", LABELS[:n].astype(np.int32))
    assert names(tmp_path) == ["cifar10.1_v4_data.npy", "cifar10.1_v6_data.npy"]
    found = load(tmp_path / "cifar10.1_v6_data.npy")
    assert (found.name, len(found)) == ("cifar10.1_v6", 6)
    np.testing.assert_array_equal(found.labels, LABELS[:6])
    assert stored_sets(tmp_path / "cifar10.1_v6_labels.npy") == ()


def test_a_file_of_no_layout_counts_only_alone_or_named(meta_train):
    folder, images = meta_train
    save(folder / "accuracies.npy", np.zeros(3))
    save(folder / "below/data.npy", images[0])
    assert names(folder) == ["below", "new_data_000.npy", "new_data_001.npy", "new_data_002.npy"]
    assert [each.path for each in stored_sets(folder / "accuracies")] == [folder / "accuracies.npy"]


def test_some_rows_of_any_block_are_read_and_resized(corrupted):
    folder, images = corrupted
    rows = np.array([19, 0, 7])
    found = load(folder / "fog/4", rows=rows, fit=Fit((6, 8), "stretch"))
    wanted = images["fog"][60:80][rows]
    expected = [cv2.resize(image, (8, 6), interpolation=cv2.INTER_AREA) for image in wanted]
    np.testing.assert_array_equal(found.images, expected)
    np.testing.assert_array_equal(found.labels, LABELS[rows])
    np.testing.assert_array_equal(load(folder / "fog/4", rows=rows, fit=Fit((4, 4))).images, wanted)


def test_what_is_no_layout_has_no_sets(tmp_path, monkeypatch):
    save(tmp_path / "hidden/.data.npy", pixels())
    save(tmp_path / "hidden/._new_data_000.npy", pixels())
    save(tmp_path / "hidden/.tmp/data.npy", pixels())
    save(tmp_path / "only/labels.npy", LABELS)
    (tmp_path / "photos.zip").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    for path in ("photos.zip", "photos.zip/cat", "hidden", "only", "glyphs", "nowhere/at/all"):
        assert stored_sets(Path(path)) == (), path


@pytest.mark.parametrize(
    ("file", "array", "message"),
    [
        ("new_data_000.npy", pixels() - np.float32(100), "images hold values from -100 to .* which is white"),
        ("new_data_000.npy", pixels()[..., :2], r"must be uint8 \(n, h, w, 3\)"),
        ("new_data_000.npy", np.array([None] * 20), "Python objects"),
        ("new_data_000.npy", pixels(19), r"labels \(20,\) for the 19 images"),
        ("labels.npy", LABELS.astype(float), "whole numbers"),
        ("labels.npy", LABELS[:10], r"labels \(10,\) for the 20 images"),
        ("labels.npy", np.where(LABELS == 0, 10, LABELS), r"label 10 of 10 classes \(airplane, .*truck\)"),
        ("labels.npy", LABELS.astype(np.int64) - 1, "one of 0 or more"),
        ("labels.npy", None, "cannot|can be read"),
    ],
)
def test_what_does_not_fit_is_named(meta_train, file, array, message):
    folder, _ = meta_train
    (folder / file).unlink()
    if array is not None:
        save(folder / file, array)
    with pytest.raises(UnusableInput, match=rf"\.npy: .*({message})") as error:
        load(folder / "new_data_000.npy")
    assert "\n" not in str(error.value)
