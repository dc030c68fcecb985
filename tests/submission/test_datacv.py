"""DataCV's answer files: positions become ids and back, and what is no such file is refused line by line."""

import io
import re
import stat
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.datacv import read_answer, write_answer
from submission.errors import InvalidSubmission, UnusableInput

IDS = ("cnn/test_0001", "cnn/test_0002", "vit:b/test_0001", "vit:b/test_0002")
VALUES = dict(zip(IDS, (0.1, 1.0, 0.0, 0.87654321), strict=True))
TEXT = "0.100000\n1.000000\n0.000000\n0.876543\n"


def zipped(*members, mode=0, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data, compression)
    return stream.getvalue()


def read(folder, data, ids=IDS):
    path = folder / "mine"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_answer(path, ids)


def problems(folder, data, ids=IDS):
    with pytest.raises(InvalidSubmission) as caught:
        read(folder, data, ids)
    assert str(folder / "mine") in str(caught.value)
    return caught.value.problems


def test_an_answer_has_six_decimals_and_the_order_of_the_values(tmp_path):
    write_answer(tmp_path / "answer.txt", VALUES)
    assert (tmp_path / "answer.txt").read_bytes() == TEXT.encode()
    write_answer(tmp_path / "answer.zip", VALUES)
    with zipfile.ZipFile(tmp_path / "answer.zip") as archive:
        assert archive.namelist() == ["answer.txt"]
        assert archive.read("answer.txt") == TEXT.encode()
    write_answer(tmp_path / "again.zip", VALUES)
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "answer.zip").read_bytes()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from(["answer.txt", "answer.zip"]))
def test_what_is_written_is_read_back_to_six_decimals(tmp_path_factory, values, name):
    path = tmp_path_factory.getbasetemp() / name
    ids = [f"m/s{number}" for number in range(len(values))]
    write_answer(path, dict(zip(ids, values, strict=True)))
    found = read_answer(path, ids)
    assert list(found) == ids
    assert list(found.values()) == pytest.approx(values, abs=5.1e-7)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["answer.txt", "answer.zip"])
def test_a_wrong_value_is_not_written(tmp_path, value, name):
    with pytest.raises(ValueError, match=r"id 'b': prediction must be a fraction in \[0, 1\]"):
        write_answer(tmp_path / name, {"a": 0.5, "b": value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "data",
    [
        ".1\n1\n-0\n8.76543e-1",
        "\ufeff0.1\r\n1.0\r\n0\r\n0.876543\r\n",
        " 0.1\t\r1.\r0e5\r+0.876543\r",
        zipped(("answer.txt", TEXT)),
        zipped(("answer.txt", TEXT), ("__MACOSX/._answer.txt", "x"), mode=stat.S_IFREG | 0o600),
        zipped(("answer.txt", TEXT), compression=zipfile.ZIP_STORED),
    ],
)
def test_harmless_variants_are_accepted(tmp_path, data):
    found = read(tmp_path, data)
    assert found == {**VALUES, IDS[3]: 0.876543}
    assert list(found) == list(IDS)
    assert "-" not in str(list(found.values()))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("0.1\n0.2\nx\n1.5\n", ["line 3, id 'vit:b/test_0001': 'x' is not a plain", "line 4, id .*'1.5' is outside"]),
        ("0.1\n\n0.3\n0.4\n", ["line 2, id 'cnn/test_0002': '' is not a plain decimal number"]),
        ("0.1\n1_0\nnan\n1e999\n", ["line 2.*'1_0'", "line 3.*'nan'", "line 4.*'1e999' is not a plain"]),
        ("０.1\n-0.1\n0x1\n1,2\n", ["line 1", "line 2.*outside", "line 3", "line 4"]),
        ("10\n20.5\n99\n0.4\n", ["every line looks like a percentage", "line 1", "line 2", "line 3"]),
        ("0.1\n0.2\n", ["2 lines, expected 4: a fraction for each id from 'cnn/test_0001' to 'vit:b/test_0002'"]),
        (TEXT + "\n", ["5 lines, expected 4"]),
        ("", ["0 lines, expected 4"]),
        ("id,prediction\n" + TEXT, ["5 lines, expected 4"]),
        (b"0.1\n\xff\n", ["line 2: not UTF-8 text"]),
        ("0.1\n\0\n0\n0\n", ["line 2: NUL characters"]),
        ("0" * (2 << 20), ["the file is too large: at most 1,050,624 bytes are read"]),
        (zipped(("answer.csv", TEXT)), ["not a zip of answer.txt alone: it holds 'answer.csv'"]),
        (zipped(("out/answer.txt", TEXT)), ["it holds 'out/answer.txt'"]),
        (zipped(("../answer.txt", TEXT)), ["it holds '../answer.txt'"]),
        (zipped(), ["it holds ''"]),
        (zipped(("answer.txt", TEXT), ("b.txt", "")), ["it holds 'answer.txt, b.txt'"]),
        (zipped(("answer.txt", "/etc/passwd"), mode=stat.S_IFLNK | 0o777), ["its member is no regular file"]),
        (zipped(("answer.txt", TEXT), compression=zipfile.ZIP_LZMA), ["compressed in an unusual way"]),
        (zipped(("answer.txt", bytes(50 << 20))), ["its member is too large: at most 1,050,624 bytes"]),
        (zipped(("answer.txt", TEXT))[:-10], ["not a zip of answer.txt alone: File is not a zip file"]),
        (b"PK", ["not a zip of answer.txt alone: File is not a zip file"]),
    ],
)  # fmt: skip
def test_every_problem_is_named(tmp_path, data, expected):
    found = problems(tmp_path, data)
    assert len(found) == len(expected), found
    for problem, pattern in zip(found, expected, strict=True):
        assert re.search(pattern, problem), problem


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_twice_is_refused(tmp_path):
    data = zipped(("answer.txt", TEXT), ("answer.txt", TEXT))
    assert problems(tmp_path, data) == ("not a zip of answer.txt alone: it holds 'answer.txt, answer.txt'",)


def test_an_encrypted_member_is_refused(tmp_path):
    data = bytearray(zipped(("answer.txt", TEXT)))
    for at in (6, data.index(b"PK\x01\x02") + 8):
        data[at] |= 1
    assert "its member is encrypted" in problems(tmp_path, bytes(data))[0]


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UnusableInput, match=str(path)):
            read_answer(path, IDS)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_zips_and_any_bytes_are_refused_or_read(tmp_path_factory, data):
    whole = bytearray(zipped(("answer.txt", TEXT)))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(2, len(whole) - 1))] = data.draw(st.integers(0, 255))
    drawn = data.draw(
        st.one_of(st.just(bytes(whole)), st.binary(max_size=60), st.binary(max_size=60).map(b"PK".__add__))
    )
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    path.write_bytes(drawn)
    try:
        found = read_answer(path, IDS)
    except InvalidSubmission:
        return
    assert list(found) == list(IDS)
    assert all(0 <= value <= 1 for value in found.values())
