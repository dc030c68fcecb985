import os
import shutil
import zipfile

import cv2
import numpy as np
import pytest
import torchvision.datasets

from starter.data.images.reading import Fit
from starter.data.sources.sources import SOURCES, load_images, load_source, set_names
from submission.errors import UnusableInput

PARTS = ("train", "reference", "meta_base", "val_base", "test_base")
CLASSES = ("bird", "cat", "dog")


def pixels(key, side=8):
    return np.random.default_rng(list(os.fsencode(key))).integers(256, size=(side, side, 3), dtype=np.uint8)


def write_tree(folder, counts, side=8):
    """`counts` images of each class folder, each of random pixels that its path determines; those of a folder
    "test" are none of the others.
    """
    begin = "test/" if folder.name == "test" else ""
    for label, count in counts.items():
        (folder / label).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            image = pixels(f"{begin}{label}/{i:03d}", side)
            (folder / label / f"{i:03d}.png").write_bytes(cv2.imencode(".png", image[..., ::-1])[1])
    return folder


def write_zip(path, folder):
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*.*"), reverse=True):
            archive.write(file, file.relative_to(folder))
    return path


def test_sources_by_name(monkeypatch):
    assert list(SOURCES) == ["cifar10", "glyphs"]
    monkeypatch.setitem(SOURCES, "glyphs", "the digits of seed {}".format)
    assert load_source("glyphs", seed=3) == "the digits of seed 3"
    with pytest.raises(UnusableInput, match="source glyphs has its own size"):
        load_source("glyphs", fit=Fit((64, 64)))
    with pytest.raises(UnusableInput, match=r"cifar: no such .*; sources with a name are cifar10, glyphs"):
        load_source("cifar")


def test_tree_with_train_and_test_or_without_when_half_is_held_out(tmp_path):
    write_tree(tmp_path / "x" / "train", {"cat": 3, "bird": 5})
    write_tree(tmp_path / "x" / "test", {"cat": 10, "bird": 20}, side=5)
    splits = load_source(str(tmp_path / "x"))
    assert splits.test_base.images.shape[1:] == (8, 8, 3)
    assert splits.classes == ("bird", "cat")
    assert [len(getattr(splits, part)) for part in PARTS] == [8, 6, 12, 3, 9]
    np.testing.assert_array_equal(splits.train.labels, [0] * 5 + [1] * 3)
    np.testing.assert_array_equal(splits.train.images[5], pixels("cat/000"))
    from_zip = load_source(str(write_zip(tmp_path / "x.zip", tmp_path / "x")))
    for part in PARTS:
        assert getattr(from_zip, part).digest == getattr(splits, part).digest
        np.testing.assert_array_equal(getattr(from_zip, part).labels, getattr(splits, part).labels)
    assert load_source(str(tmp_path / "x"), seed=1).test_base.digest != splits.test_base.digest
    splits = load_source(str(write_tree(tmp_path / "one", {"cat": 20, "bird": 41})))
    assert np.bincount(splits.train.labels).tolist() == [21, 10]
    assert [len(getattr(splits, part)) for part in PARTS[1:]] == [6, 12, 3, 9]
    everything = {image.tobytes() for part in PARTS for image in getattr(splits, part).images}
    assert len(everything) == 61


def test_npz_is_a_source_with_or_without_names(tmp_path):
    images = np.stack([pixels(str(i)) for i in range(40)])
    labels = np.arange(40, dtype=np.uint8) % 2
    np.savez(tmp_path / "bare.npz", images=images, labels=labels)
    np.savez(tmp_path / "named.npz", images=images, labels=labels, classes=["dog", "cat"])
    bare, named = load_source(str(tmp_path / "bare.npz")), load_source(str(tmp_path / "named.npz"))
    assert bare.classes == ("0", "1")
    assert named.classes == ("dog", "cat")
    lookup = {image.tobytes(): label for image, label in zip(images, labels, strict=True)}
    for part in PARTS:
        assert getattr(bare, part).digest == getattr(named, part).digest
        found = [lookup[image.tobytes()] for image in getattr(bare, part).images]
        np.testing.assert_array_equal(getattr(bare, part).labels, found)


NOISE = np.random.default_rng(0).integers(256, size=(40, 8, 7, 3), dtype=np.uint8)
GOOD = {"images": NOISE[:, :4, :4], "labels": np.arange(40) % 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": np.zeros((40, 4, 4, 2))}, "images must be uint8"),
        ({"images": np.zeros((40, 8, 8, 3))}, "one image of each class"),
        ({"labels": np.zeros(40, int)}, "two or more different classes are needed"),
        ({"labels": np.arange(40) % 2 + 1}, "0 test images of class '0'"),
        ({"classes": np.array(["cat"])}, "label 1 of 1 classes"),
        ({"images": NOISE}, "images of 7 x 8 pixels; 8 x 8 or more are needed"),
    ],
)
def test_unfit_arrays_are_named(tmp_path, change, message):
    np.savez(tmp_path / "x.npz", **{**GOOD, **change})
    with pytest.raises(UnusableInput, match=rf"x\.npz.*{message}"):
        load_source(str(tmp_path / "x.npz"))


def test_unfit_trees_are_named(tmp_path):
    with pytest.raises(UnusableInput, match=r"one: two or more different classes are needed, got cat"):
        load_source(str(write_tree(tmp_path / "one", {"cat": 30})))
    write_tree(tmp_path / "x" / "train", {"cat": 10, "bird": 10})
    with pytest.raises(UnusableInput, match="must be train/ and test/, got train"):
        load_source(str(tmp_path / "x"))
    write_tree(tmp_path / "x" / "test", {"cat": 10, "bird": 10, "cow": 1})
    with pytest.raises(UnusableInput, match=r"test: no class 'cow'; the classes are bird, cat"):
        load_source(str(tmp_path / "x"))
    write_tree(tmp_path / "few", {"cat": 30, "bird": 10})
    with pytest.raises(UnusableInput, match=r"few: 5 test images of class 'bird'; 10 of each are needed"):
        load_source(str(tmp_path / "few"))


class FakeCIFAR10:
    """Stands in for torchvision's: 40 images of two classes in either part."""

    classes = ("airplane", "automobile")
    asked = []  # noqa: RUF012

    def __init__(self, root, train, download):
        self.asked.append((root, train, download))
        self.data = np.stack([pixels(f"{train}{i}") for i in range(40)])
        self.targets = [i % 2 for i in range(40)]


def test_cifar10_is_downloaded_or_found_whole(tmp_path, monkeypatch):
    (tmp_path / "damaged/cifar-10-batches-py").mkdir(parents=True)
    with pytest.raises(UnusableInput, match=r"cifar10: not whole in .*pass the path of a folder"):
        load_source(str(tmp_path / "damaged"))
    monkeypatch.setattr(torchvision.datasets, "CIFAR10", FakeCIFAR10)
    monkeypatch.setattr("starter.data.sources.sources.cache_folder", lambda: tmp_path)
    splits = load_source("cifar10")
    assert [len(getattr(splits, part)) for part in PARTS] == [40, 8, 16, 4, 12]
    assert FakeCIFAR10.asked == [(str(tmp_path), True, True), (str(tmp_path), False, True)]
    (tmp_path / "cifar-10-batches-py").mkdir()
    assert load_source(str(tmp_path)).meta_base.digest == splits.meta_base.digest
    assert FakeCIFAR10.asked[2:] == [(str(tmp_path), True, False), (str(tmp_path), False, False)]


def test_set_names_and_images_of_a_collection(tmp_path):
    write_tree(tmp_path / "x" / "kaggle", {"cat": 2, "dog": 3})
    write_tree(tmp_path / "x" / "caltech", {"bird": 4})
    path = write_zip(tmp_path / "x.zip", tmp_path / "x")
    for root in (path, tmp_path / "x"):
        assert set_names(root) == [str(root / "caltech"), str(root / "kaggle")]
        caltech, kaggle = (load_images(name, CLASSES) for name in set_names(str(root)))
        assert (caltech.name, kaggle.name) == ("caltech", "kaggle")
        assert caltech.labels.tolist() == [0] * 4
        assert kaggle.labels.tolist() == [1, 1, 2, 2, 2]
        np.testing.assert_array_equal(kaggle.images[2], pixels("dog/000"))
        with pytest.raises(
            UnusableInput, match=r"several sets \(caltech, kaggle\); name one, as in .*caltech"
        ):
            load_images(root, CLASSES)


def test_set_names_of_single_sets(tmp_path):
    tree = write_tree(tmp_path / "v1.0", {"cat": 2})
    (tmp_path / "._a.npz").write_bytes(b"of macOS")
    assert set_names(tree) == [str(tree)]
    assert load_images(tree, CLASSES).name == "v1.0"
    archive = write_zip(tmp_path / "cats.zip", tree)
    assert set_names(archive) == [str(archive)]
    assert load_images(archive, CLASSES).name == "cats"
    for name in "ba":
        np.savez(tmp_path / f"{name}.npz", **GOOD)
    assert set_names(tmp_path / "a.npz") == [str(tmp_path / "a.npz")]
    assert set_names(tmp_path) == [str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]
    with pytest.raises(UnusableInput, match="nowhere: no such file or folder"):
        set_names(tmp_path / "nowhere")


def test_limit_draws_by_seed(tmp_path):
    tree = write_tree(tmp_path / "x", {"cat": 20, "dog": 20})
    whole = load_images(tree, CLASSES)
    drawn = [load_images(tree, CLASSES, limit=15, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0].digest == drawn[1].digest != drawn[2].digest
    assert {image.tobytes() for image in drawn[0].images} < {image.tobytes() for image in whole.images}
    assert load_images(tree, CLASSES, limit=40).digest == whole.digest


def test_folders_below_the_classes_belong_to_them(tmp_path):
    tree = write_tree(tmp_path / "x", {"cat": 20, "cat/old": 20, "dog/small": 20, "dog/old/own": 20})
    (tree / "notes.txt").write_text("mine")
    assert load_source(str(tree)).classes == ("cat", "dog")
    assert set_names(tree, CLASSES) == [str(tree)]
    assert np.bincount(load_images(tree, CLASSES).labels).tolist() == [0, 40, 40]
    for part in ("train", "test"):
        write_tree(tmp_path / "y" / part, {"cat/a": 20, "dog/b": 20})
    assert load_source(str(tmp_path / "y")).classes == ("cat", "dog")
    for name in ("one", "two"):
        write_tree(tmp_path / "sets" / name, {"cat": 2})
    with pytest.raises(UnusableInput, match="must be train/ and test/, got one, two"):
        load_source(str(tmp_path / "sets"))


def test_equal_images_are_left_out_and_told(tmp_path, capsys):
    tree = write_tree(tmp_path / "x", {"cat": 20, "dog": 20})
    (tree / "dog" / "100.png").write_bytes((tree / "cat" / "003.png").read_bytes())
    splits = load_source(str(tree))
    assert sum(len(getattr(splits, part)) for part in PARTS) == 40
    assert "1 of 41 images left out, since they stand elsewhere too" in capsys.readouterr().err
    for part in ("train", "test"):
        shutil.copytree(tree, tmp_path / "z" / part)
    with pytest.raises(UnusableInput, match=r"z/test: every image is in train/ too"):
        load_source(str(tmp_path / "z"))
    images, labels = np.stack([pixels(str(i)) for i in range(40)]), np.arange(40) % 2
    np.savez(tmp_path / "twice.npz", images=np.repeat(images, 2, axis=0), labels=np.repeat(labels, 2))
    splits = load_source(str(tmp_path / "twice.npz"))
    found = np.concatenate([getattr(splits, part).images for part in PARTS])
    assert len({image.tobytes() for image in found}) == len(found) == 40


def test_numbered_sets_are_not_taken_for_classes_that_are_numbers(tmp_path):
    for name in ("1", "2"):
        write_tree(tmp_path / "field" / name, {"0": 2, "1": 2, "2": 2})
    for read in (set_names, load_images):
        with pytest.raises(UnusableInput, match="rename those of the sets"):
            read(tmp_path / "field", ("0", "1", "2"))
    assert len(set_names(tmp_path / "field", CLASSES)) == 2


def test_npz_sets_follow_the_given_classes(tmp_path):
    np.savez(tmp_path / "named.npz", **GOOD, classes=["dog", "bird", "cow"])
    assert load_images(tmp_path / "named.npz", CLASSES).labels.tolist() == [2, 0] * 20
    np.savez(tmp_path / "bare.npz", **GOOD)
    bare = load_images(tmp_path / "bare.npz", CLASSES, limit=10, fit=Fit((2, 2)))
    assert bare.images.shape == (10, 2, 2, 3)
    assert bare.name == "bare"
    np.savez(tmp_path / "far.npz", images=GOOD["images"], labels=np.full(40, 3))
    with pytest.raises(UnusableInput, match=r"far\.npz: label 3 of 3 classes"):
        load_images(tmp_path / "far.npz", CLASSES)
    np.savez(tmp_path / "other.npz", **GOOD, classes=["dog", "cow"])
    with pytest.raises(UnusableInput, match=r"other\.npz: no class 'cow'; the classes are bird, cat, dog"):
        load_images(tmp_path / "other.npz", CLASSES)


def test_classes_of_whole_numbers_are_in_their_order_in_every_reader(tmp_path):
    names = tuple(map(str, range(12)))
    folder = write_tree(tmp_path / "x", dict.fromkeys(names, 20))
    for path in (folder, write_zip(tmp_path / "x.zip", folder)):
        splits = load_source(str(path))
        assert splits.classes == names
        first = next(i for i, label in enumerate(splits.train.truth) if label == 2)
        assert any((splits.train.images[first] == pixels(f"2/{i:03d}")).all() for i in range(20))
        by_path = [int(name) for name in sorted(names) for _ in range(20)]
        np.testing.assert_array_equal(load_images(path, names).truth, by_path)


def test_names_of_classes_are_compared_with_composed_accents(tmp_path):
    decomposed = write_tree(tmp_path / "x", {"cafe\u0301": 20, "the\u0301": 20})
    assert load_source(str(decomposed)).classes == ("café", "thé")
    for classes in (("thé", "café"), ("the\u0301", "cafe\u0301")):
        np.testing.assert_array_equal(load_images(decomposed, classes).truth, [1] * 20 + [0] * 20)
    with pytest.raises(UnusableInput, match=r"no class 'caf\\xe9'; 'cafe' looks like it"):
        load_images(decomposed, ("cafe", "thé"))
    images = np.stack([pixels(str(i)) for i in range(4)])
    with (tmp_path / "X.NPZ").open("wb") as stream:
        np.savez(stream, images=images, labels=[0, 0, 1, 1], classes=["the\u0301", "cafe\u0301"])
    assert set_names(tmp_path / "X.NPZ") == [str(tmp_path / "X.NPZ")]
    for name in ("ne\u0301on", "plain"):
        write_tree(tmp_path / "sets" / name, {"cat": 3, "bird": 2})
    assert [len(load_images(path, CLASSES)) for path in set_names(tmp_path / "sets")] == [5, 5]
    np.testing.assert_array_equal(load_images(tmp_path / "X.NPZ", ("café", "thé")).truth, [1, 1, 0, 0])
