"""DataCV's answer files: positions become ids and back, and what is no such file is refused line by line."""

import re
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.datacv import parse_answer, starts_with_number, write_answer
from submission.errors import InvalidSubmission

IDS = ("cnn/test_0001", "cnn/test_0002", "vit:b/test_0001", "vit:b/test_0002")
VALUES = dict(zip(IDS, (0.1, 1.0, 0.0, 0.87654321), strict=True))
TEXT = "0.100000\n1.000000\n0.000000\n0.876543\n"


def problems(data, ids=IDS):
    with pytest.raises(InvalidSubmission, match=r"^mine is not a valid submission") as caught:
        parse_answer(data.encode() if isinstance(data, str) else data, ids, "mine")
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
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_what_is_written_is_read_back_to_six_decimals(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "answer.txt"
    ids = [f"m/s{number}" for number in range(len(values))]
    write_answer(path, dict(zip(ids, values, strict=True)))
    found = parse_answer(path.read_bytes(), ids, "answer.txt")
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
    ],
)
def test_harmless_variants_are_accepted(data):
    found = parse_answer(data.encode(), IDS, "mine")
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
    ],
)  # fmt: skip
def test_every_problem_is_named(data, expected):
    found = problems(data)
    assert len(found) == len(expected), found
    for problem, pattern in zip(found, expected, strict=True):
        assert re.search(pattern, problem), problem


def test_an_answer_is_told_from_a_csv_by_its_first_line():
    for data in ("0.5", ".1\n1", "\ufeff 1 \r\n0", "1e-3\r0", "0." + "1" * 2000 + "\n"):
        assert starts_with_number(data.encode())
    for data in ("", "\n0.5", "id,prediction\n", "0.5,m/a\n", "nan\n", "prediction,id"):
        assert not starts_with_number(data.encode())


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(data):
    try:
        found = parse_answer(data, IDS, "mine")
    except InvalidSubmission:
        return
    assert list(found) == list(IDS)
    assert all(0 <= value <= 1 for value in found.values())
