"""Sets as npz files: the same bytes every time, and nothing but images and labels comes back."""

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from starter.images.arrays import read_npz, write_npz
from starter.images.imageset import ImageSet
from submission import UnusableInput

IMAGES = np.random.default_rng(0).integers(256, size=(6, 5, 4, 3), dtype=np.uint8)
LABELS = np.array([3, 0, 1, 1, 2, 0])


def header(shape, descr="|u1"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def member(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


@given(
    images=arrays.arrays(np.uint8, st.tuples(*[st.integers(1, 4)] * 3, st.just(3))),
    labelled=st.booleans(),
)
def test_what_was_written_comes_back(tmp_path_factory, images, labelled):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    labels = np.arange(len(images)) if labelled else None
    write_npz(path, ImageSet("a", images, labels))
    found = read_npz(path)
    assert found.name == "a"
    np.testing.assert_array_equal(found.images, images)
    assert (found.labels is None) if labels is None else (found.labels.tolist() == labels.tolist())


def test_the_same_set_gives_the_same_bytes(tmp_path):
    images = ImageSet("a", IMAGES, LABELS)
    write_npz(tmp_path / "a.npz", images)
    write_npz(tmp_path / "b.npz", read_npz(tmp_path / "a.npz"))
    write_npz(tmp_path / "c.npz", ImageSet("c", np.asfortranarray(IMAGES), LABELS))
    first, second, third = ((tmp_path / f"{name}.npz").read_bytes() for name in "abc")
    assert first == second == third
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert sorted(found) == ["images", "labels"]


def test_a_name_can_be_given(tmp_path):
    write_npz(tmp_path / "below" / "a.npz", ImageSet("x", IMAGES))
    assert read_npz(tmp_path / "below" / "a.npz").name == "a"
    assert read_npz(tmp_path / "below" / "a.npz", "val_0001").name == "val_0001"


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64, ">i4"])
def test_labels_of_any_whole_numbers_are_read(tmp_path, dtype):
    np.savez(tmp_path / "a.npz", images=IMAGES, labels=LABELS.astype(dtype))
    found = read_npz(tmp_path / "a.npz").labels
    assert found.dtype == np.int64
    assert found.tolist() == LABELS.tolist()


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES))
    before = (tmp_path / "a.npz").read_bytes()

    def full(stream, **arrays):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES[:2]))
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
    assert (tmp_path / "a.npz").read_bytes() == before


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(UnusableInput, match=r"b\.npz: no such file"):
        read_npz(tmp_path / "b.npz")
    (tmp_path / "c.npz").mkdir()
    with pytest.raises(UnusableInput, match=r"c\.npz: not an \.npz file"):
        read_npz(tmp_path / "c.npz")


@pytest.mark.parametrize("data", [b"", b"id,prediction\n", member(IMAGES)])
def test_what_is_no_zip_is_refused(tmp_path, data):
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(UnusableInput, match=r"a\.npz: not an \.npz file that can be read"):
        read_npz(tmp_path / "a.npz")


def test_a_damaged_file_is_refused(tmp_path):
    write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(UnusableInput, match=r"a\.npz: array 'images' cannot be read \(Bad CRC"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["images", "labels"])
def test_python_objects_are_refused(tmp_path, name):
    """Unpickling this object would raise; that it does not shows that nothing was unpickled."""
    stored = {"images": IMAGES, "labels": LABELS, name: np.array([Bomb()], dtype=object)}
    np.savez(tmp_path / "a.npz", **stored)
    with pytest.raises(UnusableInput, match=r"a\.npz: .*holds Python objects"):
        read_npz(tmp_path / "a.npz")


def test_other_arrays_are_not_read(tmp_path):
    np.savez(tmp_path / "a.npz", images=IMAGES, objects=np.array([Bomb()]))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("lie.npy", header("(5,)"))
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz").images, IMAGES)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("this was unpickled",))


@pytest.mark.parametrize(
    "shape", ["(10**6, 32, 32, 3)", "(1000000, 32, 32, 3)", "(7, 5, 4, 3)", "(-6, -5, 4, 3)"]
)
def test_a_header_that_does_not_fit_its_bytes_is_refused(tmp_path, shape):
    zipped(tmp_path / "a.npz", images=header(shape) + IMAGES.tobytes())
    with pytest.raises(UnusableInput, match=r"a\.npz: array 'images' cannot be read"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"labels": LABELS}, "no array 'images'; there are labels"),
        ({}, "no array 'images'; there are none"),
        ({"images": IMAGES.astype(np.float32)}, "images must be a uint8 array, got float32 array"),
        ({"images": IMAGES[..., 0]}, r"images must be \(n, h, w, 3\)"),
        ({"images": np.moveaxis(IMAGES, -1, 1)}, r"images must be \(n, h, w, 3\)"),
        ({"images": IMAGES[:0]}, r"images must be \(n, h, w, 3\) with n, h, w >= 1"),
        ({"images": IMAGES, "labels": LABELS.astype(float)}, "labels must be whole numbers, got float64"),
        ({"images": IMAGES, "labels": LABELS > 0}, "labels must be whole numbers, got bool"),
        ({"images": IMAGES, "labels": LABELS.astype(str)}, "labels must be whole numbers, got <U"),
        ({"images": IMAGES, "labels": LABELS[:5]}, r"6 images need labels \(6,\), got \(5,\)"),
        ({"images": IMAGES, "labels": LABELS[:, None]}, r"6 images need labels \(6,\), got \(6, 1\)"),
        ({"images": IMAGES, "labels": LABELS - 1}, "labels must be 0 or more, got -1"),
        (
            {"images": IMAGES, "labels": LABELS.astype(np.uint64) + 2**63},
            "labels must be at most 9223372036854775807, got 9223372036854775811",
        ),
    ],
)
def test_other_arrays_are_refused_with_what_they_are(tmp_path, stored, message):
    np.savez(tmp_path / "a.npz", **stored)
    with pytest.raises(UnusableInput, match=rf"a\.npz.* {message}"):
        read_npz(tmp_path / "a.npz")
