import contextlib
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.errors import InvalidSubmission, UnusableInput
from submission.predictions import (
    parse_predictions,
    read_bytes,
    read_predictions,
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
    assert found[-1] == "line 1007: far more lines than ids; nothing from there on was checked"
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
