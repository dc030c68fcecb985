"""OOD sets: one folder each, zipped or not, overlap left out, every image once.

Gbench's manifest: every data set with an address.
"""

import csv
import re
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit
from starter.data.sets.mix import family
from starter.data.sources import oodsets
from starter.data.sources.oodsets import CIFAR10, load_ood_sets, set_name, without_shared
from submission import UnusableInput

CLASSES = ("x", "y")


def test_a_folder_and_a_zip_give_the_same_sets(ood_folder, tmp_path):
    archive = tmp_path / "ood.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in sorted(ood_folder.rglob("*.png")):
            zipped.write(path, path.relative_to(ood_folder))
    mine, zipped = (load_ood_sets(str(path), CLASSES, Fit((32, 32))) for path in (ood_folder, archive))
    assert list(mine) == list(zipped) == ["a_1", "a_2", "b", "c", "d", "e", "f", "g"]
    for name, images in mine.items():
        np.testing.assert_array_equal(images.images, zipped[name].images)
        assert images.labels is None


def test_images_are_limited_and_resized_and_sets_left_out_by_name(ood_folder):
    sets = load_ood_sets(str(ood_folder), CLASSES, Fit((16, 24)), limit=20)
    assert {images.images.shape for images in sets.values()} == {(20, 16, 24, 3)}
    again = load_ood_sets(str(ood_folder), CLASSES, Fit((16, 24)), limit=20, seed=1)
    assert (again["c"].images != sets["c"].images).any()
    kept = load_ood_sets(str(ood_folder), CLASSES, Fit((8, 8)), ["A_1", "g"])
    assert list(kept) == ["a_2", "b", "c", "d", "e", "f"]
    with pytest.raises(UnusableInput, match="exclude z: no such OOD set; there are a_1, a_2"):
        load_ood_sets(str(ood_folder), CLASSES, Fit((8, 8)), ["z"])


@pytest.fixture
def few(ood_folder, tmp_path):
    """A copy of those folders, with five images of each."""

    def all_but_five(folder, names):
        return [name for name in names if name[:3].isdecimal() and int(name[:3]) >= 5]

    return shutil.copytree(ood_folder, tmp_path / "ood", ignore=all_but_five)


def test_sets_that_overlap_with_cifar10_are_left_out(few):
    (few / "c").rename(few / "cifar100_vehicles")
    (few / ".hidden").mkdir()
    assert "cifar100_vehicles" not in load_ood_sets(str(few), CIFAR10, Fit((8, 8)))
    assert "cifar100_vehicles" in load_ood_sets(str(few), CLASSES, Fit((8, 8)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: (root / "empty").mkdir(), "empty: no images in it: remove the folder, or fill it"),
        (lambda root: (root / "notes").mkdir() or (root / "notes/a.txt").write_text("x"), "notes: no images"),
        (lambda root: shutil.copytree(root / "c", root / "C"), "rename the folder"),
        (lambda root: (root / "c/bad.png").write_bytes(b"no image"), "bad.png"),
    ],
)
def test_folders_that_are_no_sets_are_named(few, make, message):
    make(few)
    with pytest.raises(UnusableInput, match=message):
        load_ood_sets(str(few), CLASSES, Fit((8, 8), skip=0))


def test_no_image_stands_twice(capsys):
    rng = np.random.default_rng(0)
    ind, first, second = (ImageSet(n, rng.integers(256, size=(5, 8, 8, 3), dtype=np.uint8)) for n in "iab")
    second.images[:2], second.images[2] = first.images[:2], ind.images[4]
    same = ImageSet("c", ind.images[:3])
    kept = without_shared({"a": first, "b": second, "c": same}, [ind])
    assert kept["a"] is first
    np.testing.assert_array_equal(kept["b"].images, second.images[3:])
    assert list(kept) == ["a", "b"]
    assert "OOD set b: 3 of 5 images left out" in capsys.readouterr().err


@pytest.mark.slow
def test_the_embedded_sets_are_many_and_of_many_families():
    sets = load_ood_sets("", tuple("0123456789"), Fit((32, 32)))
    assert len({family(name) for name in sets}) >= 20
    assert {images.images.shape for images in sets.values()} == {(400, 32, 32, 3)}


def test_data_sets_have_names_addresses_and_the_papers_overlaps():
    with Path(oodsets.__file__).with_name("gbench.csv").open(encoding="utf-8", newline="") as stream:
        gbench = list(csv.DictReader(stream))
    assert len(gbench) == 201  # the appendix counts 200 and lists 201
    assert len({set_name(each["name"]) for each in gbench}) == 201
    assert all(re.fullmatch(r"https?://[^\s\"<>'/]+/[^\s\"<>']*", each["address"]) for each in gbench)
    counts = Counter(name for each in gbench for name in each["overlaps"].split())
    assert counts == {"clothing1m": 3, "face": 11, "medical": 12, "cifar100": 53}
