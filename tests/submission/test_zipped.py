"""Zips: their one member is read; bombs, slips, links, duplicates, encryption and damage are refused."""

import io
import stat
import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission import Competition, InvalidSubmission, validate, write_predictions
from submission.zipped import is_zip, unzipped

TEXT = "0.100000\n1.000000\n"


def zipped(*members, mode=0, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data, compression)
    return stream.getvalue()


def problem(data, limit=1000):
    with pytest.raises(InvalidSubmission, match=r"^mine is not a valid submission: 1 problem") as caught:
        unzipped(data, "mine", limit)
    (found,) = caught.value.problems
    start = "not a zip of one answer.txt or .csv file: "
    assert found.startswith(start)
    return found.removeprefix(start)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (zipped(("answer.txt", TEXT)), "answer.txt"),
        (zipped(("Answer.TXT", TEXT)), "Answer.TXT"),
        (zipped(("my file.csv", TEXT)), "my file.csv"),
        (zipped(("a.csv", TEXT), ("__MACOSX/._a.csv", "x"), mode=stat.S_IFREG | 0o600), "a.csv"),
        (zipped(("a.csv", TEXT), compression=zipfile.ZIP_STORED), "a.csv"),
    ],
)
def test_the_one_member_is_read(data, name):
    assert is_zip(data)
    assert unzipped(data, "mine", 1000) == (name, TEXT.encode())
    assert unzipped(data, "mine", len(TEXT))[1] == TEXT.encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (zipped(("other.txt", TEXT)), "it holds 'other.txt'"),
        (zipped(("out/answer.txt", TEXT)), "it holds 'out/answer.txt'"),
        (zipped(("../a.csv", TEXT)), "it holds '../a.csv'"),
        (zipped(("/a.csv", TEXT)), "it holds '/a.csv'"),
        (zipped(("..\\a.csv", TEXT)), "it holds '..\\\\a.csv'"),
        (zipped(("C:a.csv", TEXT)), "it holds 'C:a.csv'"),
        (zipped(("a.csv", TEXT), ("b.csv", TEXT)), "it holds 'a.csv, b.csv'"),
        (zipped(("folder.csv/", ""), ("folder.csv/a.csv", TEXT)), "it holds 'folder.csv/, folder.csv/a.csv'"),
        (zipped(("answer.txt", TEXT), ("b.txt", "")), "it holds 'answer.txt, b.txt'"),
        (zipped(), "it holds ''"),
        (zipped(("a.csv", "/etc/passwd"), mode=stat.S_IFLNK | 0o777), "its member is no regular file"),
        (zipped(("a.csv", TEXT), compression=zipfile.ZIP_LZMA), "its member is encrypted, or compressed in an unusual way"),
        (zipped(("a.csv", bytes(50 << 20))), "its member is too large: at most 1,000 bytes are read"),
        (zipped(("a.csv", TEXT))[:-10], "File is not a zip file"),
        (b"PK\x05\x06", "File is not a zip file"),
        (b"", "File is not a zip file"),
        (b"id,prediction\n", "File is not a zip file"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(data, expected):
    assert problem(data) == expected


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_twice_is_refused():
    assert problem(zipped(("a.csv", TEXT), ("a.csv", TEXT))) == "it holds 'a.csv, a.csv'"


def test_an_encrypted_member_is_refused():
    data = bytearray(zipped(("answer.txt", TEXT)))
    for at in (6, data.index(b"PK\x01\x02") + 8):
        data[at] |= 1
    assert problem(bytes(data)).startswith("its member is encrypted")


def test_a_size_that_lies_is_found_out():
    """A bomb that declares a few bytes: the declared size bounds what is read, and the checksum fails."""
    data = bytearray(zipped(("a.csv", bytes(1 << 20))))
    for at in (22, data.index(b"PK\x01\x02") + 24):
        struct.pack_into("<I", data, at, 100)
    assert problem(bytes(data), limit=1 << 21) == "Bad CRC-32 for file 'a.csv'"


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_zips_and_any_bytes_are_refused_or_read(data):
    whole = bytearray(zipped(("answer.txt", TEXT)))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(2, len(whole) - 1))] = data.draw(st.integers(0, 255))
    drawn = data.draw(
        st.one_of(st.just(bytes(whole)), st.binary(max_size=60), st.binary(max_size=60).map(b"PK".__add__))
    )
    try:
        _, found = unzipped(drawn, "mine", 1000)
    except InvalidSubmission:
        return
    assert found == TEXT.encode()


@pytest.mark.parametrize("name", ["mine.zip", "mine.ZIP", "mine.csv", "mine"])
def test_a_csv_in_a_zip_is_a_submission(competition: Competition, tmp_path, name):
    values = dict(zip(competition.ids("test"), [k / 7 for k in range(8)], strict=True))
    write_predictions(tmp_path / "plain.csv", values)
    (tmp_path / name).write_bytes(zipped(("sub.csv", (tmp_path / "plain.csv").read_text())))
    assert validate(competition, tmp_path / name) == values


def test_problems_inside_a_zip_are_those_of_the_member(competition: Competition, tmp_path):
    (tmp_path / "mine.zip").write_bytes(zipped(("sub.csv", "id,prediction\ncnn/test_0001,50\n")))
    with pytest.raises(InvalidSubmission) as caught:
        validate(competition, tmp_path / "mine.zip")
    assert caught.value.problems[1] == "line 2, id 'cnn/test_0001': prediction '50' is outside [0, 1]"
    (tmp_path / "fake.zip").write_text("id,prediction\n")
    with pytest.raises(InvalidSubmission, match=r"not a zip of one answer\.txt or \.csv file: File is not"):
        validate(competition, tmp_path / "fake.zip")


def test_a_file_kept_by_its_hash_is_read_by_its_content(competition: Competition, tmp_path):
    values = dict(zip(competition.ids("test"), [k / 8 for k in range(8)], strict=True))
    write_predictions(tmp_path / "plain.csv", values)
    (tmp_path / "plain.csv").rename(tmp_path / "ab12")
    (tmp_path / "cd34").write_text("".join(f"{value:.6f}\n" for value in values.values()))
    assert validate(competition, tmp_path / "ab12") == validate(competition, tmp_path / "cd34") == values
