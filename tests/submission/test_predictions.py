"""Zips: their one member is read; bombs, slips, links, duplicates, encryption and damage are refused."""

import contextlib
import io
import os
import stat
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission import Competition, validate
from submission.errors import InvalidSubmission, UnusableInput
from submission.predictions import (
    is_zip,
    parse_predictions,
    read_bytes,
    read_predictions,
    unzipped,
    write_predictions,
    write_sample,
)

IDS = ("m/a", "m/b", "m/c")
GOOD = {"m/a": 0.25, "m/b": 1.0, "m/c": 0.0}


def problems(text: str | bytes, ids: tuple[str, ...] = IDS) -> tuple[str, ...]:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(InvalidSubmission) as caught:
        parse_predictions(data, ids, "mine.csv")
    return caught.value.problems


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_what_is_written_is_read_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, values: list
) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.csv"
    predictions = {f"m/s{number}": value for number, value in enumerate(values)}
    write_predictions(path, predictions)
    found = read_predictions(path, tuple(predictions))
    assert list(found) == list(predictions)
    assert [struct.pack("d", value + 0.0) for value in values] == [
        struct.pack("d", v) for v in found.values()
    ]


def test_a_file_of_predictions_looks_like_this(tmp_path: Path) -> None:
    write_predictions(tmp_path / "a.csv", {"m/a": 0.1, "m/b": 1}, column="target")
    assert (tmp_path / "a.csv").read_bytes() == b"id,target\nm/a,0.1\nm/b,1.0\n"
    write_sample(tmp_path / "sample.csv", ["m/a", "m/b"])
    assert (tmp_path / "sample.csv").read_bytes() == b"id,prediction\nm/a,0.5\nm/b,0.5\n"


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_wrong_value_is_not_written(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match=r"id 'm/b': prediction must be a fraction in \[0, 1\]"):
        write_predictions(tmp_path / "a.csv", {"m/a": 0.1, "m/b": value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "id,prediction\nm/a,0.25\nm/b,1\nm/c,0\n",
        "id,prediction\nm/c,-0\nm/b,1.\nm/a,.25",
        "prediction,id\n0.25,m/a\n1.0,m/b\n0e5,m/c\n",
        "\ufeffid,prediction\r\nm/a,2.5e-1\r\nm/b,+1\r\nm/c,00\r\n",
        ' id , prediction\n m/a,\t0.25 \n"m/b", "1"\nm/c , 0\n',
        "id,prediction\rm/a,0.25\rm/b,1\rm/c,0\r",
        "id,prediction\nm/a,25E-2\nm/b,1.000000000000000000000\nm/c,1e-999\n",
    ],
)
def test_harmless_variants_are_accepted(text: str) -> None:
    found = parse_predictions(text.encode(), IDS, "mine.csv")
    assert found == GOOD
    assert list(found) == list(IDS)
    assert "-" not in str(list(found.values()))


@pytest.mark.parametrize(
    "number",
    [
        "nan",
        "inf",
        "-inf",
        "1_0",
        "1e999",
        "０.５",
        "٠.٥",
        "",
        "0x1",
        "1e",
        "0,5",
        "0.5f",
        "1 0",
        "--1",
        ".",
        "½",
        "5%",
    ],
)
def test_only_plain_ascii_decimals_are_numbers(number: str) -> None:
    assert problems(f'id,prediction\nm/a,"{number}"\nm/b,1\nm/c,0\n') == (
        f"line 2, id 'm/a': prediction {number!r} is not a plain decimal number",
    )


@pytest.mark.parametrize("number", ["-0.001", "1.0000001", "-1e-9", "12"])
def test_numbers_outside_the_range_are_refused(number: str) -> None:
    assert problems(f"id,prediction\nm/a,0.5\nm/b,{number}\nm/c,0\n") == (
        f"line 3, id 'm/b': prediction {number!r} is outside [0, 1]",
    )


def test_percentages_are_not_guessed_but_named() -> None:
    found = problems("id,prediction\nm/a,91.5\nm/b,100\nm/c,0.9\n")
    assert found[0] == "every prediction looks like a percentage: divide them by 100 (fractions in [0, 1])"
    assert found[1:] == (
        "line 2, id 'm/a': prediction '91.5' is outside [0, 1]",
        "line 3, id 'm/b': prediction '100' is outside [0, 1]",
    )


def test_every_problem_is_listed_with_line_and_id() -> None:
    text = "id,prediction\nm/a,0.5\nm/a,0.6\nm/x,0.5\n,0.5\nm/b\n\nm/d,bad\n"
    assert problems(text) == (
        "line 3, id 'm/a': already given in line 2",
        "line 4, id 'm/x': unknown id",
        "line 5: the id is empty",
        "line 6, id 'm/b': 1 field instead of 2",
        "line 7: a blank line",
        "line 8, id 'm/d': unknown id",
        "line 8, id 'm/d': prediction 'bad' is not a plain decimal number",
        "id 'm/c' is missing",
    )


def test_lines_are_those_of_the_file_where_a_field_holds_newlines() -> None:
    text = 'id,prediction\n"m/\na",0.5\nm/b,2\nm/c,0\nm/a,0\n'
    assert problems(text) == (
        "line 2, id 'm/\\na': unknown id",
        "line 4, id 'm/b': prediction '2' is outside [0, 1]",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty: expected the header 'id,prediction'"),
        ("\ufeff", "the file is empty: expected the header 'id,prediction'"),
        ("m/a,0.5\n", "line 1: the header is 'm/a,0.5', expected 'id,prediction' (no line was checked)"),
        (
            "ID,Prediction\n",
            "line 1: the header is 'ID,Prediction', expected 'id,prediction' (no line was checked)",
        ),
        ("id\n", "line 1: the header is 'id', expected 'id,prediction' (no line was checked)"),
        (
            "id,prediction,x\n",
            "line 1: the header is 'id,prediction,x', expected 'id,prediction' (no line was checked)",
        ),
        ("\nid,prediction\n", "line 1: the header is '', expected 'id,prediction' (no line was checked)"),
        ("id,id\n", "line 1: the header is 'id,id', expected 'id,prediction' (no line was checked)"),
        ("id,prediction\nm/a,0\0\n", "line 2: NUL characters; save the file as UTF-8"),
        (b"id,prediction\nm/\xff,0\n", "line 2: not UTF-8 text; save the file as UTF-8"),
        ("id,prediction\n".encode("utf-16"), "line 1: not UTF-8 text; save the file as UTF-8"),
    ],
)
def test_a_file_of_another_format_has_one_clear_problem(text: str | bytes, problem: str) -> None:
    assert problems(text) == (problem,)


@pytest.mark.parametrize("field", ['"m/a', 'm/a,"0.5', '"m/a"x,0.5', "x" * 200_000])
def test_what_the_csv_module_refuses_is_a_problem_of_that_line(field: str) -> None:
    found = problems(f"id,prediction\nm/b,-7\n{field}\nm/c,0\n")
    assert found[0] == "line 2, id 'm/b': prediction '-7' is outside [0, 1]"
    assert found[1].startswith("line 3: not readable as CSV (")
    assert len(found) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"\xff", "not UTF-8 text"),
        (b"\0", "NUL characters"),
        (b'"', "not readable as CSV"),
        (b"7", "is outside"),
    ],
)
def test_lines_are_counted_whatever_ends_them(end: str, bad: bytes, problem: str) -> None:
    text = "\ufeffid,prediction\nm/a,0.5\nm/b,0.\nm/c,0.5\n".replace("\n", end).encode()
    (found,) = problems(text.replace(b"0." + end.encode(), bad + end.encode()))
    assert found.startswith("line 3")
    assert problem in found


@pytest.mark.parametrize("line", ["\n", "\r", ",\n", "m/a,0.5\n", "x\n"])
def test_far_more_lines_than_ids_are_not_read(line: str) -> None:
    found = problems("id,prediction\n" + line * 100_000)
    assert found[-1] == "line 1007: far more lines than ids; no line from here on was checked"
    assert len(found) < 3100


@pytest.mark.parametrize(
    "number", ["1" * 130_000 + "x", "." + "1" * 130_000 + "e", "1" * 60_000 + "e-x" * 20_000]
)
def test_a_long_number_is_refused_at_once(number: str) -> None:
    began = time.process_time()
    (found,) = problems(f"id,prediction\nm/a,{number}\nm/b,1\nm/c,0\n")
    assert time.process_time() - began < 1
    assert found.endswith("...' is not a plain decimal number")
    assert len(found) < 200


def test_an_id_of_other_letters_than_it_seems_is_told() -> None:
    assert problems("id,prediction\nm/\u0430,0.5\nm/b,1\nm/c,0\n") == (
        "line 2, id 'm/\u0430': unknown id (ids are plain ASCII)",
        "id 'm/a' is missing",
    )


def test_messages_cut_and_escape_what_the_file_holds() -> None:
    (unknown, *_) = problems("id,prediction\n\x1b[2J\u202e" + "y" * 1000 + ",0\n")
    assert unknown == "line 2, id '\\x1b[2J\\u202e" + "y" * 55 + "...': unknown id (ids are plain ASCII)"


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_do_worse_than_be_refused(data: bytes) -> None:
    for found in (data, b"id,prediction\n" + data):
        with pytest.raises(InvalidSubmission, match=r"^mine.csv is not a valid submission"):
            parse_predictions(found, IDS, "mine.csv")


@settings(deadline=None)
@given(st.text(alphabet='m/abc,01.e-"\n\r \t', max_size=120))
def test_whatever_is_accepted_is_complete_and_in_range(text: str) -> None:
    found = {"m/a": 0.0}
    with contextlib.suppress(InvalidSubmission):
        found = parse_predictions(f"id,prediction\n{text}".encode(), ("m/a",), "mine.csv")
    assert list(found) == ["m/a"]
    assert 0 <= found["m/a"] <= 1


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(InvalidSubmission, match="too large: at most 1,050,112 bytes are read"):
        read_bytes(path, IDS)


def folder(path: Path) -> None:
    path.mkdir()


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [folder, dangling, os.mkfifo, lambda path: None])
def test_what_is_no_file_is_an_unusable_argument(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "a.csv"
    make(path)
    with pytest.raises(UnusableInput, match=r"a\.csv (is not a file|cannot be read: No such file)"):
        read_predictions(path, IDS)
    with pytest.raises(UnusableInput, match="cannot be read: Not a directory"):
        read_predictions(Path(__file__) / "a.csv", IDS)


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    write_predictions(tmp_path / "a.csv", GOOD)
    (tmp_path / "b.csv").symlink_to("a.csv")
    assert read_predictions(tmp_path / "b.csv", IDS) == GOOD


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


@pytest.mark.slow
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
    with pytest.raises(
        InvalidSubmission,
        match=r"not a zip of one answer\.txt or \.csv file: a zip must begin with its member",
    ):
        validate(competition, tmp_path / "fake.zip")


def test_a_file_kept_by_its_hash_is_read_by_its_content(competition: Competition, tmp_path):
    values = dict(zip(competition.ids("test"), [k / 8 for k in range(8)], strict=True))
    write_predictions(tmp_path / "plain.csv", values)
    (tmp_path / "plain.csv").rename(tmp_path / "ab12")
    (tmp_path / "cd34").write_text("".join(f"{value:.6f}\n" for value in values.values()))
    assert validate(competition, tmp_path / "ab12") == validate(competition, tmp_path / "cd34") == values


@pytest.mark.parametrize("head", ["", "Unnamed: 0"])
def test_a_tables_index_is_recognised(head: str) -> None:
    (problem,) = problems(f"{head},id,prediction\n0,m/a,0.5\n")
    assert "the first column is a table's index: write it with index=False" in problem
