"""Layouts of other collections: every set found, its own images with their own labels, and what is amiss named."""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from command_line import run

from starter.classifiers import load_classifier
from starter.images.files import open_tree
from starter.images.reading import Fit, read_images
from starter.sets.recipe import Recipe
from starter.sources.layouts import load_stored, stored_set, stored_sets
from starter.sources.sources import load_images
from submission import Competition, UnusableInput

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


def refused(path, message):
    with pytest.raises(UnusableInput, match=message) as error:
        load(path)
    assert "\n" not in str(error.value)


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
        assert found.labels.dtype == np.int64


def test_validation_folders_are_found_two_levels_down(tmp_path):
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
    assert (
        load(tmp_path / "val/cifar-10.1-c/fog/data.npy").digest
        == load(tmp_path / "val/cifar-10.1-c/fog").digest
    )


def test_the_working_folder_names_a_set_as_its_path_does(tmp_path, monkeypatch):
    save(tmp_path / "fog/data.npy", pixels())
    save(tmp_path / "fog/labels.npy", LABELS)
    monkeypatch.chdir(tmp_path / "fog")
    assert load(".").name == "fog"


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
    refused(tmp_path / "test_data/002.npy", r"labels\.npy: labels \(20,\) for the 7 images of .*002\.npy")


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
    refused(folder, r"CIFAR-10-C: holds 10 sets; name one, as in .*CIFAR-10-C/fog/1")
    for absent in ("fog/0", "fog/6", "fog/1/1", "mist", "mist/1", "fog.npy/1", "labels.npy", "labels"):
        assert stored_set(folder / absent) is None


def test_the_parts_of_cifar_10_1(tmp_path):
    for version, n in (("v4", 8), ("v6", 6)):
        save(tmp_path / f"cifar10.1_{version}_data.npy", pixels(n))
        save(tmp_path / f"cifar10.1_{version}_labels.npy", LABELS[:n].astype(np.int32))
    assert names(tmp_path) == ["cifar10.1_v4_data.npy", "cifar10.1_v6_data.npy"]
    found = load(tmp_path / "cifar10.1_v6_data.npy")
    assert (found.name, len(found)) == ("cifar10.1_v6", 6)
    np.testing.assert_array_equal(found.labels, LABELS[:6])
    assert stored_sets(tmp_path / "cifar10.1_v6_labels.npy") == ()


def test_a_file_of_no_layout_counts_only_alone_or_named(meta_train, corrupted):
    folder, images = meta_train
    save(folder / "accuracies.npy", np.zeros(3))
    save(folder / "below/data.npy", images[0])
    assert names(folder) == ["below", "new_data_000.npy", "new_data_001.npy", "new_data_002.npy"]
    refused(folder / "accuracies/1", r"accuracies\.npy: images must be uint8, got float64")
    assert len(stored_sets(corrupted[0])) == 10


def test_some_rows_of_any_block(corrupted):
    folder, images = corrupted
    rows = np.array([19, 0, 7])
    found = load(folder / "fog/4", rows=rows)
    np.testing.assert_array_equal(found.images, images["fog"][60:80][rows])
    np.testing.assert_array_equal(found.labels, LABELS[rows])


def test_images_of_another_size_are_resized(meta_train):
    folder, images = meta_train
    found = load(folder / "new_data_001.npy", fit=Fit((6, 8), "stretch"))
    expected = [cv2.resize(image, (8, 6), interpolation=cv2.INTER_AREA) for image in images[1]]
    np.testing.assert_array_equal(found.images, expected)
    np.testing.assert_array_equal(load(folder / "new_data_001.npy", fit=Fit((4, 4))).images, images[1])


def test_what_is_no_layout_has_no_sets(tmp_path, monkeypatch):
    (tmp_path / "photos/cat").mkdir(parents=True)
    (tmp_path / "photos/cat/0.png").write_bytes(b"")
    (tmp_path / "photos.zip").write_bytes(b"")
    save(tmp_path / "hidden/.data.npy", pixels())
    save(tmp_path / "hidden/._new_data_000.npy", pixels())
    save(tmp_path / "hidden/.tmp/data.npy", pixels())
    save(tmp_path / "only/labels.npy", LABELS)
    monkeypatch.chdir(tmp_path)
    absent = (
        "photos",
        "photos/cat",
        "photos.zip",
        "photos.zip/cat",
        "hidden",
        "only",
        "glyphs",
        "nowhere/at/all",
    )
    for path in (*absent, "x" * 5000, "/", "..", "a\0b"):
        assert path in ("/", "..") or stored_sets(Path(path)) == (), path


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (pixels().astype(np.float32), r"new_data_001\.npy: images must be uint8, got float32"),
        (pixels()[0], r"new_data_001\.npy: images must be \(n, h, w, 3\), got \(4, 4, 3\)$"),
        (pixels()[..., :1], r"images must be \(n, h, w, 3\), got \(20, 4, 4, 1\)$"),
        (pixels()[:0], r"images must be \(n, h, w, 3\), got \(0, 4, 4, 3\)$"),
        (np.moveaxis(pixels(), 3, 1), r"got \(20, 3, 4, 4\); move the channels to the end"),
        (np.array([None] * 20), r"new_data_001\.npy: .*Python objects"),
        (pixels(19), r"labels\.npy: labels \(20,\) for the 19 images of .*new_data_001\.npy"),
    ],
)
def test_unfit_images_are_named(meta_train, array, message):
    folder, _ = meta_train
    save(folder / "new_data_001.npy", array)
    refused(folder / "new_data_001.npy", message)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (LABELS.astype(float), "labels must be whole numbers, got float64"),
        (LABELS[:, None], r"labels \(20, 1\) for the 20 images of .*new_data_000\.npy"),
        (LABELS[:10], r"labels \(10,\) for the 20 images"),
        (LABELS[0], r"labels \(\) for the 20 images"),
        (np.where(LABELS == 0, 10, LABELS), r"label 10 of 10 classes \(airplane, automobile, .*truck\)"),
        (LABELS.astype(np.int64) - 1, "label -1 of 10 classes"),
    ],
)
def test_unfit_labels_are_named(meta_train, array, message):
    folder, _ = meta_train
    save(folder / "labels.npy", array)
    refused(folder / "new_data_000.npy", rf"labels\.npy: .*{message}")


def test_missing_labels_are_named_with_what_they_belong_to(meta_train, corrupted, tmp_path):
    save(tmp_path / "v6_data.npy", pixels())
    save(tmp_path / "set/data.npy", pixels())
    for path, labels in (
        (meta_train[0] / "new_data_002.npy", "train_data/labels.npy"),
        (corrupted[0] / "fog/2", "CIFAR-10-C/labels.npy"),
        (tmp_path / "v6_data.npy", "v6_labels.npy"),
        (tmp_path / "set", "set/labels.npy"),
    ):
        (tmp_path / labels).unlink(missing_ok=True)
        refused(path, rf"{labels}: no such file; the labels of {stored_set(path).images} belong there")


def test_a_file_that_is_no_five_severities_is_refused(corrupted):
    folder, images = corrupted
    save(folder / "fog.npy", images["fog"][:99])
    refused(folder / "fog/1", r"fog\.npy: 99 images are not 5 severities of one length, as in CIFAR-10-C")
    save(folder / "labels.npy", np.repeat(LABELS, 5))
    refused(
        folder / "jpeg_compression/1",
        r"labels\.npy: the 5 severities of .*jpeg_compression\.npy need the same",
    )


def test_real_pixels_come_back_from_every_layout(tmp_path):
    if not os.environ.get("UNSEEN_DATA"):
        pytest.skip("UNSEEN_DATA names no folder with cifar10.zip")
    with open_tree(Path(os.environ["UNSEEN_DATA"], "cifar10.zip/test")) as tree:
        files = tree.images(1)[::500]
        images = read_images(tree, files).images
        labels = np.array([CLASSES.index(file.split("/")[0]) for file in files])
    assert tree.folders(1) == CLASSES
    blocks = np.concatenate([images // divisor for divisor in (1, 2, 3, 4, 5)])
    for path, array, truth in (
        ("c/dark.npy", blocks, np.tile(labels, 5)),
        ("one/v6_data.npy", images, labels),
        ("val/x/data.npy", images, labels),
        ("train_data/new_data_000.npy", images, labels),
    ):
        save(tmp_path / path, array)
        name = "v6_labels.npy" if "v6" in path else "labels.npy"
        save((tmp_path / path).with_name(name), truth)
    for path in ("c/dark/1", "one", "val", "train_data"):
        found = load(tmp_path / path)
        np.testing.assert_array_equal(found.images, images)
        np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(load(tmp_path / "c/dark/5").images, images // 5)


def corrupted_in_order(base, name, severity):
    recipe = Recipe(name, 0, ((name, {"severity": severity}),))
    return torch.cat(list(recipe.chunks(base))).permute(0, 2, 3, 1).numpy()


def test_a_competition_from_cifar_10_c_and_cifar_10_1_in_their_original_form(tmp_path, monkeypatch):
    if not os.environ.get("UNSEEN_DATA"):
        pytest.skip("UNSEEN_DATA names no folder with cifar10.zip and weights")
    monkeypatch.chdir(tmp_path)
    data = Path(os.environ["UNSEEN_DATA"]).resolve()
    weights = f"resnet56={data / 'weights/resnet56.safetensors'}"
    base = load_images(data / "cifar10.zip/test", CLASSES, 400)
    np.savez("source.npz", images=base.images, labels=base.labels, classes=np.array(CLASSES))
    blocks = [corrupted_in_order(base, "brighten", severity) for severity in range(1, 6)]
    dim = corrupted_in_order(base, "low_contrast", 2)
    save(Path("CIFAR-10-C/brightness.npy"), np.concatenate(blocks))
    save(Path("CIFAR-10-C/labels.npy"), np.tile(base.labels.astype(np.uint8), 5))
    save(Path("CIFAR-10.1/cifar10.1_v6_data.npy"), dim)
    save(Path("CIFAR-10.1/cifar10.1_v6_labels.npy"), base.labels)
    sizes = ("--train-sets", 2, "--val-sets", 0, "--test-sets", 2, "--set-size", 20)
    sets = ("--val-from", "CIFAR-10.1", "--test-from", "CIFAR-10-C")
    run("build", "contest", "--source", "source.npz", "--classifier", weights, *sizes, *sets)
    competition = Competition.open(tmp_path / "contest")
    labels = {
        image.tobytes(): label
        for images in (*blocks, dim)
        for image, label in zip(images, base.labels, strict=True)
    }
    classifier, groups = load_classifier(weights, CLASSES), []
    for line in competition.private.joinpath("solution.csv").read_text().splitlines()[1:]:
        _, accuracy, _, _, name, group = line.split(",")
        groups.append(group)
        if group == "natural":
            images = np.load(competition.file(f"test/{name}.npz"))["images"]
            truth = [labels[image.tobytes()] for image in images]
            assert float(accuracy) == np.mean(classifier(images)[0].argmax(1).numpy() == truth)
    assert groups.count("natural") == 5
    with np.load(competition.file("val/val_0001.npz")) as stored:
        truth = [labels[image.tobytes()] for image in stored["images"]]
        np.testing.assert_array_equal(stored["labels"], truth)
