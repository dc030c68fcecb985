"""Images of 16 bits and of floats become what they are as 8 bits, or are refused; they never become black."""

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps, TiffImagePlugin

from starter.data.images.depth import Range, as_pixels, deep_file
from starter.data.images.files import open_tree
from starter.data.images.reading import read_images
from submission.errors import UnusableInput

COLOURS = np.random.default_rng(0).integers(256, size=(6, 10, 12, 3), dtype=np.uint8)
COLOURS[0, 0, 0], COLOURS[0, 0, 1] = 0, 255
GREY = COLOURS[..., :1].repeat(3, axis=3)


def encoded(values, end):
    """A file as OpenCV writes it, from RGB or grey values; old ones would make logarithms of floats."""
    plain = (cv2.IMWRITE_TIFF_COMPRESSION, 1)
    return cv2.imencode(end, values[..., ::-1] if values.ndim == 3 else values, plain)[1].tobytes()


def read(folder, files, end):
    (folder / "set").mkdir()
    for i, data in enumerate(files):
        (folder / "set" / f"{i}{end}").write_bytes(data)
    with open_tree(folder / "set") as tree:
        return read_images(tree, tree.every_image)[0]


def bits(images, count):
    """Images of 8 bits as those of `count`, in 16."""
    return np.rint(images * ((2**count - 1) / 255)).astype(np.uint16)


INTEGERS = [(end, bits(COLOURS, count)) for end in (".png", ".tiff") for count in (8, 10, 12, 14, 16)]
FLOATS = [(COLOURS * (top / 255)).astype(kind) for top in (1.0, 255.0) for kind in (np.float32, np.float64)]


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize(("end", "deep"), [*INTEGERS, *((".tiff", values) for values in FLOATS)])
def test_floats_and_values_of_fewer_bits_in_16_are_read_by_their_range(tmp_path, end, deep, grey):
    found = read(tmp_path, [encoded(image[..., 0] if grey else image, end) for image in deep], end)
    np.testing.assert_allclose(found, GREY if grey else COLOURS, atol=1)


def tiff(values, white):
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[341] = white
    tags.tagtype[341] = 3
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, "TIFF", tiffinfo=tags)
    return stream.getvalue()


def significant(data, count):
    """A PNG with the chunk sBIT after its header."""
    chunk = b"sBIT" + bytes([count] * 3)
    return data[:33] + struct.pack(">I", 3) + chunk + struct.pack(">I", zlib.crc32(chunk)) + data[33:]


@pytest.mark.parametrize(
    ("images", "make", "end"),
    [
        (bits(COLOURS // 8, 12), lambda image: tiff(image[..., 0], 4095), ".tif"),
        (bits(COLOURS // 8, 12), lambda image: significant(encoded(image, ".png"), 12), ".png"),
        (bits(COLOURS, 12) << 4, lambda image: significant(encoded(image, ".png"), 12), ".png"),
    ],
)
def test_what_a_file_says_of_its_range_counts(tmp_path, images, make, end):
    """Of a set so dark that its own range says nothing, and where significant bits fill the upper ones."""
    found = read(tmp_path, [make(image) for image in images], end)
    expected = COLOURS if images.max() > 4095 else COLOURS // 8
    np.testing.assert_allclose(found[..., 0], expected[..., 0], atol=1)


DOUBTFUL = [each.astype(np.float32) for each in ((COLOURS - 120.0) / 60, COLOURS / 51, COLOURS * 200.0)]


@pytest.mark.parametrize(
    ("images", "end"), [(bits(COLOURS // 8, 12), ".png"), *((each, ".tiff") for each in DOUBTFUL)]
)
def test_a_doubtful_range_is_refused(tmp_path, images, end):
    with pytest.raises(UnusableInput, match=r"6 of 6 images .*values from .* nothing says which is white"):
        read(tmp_path, [encoded(image, end) for image in images], end)


def test_one_file_cut_short_or_of_numbers_that_are_none_is_named_among_the_others(tmp_path):
    floats = (COLOURS / 255).astype(np.float32)
    floats[2, 0, 0, 0] = np.nan
    with pytest.raises(UnusableInput, match=r"1 of 6 images .*2\.tiff: holds values that are NaN"):
        read(tmp_path, [encoded(image, ".tiff") for image in floats], ".tiff")
    (tmp_path / "pngs").mkdir()
    whole = [encoded(image, ".png") for image in bits(COLOURS, 16)]
    with pytest.raises(UnusableInput, match=r"1 of 6 images cannot be read.*cut short"):
        read(tmp_path / "pngs", [whole[0][:-200], *whole[1:]], ".png")
    assert deep_file(encoded(COLOURS[0], ".png")) is None


def test_deep_and_plain_files_stand_together(tmp_path):
    files = [encoded(image, ".png") for image in (bits(COLOURS[0], 12), COLOURS[1], bits(COLOURS[2], 12))]
    np.testing.assert_allclose(read(tmp_path, files, ".png"), COLOURS[:3], atol=1)


def test_a_portable_graymap_says_its_largest_value(tmp_path):
    files = [b"P5 12 10 4095\n" + bits(image[..., 0], 12).astype(">u2").tobytes() for image in GREY]
    np.testing.assert_allclose(read(tmp_path, files, ".pgm"), GREY, atol=1)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["png", "tiff"])
def test_deep_images_are_turned_as_others(tmp_path, form, orientation):
    exif = Image.Exif()
    exif[274] = orientation
    stream = io.BytesIO()
    Image.fromarray(COLOURS[0, ..., 0].astype(np.uint16)).save(stream, form, exif=exif)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(stream)))
    np.testing.assert_array_equal(read(tmp_path, [stream.getvalue()], f".{form}")[0, ..., 0], expected)


@pytest.mark.parametrize(("tag", "value"), [(262, 0), (262, 5), (284, 2)])
def test_deep_files_whose_values_mean_something_else_are_refused(tmp_path, tag, value):
    """White as 0, inks, and planes of colours."""
    data = encoded(bits(COLOURS[0], 16), ".tiff")
    one, two, other = (struct.pack("<HHIHH", tag, 3, 1, each, 0) for each in (1, 2, value))
    assert (one in data) != (two in data)
    changed = data.replace(one if one in data else two, other)
    with pytest.raises(UnusableInput, match=r"1 of 1 images .* in a form that is not known here"):
        read(tmp_path, [changed], ".tiff")


def test_white_is_255_and_what_is_beyond_is_white():
    values = np.array([0.0, 0.5, 1.0, 1.05, -0.05])
    assert as_pixels(values, Range.of([(values, 0)]).white()).tolist() == [0, 128, 255, 255, 0]
