"""Names of classes in any encoding, order and composition of accents."""

import pytest

from starter.data.images.imageset import in_order, places, read_classes
from submission.errors import UnusableInput


def test_whole_numbers_are_in_their_order():
    assert in_order(map(str, range(11, -2, -1))) == tuple(map(str, range(-1, 12)))
    assert in_order(["010", "9", "10"]) == ("9", "010", "10")
    assert in_order(["10", "9", "9a"]) == ("10", "9", "9a")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lists_of_classes_are_read_in_any_usual_encoding(tmp_path, encoding, end):
    names = ("café", "Ünal", "c d", "ñ")
    path = tmp_path / "classes.txt"
    path.write_bytes(f"{end}{end.join(names)}{end} {end}".encode(encoding))
    assert read_classes(path) == names


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\xc3\xa9\nbe\xcc\x81\n", "names the class 'bé' twice"),
        (b"\n \n", "names no class"),
        (b"a\x81\x8d\n", "not text in UTF-8, UTF-16 or Windows-1252"),
    ],
)
def test_lists_that_cannot_be_are_refused(tmp_path, data, message):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(UnusableInput, match=f"x: {message}"):
        read_classes(tmp_path / "x")


def test_names_are_found_composed_or_not(tmp_path):
    assert places(["café", "b"], ["b", "cafe\u0301"], tmp_path) == [1, 0]
    for name, look in (("cafe", "café"), ("Cat", "cat"), ("c\u00a0at", "cat")):
        with pytest.raises(UnusableInput, match="looks like it: rename one") as caught:
            places([name], ["dog", look], tmp_path)
        assert f"{name!a}; {look!a}" in str(caught.value)
    with pytest.raises(UnusableInput, match="no class 'x'; the classes are dog, cat"):
        places(["x"], ["dog", "cat"], tmp_path)
