"""Sets as npz files give the same bytes every time; npy and npz are read without pickles; equal pixels are found."""

import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from starter.data.images.arrays import map_npy, read_npy, read_npz, write_npz
from starter.data.images.imageset import ImageSet
from submission import UnusableInput

IMAGES = np.random.default_rng(0).integers(256, size=(6, 5, 4, 3), dtype=np.uint8)
LABELS = np.array([3, 0, 1, 1, 2, 0])


@given(
    images=arrays.arrays(np.uint8, st.tuples(*[st.integers(1, 4)] * 3, st.just(3))), labelled=st.booleans()
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
    for name, pixels in (("a.npz", IMAGES), ("b.npz", IMAGES[:, ::-1].copy()[:, ::-1])):
        write_npz(tmp_path / name, ImageSet("a", pixels, LABELS))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"labels": LABELS}, "images is not a file in the archive"),
        ({"images": IMAGES.astype(float) * 40}, "nothing says which is white"),
        ({"images": IMAGES[..., :2]}, "must be uint8"),
        ({"images": np.where(IMAGES > 200, np.nan, 0.5)}, "NaN or infinite"),
        ({"images": IMAGES[:0]}, "must be uint8"),
        ({"images": np.array([None] * 6)}, "cannot be loaded"),
        ({"images": IMAGES, "labels": LABELS / 2}, "whole numbers"),
        ({"images": IMAGES, "labels": LABELS[:5]}, "labels must be"),
        ({"images": IMAGES, "labels": LABELS - 1}, "labels must be"),
    ],
)
def test_other_arrays_are_refused_with_what_they_are(tmp_path, stored, message):
    np.savez(tmp_path / "a.npz", **stored)
    with pytest.raises(UnusableInput, match=rf"a\.npz: .*{message}"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize(("read", "suffix"), [(read_npz, "npz"), (read_npy, "npy")])
def test_what_is_no_such_file_is_named(tmp_path, read, suffix):
    path = tmp_path / f"a.{suffix}"
    write_npz(tmp_path / "a.npz", ImageSet("a", IMAGES, LABELS))
    np.save(tmp_path / "a.npy", IMAGES)
    whole = path.read_bytes()
    np.save(tmp_path / "pickle.npy", np.array([None] * 6))
    for content in (b"", b"id,prediction\n", whole[:40], whole[:-50], (tmp_path / "pickle.npy").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(UnusableInput, match=rf"a\.{suffix}: "):
            read(path)
    with pytest.raises(UnusableInput, match="none"):
        read(tmp_path / f"none.{suffix}")


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_read_whole_or_by_rows_in_any_order(tmp_path, order):
    array = np.asarray(np.arange(60, dtype=">i2").reshape(5, 4, 3), order=order)
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy"), array)
    rows = np.array([4, 0, 0, 3])
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy", rows), array[rows])
    assert isinstance(map_npy(tmp_path / "a.npy"), np.memmap)
    assert not isinstance(read_npy(tmp_path / "a.npy", rows), np.memmap)


@given(st.integers(0, 6), st.integers(0, 5))
def test_equal_pixels_are_counted_once_whatever_their_order(mine, theirs):
    pixels = np.random.default_rng(0).integers(256, size=(12, 4, 5, 3), dtype=np.uint8)
    pool = ImageSet("pool", pixels)
    one, other = pool.take(np.arange(6)[::-1]), pool.take(np.arange(6 - mine, 12 - theirs), "other")
    both = len(range(max(6 - mine, 0), min(12 - theirs, 6)))
    nearly = ImageSet("nearly", pixels ^ 1)
    assert one.take(np.arange(12) % 6).shared([other, nearly]) == ({"other": both} if both else {})


FORMS = {
    "unit floats": lambda images: (images / 255).astype(np.float32),
    "byte floats": lambda images: images.astype(np.float64),
    "halves": lambda images: (images / 255).astype(np.float16),
    "16 bits": lambda images: images.astype(np.uint16) * 257,
    "12 bits": lambda images: np.rint(images * (4095 / 255)).astype(np.uint16),
    "integers": lambda images: images.astype(np.int64),
    "channels first": lambda images: images.transpose(0, 3, 1, 2),
    "unit floats, channels first": lambda images: (images / 255).transpose(0, 3, 1, 2),
    "transparent": lambda images: np.concatenate([images, images[..., :1]], axis=3),
}


@pytest.mark.parametrize("form", FORMS)
def test_images_of_other_types_and_forms_are_what_they_were(tmp_path, form):
    images = np.random.default_rng(0).integers(256, size=(7, 8, 9, 3), dtype=np.uint8)
    images[0, 0, 0], images[0, 0, 1] = 0, 255
    np.savez(tmp_path / "x.npz", images=FORMS[form](images), labels=np.arange(7)[:, None])
    found = read_npz(tmp_path / "x.npz")
    np.testing.assert_allclose(found.images, images, atol=1)
    np.testing.assert_array_equal(found.labels, np.arange(7))


@pytest.mark.parametrize("shape", [(7, 8, 9), (7, 8, 9, 1), (7, 1, 8, 9)])
def test_grey_arrays_get_three_channels(tmp_path, shape):
    grey = np.random.default_rng(0).integers(256, size=(7, 8, 9), dtype=np.uint8)
    np.savez(tmp_path / "x.npz", images=grey.reshape(shape))
    np.testing.assert_array_equal(read_npz(tmp_path / "x.npz").images, np.stack([grey] * 3, axis=3))
