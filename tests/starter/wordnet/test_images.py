"""Images of a manifest's classes: where they lie, which are drawn, and balanced halves.

Balanced halves as files: labels, counts, and what is written.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from taxonomy import write_class_zip

from starter.images.arrays import read_npz
from starter.wordnet.images import balanced_halves, even_shares, load_class_images, write_halves
from starter.wordnet.manifest import ClassEntry
from submission import UnusableInput


def entry(source, name, assignment="far"):
    return ClassEntry(source, name, "", None, None, assignment)


@pytest.fixture
def root(tmp_path):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "wolf", "bear"), count=5)
    write_class_zip(tmp_path / "street.zip", ("car", "cab"), count=3)
    write_class_zip(tmp_path / "big.zip", ("house",), count=2, size=40)
    write_class_zip(tmp_path / "parts.zip", ("train/cat", "test/cat", "test/dog"), count=2)
    return tmp_path


def test_images_come_in_the_manifests_order(root):
    images = load_class_images([entry("street", "cab"), entry("zoo", "fox"), entry("street", "car")], root)
    assert images.images.shape == (11, 32, 32, 3)
    assert images.labels.tolist() == [0] * 3 + [1] * 5 + [2] * 3
    (fox,) = (
        load_class_images([entry("zoo", "fox")], root / "zoo.zip") for _ in range(1)
    )  # the source itself
    assert np.array_equal(fox.images, images.images[3:8])


def test_of_train_and_test_the_test_images_are_taken(root):
    assert len(load_class_images([entry("parts", "cat"), entry("parts", "dog")], root)) == 4


def test_a_draw_of_each_class_is_the_same_by_seed(root):
    entries = [entry("zoo", "fox"), entry("street", "car")]
    first, again, other = (load_class_images(entries, root, per_class=2, seed=seed) for seed in (1, 1, 2))
    assert first.digest == again.digest != other.digest
    assert first.labels.tolist() == [0, 0, 1, 1]


def test_sizes_must_agree_or_be_chosen(root):
    entries = [entry("zoo", "fox"), entry("big", "house")]
    with pytest.raises(UnusableInput, match="zoo has images of 32 x 32 pixels, big of 40 x 40"):
        load_class_images(entries, root)
    assert load_class_images(entries, root, (16, 16)).images.shape == (7, 16, 16, 3)


@pytest.mark.parametrize(("source", "name"), [("zoo", "unicorn"), ("nowhere", "fox")])
def test_what_is_not_there_is_named(root, source, name):
    with pytest.raises(UnusableInput, match=f"no .*{name if source == 'zoo' else source}"):
        load_class_images([entry(source, name)], root)


def test_halves_are_balanced_and_share_no_image(root):
    entries = [
        *(entry("zoo", name, "near") for name in ("fox", "wolf")),
        entry("zoo", "bear", "dropped"),
        *(entry("street", name, "ID") for name in ("car", "cab")),
    ]
    halves = balanced_halves(entries, root, seed=3)
    ood = np.array([each.ood for each in entries])
    for half in halves:
        assert np.bincount(half.labels, minlength=5)[2] == 0
        assert ood[half.labels].sum() == (~ood[half.labels]).sum() == 3
    pixels = [{image.tobytes() for image in half.images} for half in halves]
    assert not pixels[0] & pixels[1]
    assert [half.name for half in halves] == ["validation", "test"]
    assert [half.digest for half in balanced_halves(entries, root, seed=3)] == [
        half.digest for half in halves
    ]
    assert [len(half) for half in balanced_halves(entries, root, limit=2)] == [4, 4]
    with pytest.raises(UnusableInput, match="of ID classes and of OOD classes are needed"):
        balanced_halves(entries[:2], root)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(0, 100))
def test_shares_are_as_even_as_the_counts_allow(counts, total):
    counts, total = np.array(counts), min(total, sum(counts))
    shares = even_shares(counts, total)
    assert shares.sum() == total
    assert (shares <= counts).all()
    short = shares[shares < counts]
    assert not len(short) or shares.max() <= short.min() + 1


ENTRIES = [
    ClassEntry("zoo", "fox", "", None, None, "near"),
    ClassEntry("zoo", "bear", "", None, None, "dropped"),
    ClassEntry("street", "car", "", None, None, "ID"),
    ClassEntry("zoo", "chair", "", None, None, "far"),
]


def test_halves_are_files_of_as_many_id_as_ood_images(tmp_path):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "bear", "chair"), count=5)
    write_class_zip(tmp_path / "street.zip", ("car",), count=7, size=40)
    lines = write_halves(ENTRIES, tmp_path, tmp_path / "out", image_size=(32, 32))
    assert lines[0] == "validation: 3 images of 1 ID classes, 3 of 2 OOD classes"
    table = pd.read_csv(tmp_path / "out/classes.csv")
    assert table["class"].tolist() == ["fox", "car", "chair"]
    for name in ("validation", "test"):
        half = read_npz(tmp_path / f"out/{name}.npz")
        assert half.images.shape == (6, 32, 32, 3)
        in_order = np.repeat(table["assignment"] != "ID", table[name]).astype(int)
        assert half.labels.tolist() == in_order.tolist()
    first = (tmp_path / "out/test.npz").read_bytes()
    write_halves(ENTRIES, tmp_path, tmp_path / "again", image_size=(32, 32))
    assert (tmp_path / "again/test.npz").read_bytes() == first
    assert write_halves(ENTRIES, tmp_path, tmp_path / "out", (32, 32), limit=1)[1].startswith("test: 1 image")
