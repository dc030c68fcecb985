"""Sets as npz files give the same bytes every time; npy and npz are read as NumPy reads them, without pickles."""

import os
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from starter.images.arrays import map_npy, read_npy, read_npz, write_npz
from starter.images.imageset import ImageSet
from submission import UnusableInput

IMAGES = np.random.default_rng(0).integers(256, size=(6, 5, 4, 3), dtype=np.uint8)
LABELS = np.array([3, 0, 1, 1, 2, 0])


@given(
    images=arrays.arrays(np.uint8, st.tuples(*[st.integers(1, 4)] * 3, st.just(3))),
    labelled=st.booleans(),
)
def test_what_was_written_comes_back(tmp_path_factory, images, labelled):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    labels = np.arange(len(images)) if labelled else None
    write_npz(path, ImageSet("a", images, labels))
    found = read_npz(path)
    assert (found.name, read_npz(path, "other").name) == ("a", "other")
    np.testing.assert_array_equal(found.images, images)
    assert (found.labels is None) if labels is None else (found.labels.tolist() == labels.tolist())


def test_the_same_set_gives_the_same_bytes(tmp_path):
    images = ImageSet("a", IMAGES, LABELS)
    written = set()
    for name in ("a.npz", "b.npz"):
        write_npz(tmp_path / name, images)
        written.add((tmp_path / name).read_bytes())
    write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES[:, ::-1][:, ::-1], LABELS))
    written.add((tmp_path / "a.npz").read_bytes())
    assert len(written) == 1
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES))
    before = (tmp_path / "a.npz").read_bytes()

    def fails(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES[:1]))
    assert (tmp_path / "a.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64, ">i4"])
def test_labels_of_any_whole_numbers_are_read(tmp_path, dtype):
    np.savez_compressed(
        tmp_path / "a.npz", images=IMAGES, labels=LABELS.astype(dtype), other=np.array([None])
    )
    found = read_npz(tmp_path / "a.npz")
    assert found.labels.dtype == np.int64
    assert found.labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"labels": LABELS}, "no array 'images'; there are labels"),
        ({"images": IMAGES[0]}, "images must be uint8"),
        ({"images": IMAGES.astype(float)}, "images must be uint8"),
        ({"images": IMAGES[:0]}, "images must be uint8"),
        ({"images": np.array([None] * 6)}, "cannot be loaded"),
        ({"images": IMAGES, "labels": LABELS / 2}, "labels must be whole numbers"),
        ({"images": IMAGES, "labels": LABELS[:5]}, "labels must be int64"),
        ({"images": IMAGES, "labels": LABELS - 1}, "labels must be int64"),
        ({"images": IMAGES, "labels": np.array([None] * 6)}, "cannot be loaded"),
    ],
)
def test_other_arrays_are_refused_with_what_they_are(tmp_path, stored, message):
    np.savez(tmp_path / "a.npz", **stored)
    with pytest.raises(UnusableInput, match=rf"a\.npz: .*{message}"):
        read_npz(tmp_path / "a.npz")


def test_what_is_no_npz_is_named(tmp_path):
    write_npz(tmp_path / "whole.npz", ImageSet("a", IMAGES, LABELS))
    whole = (tmp_path / "whole.npz").read_bytes()
    np.save(tmp_path / "array.npy", IMAGES)
    contents = [
        b"",
        b"id,prediction\n",
        whole[:100],
        whole[: len(whole) // 2],
        whole[:200] + b"x" + whole[201:],
    ]
    for content in (*contents, (tmp_path / "array.npy").read_bytes()):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(UnusableInput, match=r"a\.npz: "):
            read_npz(tmp_path / "a.npz")
    for missing in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(UnusableInput, match=str(missing)):
            read_npz(missing)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_read_whole_or_by_rows_in_any_order(tmp_path, order):
    array = np.asarray(np.arange(60, dtype=">i2").reshape(5, 4, 3), order=order)
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy"), array)
    rows = np.array([4, 0, 0, 3])
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy", rows), array[rows])
    assert isinstance(map_npy(tmp_path / "a.npy"), np.memmap)
    assert not isinstance(read_npy(tmp_path / "a.npy"), np.memmap)
    assert not isinstance(read_npy(tmp_path / "a.npy", rows), np.memmap)


def test_what_is_no_npy_is_named(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, IMAGES)
    whole = path.read_bytes()
    np.save(path, np.array([None] * 6))
    for content in (path.read_bytes(), b"", b"id,prediction\n", whole[:-1], whole[:40]):
        path.write_bytes(content)
        with pytest.raises(UnusableInput, match=r"a\.npy: not a \.npy file that can be read"):
            read_npy(path)
    with pytest.raises(UnusableInput, match=r"none\.npy"):
        read_npy(tmp_path / "none.npy")
