"""Sets as npz files: the same bytes every time, and nothing but images and labels comes back.

npy files: what NumPy writes is read as NumPy reads it; whatever else is refused before memory is set aside.
"""

import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from starter.images import arrays as arrays_module
from starter.images.arrays import MAX_BYTES, map_npy, read_header, read_npy, read_npz, write_npz
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


IMAGES_OF_NPYFILE = np.random.default_rng(0).integers(256, size=(20, 5, 4, 3), dtype=np.uint8)
PLAIN = [np.uint8, np.int8, np.bool_, ">i4", np.int64, np.uint64, np.float16, np.float64, "<U3", "S2"]


def saved(path, array, version=(1, 0)):
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, array, version)
    return path


def written(path, data):
    path.write_bytes(data)
    return path


def npy(header, data=b"", version=1):
    """The bytes of a npy with any text for a header."""
    text = header.encode("latin-1")
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack("<H" if version == 1 else "<I", len(text))
        + text
        + data
    )


def plain(shape, descr="|u1", order="False"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}}}\n"


@settings(deadline=None)
@given(
    array=st.sampled_from(PLAIN).flatmap(
        lambda dtype: arrays.arrays(dtype, arrays.array_shapes(max_dims=4, min_side=0, max_side=4))
    ),
    fortran=st.booleans(),
    version=st.sampled_from([(1, 0), (2, 0)]),
)
def test_reads_as_numpy_does(tmp_path_factory, array, fortran, version):
    path = tmp_path_factory.getbasetemp() / "any.npy"
    saved(path, np.asfortranarray(array) if fortran else array, version)
    expected = np.load(path, allow_pickle=False)
    for found in (map_npy(path), read_npy(path)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_some_rows_in_any_order_from_either_memory_order(tmp_path):
    rows = np.array([3, 3, 19, 0])
    for array in (IMAGES_OF_NPYFILE, np.asfortranarray(IMAGES_OF_NPYFILE)):
        found = read_npy(saved(tmp_path / "a.npy", array), rows)
        np.testing.assert_array_equal(found, IMAGES_OF_NPYFILE[rows])
        assert type(found) is np.ndarray
    with pytest.raises(IndexError):
        read_npy(tmp_path / "a.npy", np.array([20]))


def test_what_is_read_is_no_view_of_the_file(tmp_path):
    path = saved(tmp_path / "a.npy", IMAGES_OF_NPYFILE)
    found = read_npy(path)
    with path.open("r+b") as stream:
        stream.seek(-IMAGES_OF_NPYFILE.nbytes, os.SEEK_END)
        stream.write(bytes(IMAGES_OF_NPYFILE.nbytes))
    np.testing.assert_array_equal(found, IMAGES_OF_NPYFILE)
    with pytest.raises(ValueError, match="read-only"):
        map_npy(path)[0] = 1


def test_a_few_rows_of_a_file_larger_than_the_bound(tmp_path):
    """A sparse file of 9 GiB, whose header is true: it has no room in memory, but its rows have."""
    count = 9 * 2**30 // 3072
    path = written(tmp_path / "big.npy", npy(plain(f"({count}, 32, 32, 3)")))
    with path.open("r+b") as stream:
        stream.seek(0, os.SEEK_END)
        stream.truncate(stream.tell() + count * 3072)
    tracemalloc.start()
    found = read_npy(path, np.array([0, count - 1]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (2, 32, 32, 3)
    assert not found.any()
    assert peak < 2**20
    with pytest.raises(UnusableInput, match=r"big\.npy: 3,145,728 rows take over 8 GiB"):
        read_npy(path)


def test_keys_in_another_order_and_the_spaces_of_other_writers(tmp_path):
    header = "{'shape':(20,5,4,3,),  'fortran_order': False,'descr': '|u1', }      "
    path = written(tmp_path / "a.npy", npy(header, IMAGES_OF_NPYFILE.tobytes()))
    np.testing.assert_array_equal(read_npy(path), IMAGES_OF_NPYFILE)
    np.testing.assert_array_equal(np.load(path), IMAGES_OF_NPYFILE)


DATA = IMAGES_OF_NPYFILE.tobytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "reading magic string, expected 8 bytes got 0"),
        (b"id,prediction\n", "magic string"),
        (b"PK\x03\x04" + DATA, "magic string"),
        (b"\x93NUMPY", "reading magic string, expected 8 bytes got 6"),
        (b"\x93NUMPY\x03\x00" + DATA, "format version 3.0; 1.0 and 2.0 are read"),
        (b"\x93NUMPY\x01\x00", "header is not a valid one"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + DATA, "header is not a valid one"),
        (npy(plain("(20, 5, 4, 3)")[:-9], DATA), "header is not a valid one"),
        (npy(plain("(20, 5, 4, 3)") + " " * 10_000, DATA), "header is not a valid one"),
        (npy(plain("(20, 5, 4, 3)", order="1"), DATA), "header is not a valid one"),
        (npy("{'descr': '|u1', 'shape': (1200,)}", DATA), "header is not a valid one"),
        (npy(plain("__import__('os').getpid()")), "header is not a valid one"),
        (npy("(" * 9000 + ")" * 900), "header is not a valid one"),
        (
            npy("{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,)}", b"12345678"),
            "it holds Python objects",
        ),
        (npy("{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (1,)}", b"1"), "not a valid one"),
        (npy(plain("(1,)", "<M8[D]"), b"12345678"), "not a valid one"),
        (npy(plain("(1,)", "|O"), b"12345678"), "it holds Python objects"),
        (npy(plain("(1,)", "i3"), b"123"), "not a valid one"),
        (npy(plain("(1 2,)"), b"12"), "header is not a valid one"),
        (npy(plain("(2)"), b"12"), "header is not a valid one"),
        (npy(plain("(1,)", "S0")), r"\(1,\) \|S0 does not fit its 0 bytes"),
        (npy(plain("(21, 5, 4, 3)"), DATA), r"\(21, 5, 4, 3\) uint8 does not fit its 1,200 bytes"),
        (npy(plain("(19, 5, 4, 3)"), DATA), "does not fit its 1,200 bytes"),
        (npy(plain("(20, 5, 4, 3)", "<f4"), DATA), "does not fit its 1,200 bytes"),
        (npy(plain("(-20, -5, 4, 3)"), DATA), "header is not a valid one"),
        (npy(plain("(1000000000000, 32, 32, 3)"), DATA), "does not fit its 1,200 bytes"),
        (npy(plain(f"({'9' * 5000},)"), DATA), "not a valid one"),
        (npy(plain("(0, 1180591620717411303424)")), "too large|dimension"),
        (npy(plain(f"({'1,' * 200})"), b"1"), "dimension"),
    ],
)
def test_whatever_else_is_refused_before_memory_is_set_aside(tmp_path, data, message):
    path = written(tmp_path / "a.npy", data)
    tracemalloc.start()
    with pytest.raises(UnusableInput, match=rf"a\.npy: not a \.npy file that can be read \(.*({message})"):
        map_npy(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22  # what NumPy's parser takes for the longest header


def test_python_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([Bomb()], dtype=object))
    with pytest.raises(UnusableInput, match=r"a\.npy: .*holds Python objects"):
        read_npy(tmp_path / "a.npy")


def test_a_single_value_is_no_array(tmp_path):
    np.save(tmp_path / "a.npy", np.int64(3))
    assert map_npy(tmp_path / "a.npy") == 3
    with pytest.raises(UnusableInput, match=r"a\.npy: a single value"):
        read_npy(tmp_path / "a.npy")


def test_a_missing_file_a_folder_and_a_pipe_are_named(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    for name in ("none", "folder", "pipe"):
        with pytest.raises(UnusableInput, match=rf"{name}\.npy: no such file"):
            read_npy(tmp_path / f"{name}.npy")


def test_the_bound_is_on_what_is_taken_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_module, "MAX_BYTES", 60)
    path = saved(tmp_path / "a.npy", IMAGES_OF_NPYFILE)
    assert len(read_npy(path, np.array([7]))) == 1
    with pytest.raises(UnusableInput, match=r"a\.npy: 2 rows take over"):
        read_npy(path, np.array([7, 8]))
    assert MAX_BYTES == 8 << 30


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(st.characters(max_codepoint=255), max_size=120).map(npy),
        st.tuples(st.text("0123456789-, ()", max_size=12), st.text("<>|=?biufcSUVOx0189", max_size=4)).map(
            lambda drawn: npy(plain(*drawn), bytes(24))
        ),
    )
)
def test_any_bytes_are_read_as_numpy_reads_them_or_refused(data):
    stream = io.BytesIO(data)
    try:
        shape, fortran, dtype = read_header(stream, len(data))
    except ValueError:
        return
    expected = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    assert (shape, dtype) == (expected.shape, expected.dtype)
    assert stream.tell() + expected.nbytes == len(data)
    assert not fortran
