"""Sets as files: the pixels, labels and accuracies of the competition, the same bytes however often interrupted."""

import shutil

import cv2
import numpy as np
import pytest
from built import contents
from rules import with_fields

from starter.contest.materialize import materialize
from starter.data.images.arrays import read_npz
from starter.data.sets.recipe import Recipe
from starter.data.sources.npy_sets import load_stored, stored_sets
from starter.data.sources.sources import load_images, set_names
from starter.observing.sets import PublicSets
from submission import Competition, UnusableInput
from submission.files import sha256, write_text
from submission.predictions import read_predictions
from submission.scoring import read_targets


@pytest.fixture(scope="module")
def whole(noisy, tmp_path_factory):
    """The same, but that every meta-train set shows the whole base in its order, as the challenge's do."""
    root = tmp_path_factory.mktemp("whole") / "contest"
    shutil.copytree(noisy.root, root)
    recipes = [rendering.recipe for rendering in PublicSets(noisy).train]
    lines = [Recipe(recipe.name, recipe.seed, recipe.ops[1:]).to_json() for recipe in recipes]
    write_text(root / "public/train/recipes.jsonl", "".join(f"{line}\n" for line in lines))
    files = {**noisy.files, "train/recipes.jsonl": sha256(root / "public/train/recipes.jsonl")}
    base = len(PublicSets(noisy).base)
    sizes = {**noisy.sizes, "train": dict.fromkeys(noisy.sets("train"), base)}
    with_fields(noisy, root=root, files=files, sizes=sizes).save()
    return Competition.open(root)


def expected(noisy, part):
    """The sets as the competition has them, in its order."""
    if part == "train":
        return [rendering.recipe.render(rendering.base) for rendering in PublicSets(noisy).train]
    return [read_npz(noisy.file(f"{part}/{name}.npz"), name) for name in noisy.sets(part)]


def assert_same(found, wanted):
    np.testing.assert_array_equal(found.images, wanted.images)
    np.testing.assert_array_equal(found.labels, wanted.labels)


def listed(folder):
    """The names in a folder, hidden ones too, sorted."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("part", ["train", "val"])
@pytest.mark.parametrize("layout", ["npz", "folders"])
def test_sets_and_their_accuracies_are_read_back(noisy, tmp_path, part, layout):
    folder = materialize(noisy, out=tmp_path, layout=layout, part=part)
    paths = set_names(folder)
    assert [path.removeprefix(f"{folder}/").removesuffix(".npz") for path in paths] == list(noisy.sets(part))
    for path, wanted in zip(paths, expected(noisy, part), strict=True):
        found = load_images(path, noisy.classes)
        order = np.lexsort((np.arange(50), np.array(noisy.classes)[wanted.labels]))
        assert_same(found, wanted if layout == "npz" else wanted.take(order))
    ids = noisy.ids(part)
    assert read_predictions(folder / "targets.csv", ids, "target") == read_targets(noisy, part)


def test_datacv_has_one_file_of_labels_where_all_sets_show_the_same_images(whole, tmp_path):
    folder = materialize(whole, out=tmp_path, layout="datacv", part="train")
    files = [name for name in listed(folder) if name.startswith("new_data")]  # as its kit finds them
    assert files == [f"new_data_{i:03d}.npy" for i in range(12)]
    assert set(listed(folder)) == {*files, "labels.npy"}
    labels = np.load(folder / "labels.npy", allow_pickle=False)
    for file, stored, wanted in zip(files, stored_sets(folder), expected(whole, "train"), strict=True):
        np.testing.assert_array_equal(np.load(folder / file, allow_pickle=False), wanted.images)
        np.testing.assert_array_equal(labels, wanted.labels)
        assert_same(load_stored(stored, whole.classes), wanted)


def test_datacv_has_a_folder_a_set_where_they_differ(noisy, tmp_path):
    for part in ("train", "val"):
        folder = materialize(noisy, out=tmp_path, layout="datacv", part=part)
        assert folder == tmp_path / {"train": "train_data", "val": "val"}[part]
        assert listed(folder) == list(noisy.sets(part))
        for stored, wanted in zip(stored_sets(folder), expected(noisy, part), strict=True):
            found = load_stored(stored, noisy.classes)
            assert found.name == wanted.name
            assert_same(found, wanted)


def test_test_sets_are_numbered_from_1_and_have_no_labels(noisy, tmp_path):
    assert materialize(noisy, out=tmp_path, layout="datacv", part="test") == tmp_path / "test_data"
    assert listed(tmp_path / "test_data") == ["001.npy", "002.npy"]
    assert listed(materialize(noisy, out=tmp_path, layout="npz", part="test")) == [
        "test_0001.npz",
        "test_0002.npz",
    ]
    for number, wanted in enumerate(expected(noisy, "test"), 1):
        found = np.load(tmp_path / f"test_data/00{number}.npy", allow_pickle=False)
        np.testing.assert_array_equal(found, wanted.images)
        np.testing.assert_array_equal(read_npz(tmp_path / f"test/test_000{number}.npz").images, found)
        assert read_npz(tmp_path / f"test/test_000{number}.npz").labels is None


@pytest.mark.parametrize(("part", "file"), [("train", "train_data.npy"), ("val", "val_sets.npy")])
def test_datacv_accuracies_stand_in_the_order_of_the_files(noisy, whole, tmp_path, part, file):
    for number, each in enumerate((noisy, whole)):
        materialize(each, out=tmp_path / str(number), layout="datacv", part=part)
        targets = list(read_targets(each, part).values())
        for i, subject in enumerate(each.subjects):
            found = np.load(tmp_path / str(number) / "temp" / subject / "acc" / file, allow_pickle=False)
            wanted = targets[i * len(found) : (i + 1) * len(found)]
            assert len(found) == len(each.sets(part))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-7)


def test_after_an_interruption_it_goes_on_and_ends_in_the_same_bytes(noisy, tmp_path, monkeypatch):
    encode, left = cv2.imencode, iter(range(120))

    def interrupted(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return encode(*arguments)

    monkeypatch.setattr("cv2.imencode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        materialize(noisy, out=tmp_path / "stopped", layout="folders")
    monkeypatch.undo()
    folder = tmp_path / "stopped/train"
    written = {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_dir()}
    assert 0 < len(written) < len(noisy.sets("train"))
    (folder / ".train_0012.tmp").mkdir()  # as a kill leaves one
    materialize(noisy, out=tmp_path / "stopped", layout="folders")
    assert written == {path: path.stat().st_mtime_ns for path in written}
    materialize(noisy, out=tmp_path / "whole", layout="folders")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("changes", "arguments", "word"),
    [
        ({}, {"layout": "png"}, "there are npz, folders, datacv"),
        ({}, {"part": "base"}, "there are train, val, test"),
        *(({"classes": ("a", name, "c")}, {"layout": "folders"}, "class") for name in ("a/b", "a\\b", "..")),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(noisy, tmp_path, changes, arguments, word):
    with pytest.raises(UnusableInput, match=word):
        materialize(with_fields(noisy, **changes), out=tmp_path / "new", **arguments)
    with pytest.raises(UnusableInput, match="is inside the competition"):
        materialize(noisy, out=noisy.public / "sets")
    without = with_fields(noisy, sizes={**noisy.sizes, "val": {}})
    with pytest.raises(UnusableInput, match="no val sets"):
        materialize(without, out=tmp_path / "new", part="val")
    assert not list(tmp_path.glob("new/*/*"))


def test_a_folder_with_something_else_is_left_alone(noisy, whole, tmp_path):
    (tmp_path / "mine/train").mkdir(parents=True)
    (tmp_path / "mine/train/thesis.txt").write_text("mine")
    with pytest.raises(
        UnusableInput, match=r"mine/train holds other files, or was made with other settings: name"
    ):
        materialize(noisy, out=tmp_path / "mine")
    materialize(noisy, out=tmp_path / "sets", layout="npz", part="val")
    before = contents(tmp_path / "sets")
    for other, layout in ((noisy, "folders"), (noisy, "datacv"), (whole, "npz")):
        with pytest.raises(UnusableInput, match=r"sets/val holds other files"):
            materialize(other, out=tmp_path / "sets", layout=layout, part="val")
    assert contents(tmp_path / "sets") == before
    assert contents(tmp_path / "mine") == {"train/thesis.txt": b"mine"}
