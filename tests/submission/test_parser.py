"""CSV files, answers and zips: harmless variants are read; everything else is refused, problem by problem."""

import contextlib
import io
import re
import stat
import struct
import time
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.errors import InvalidSubmission
from submission.parser import parse, unzipped

IDS = ("m/a", "m/b", "m/c")
GOOD = {"m/a": 0.25, "m/b": 1.0, "m/c": 0.0}
TEXT = "0.100000\n1.000000\n"


def problems(data, ids=IDS):
    with pytest.raises(InvalidSubmission, match=r"^mine is not a valid submission") as caught:
        parse(data.encode() if isinstance(data, str) else data, ids, "mine")
    return caught.value.problems


def check(found, expected):
    assert len(found) == len(expected), found
    for problem, pattern in zip(found, expected, strict=True):
        assert re.search(pattern, problem), problem


@pytest.mark.parametrize(
    "text",
    [
        "id,prediction\nm/c,-0\nm/b,1.\nm/a,.25",
        "prediction,id\n0.25,m/a\n1.0,m/b\n0e5,m/c\n",
        "\ufeffid,prediction\r\nm/a,2.5e-1\r\nm/b,+1\r\nm/c,00\r\n",
        ' id , prediction\n m/a,\t0.25 \n"m/b", "1"\nm/c , 0\n',
        "id,prediction\nm/a,25E-2\nm/b,1.000000000000000000000\nm/c,1e-999\n",
        "\ufeff0.25\r\n1.0\r\n0\r\n",
        " 0.25\t\r1.\r0e5\r",
        "\n \t\nid,prediction\n\nm/a,0.25\n  \nm/b,1\nm/c,0\n\n\n",
        "id,prediction\r\r\nm/a,0.25\r\r\nm/b,1\r\r\nm/c,0\r\r\n",
        "\n0.25\n\n1\r\r\n0\n \n\n",
    ],
)
def test_harmless_variants_are_accepted(text):
    found = parse(text.encode(), IDS, "mine")
    assert found == GOOD
    assert list(found) == list(IDS)
    assert "-" not in str(list(found.values()))


NOT_PLAIN = ("nan", "inf", "1_0", "1e999", "０.５", "٠.٥", "", "0x1")
NOT_PLAIN += ("1e", "0,5", "1 0", "--1", ".", "½", "5%")
OUTSIDE = ("-0.001", "1.0000001", "-1e-9", "12")


@pytest.mark.parametrize("number", [*NOT_PLAIN, *OUTSIDE])
def test_only_plain_ascii_decimals_from_0_to_1_are_taken(number):
    reason = "is outside" if number in OUTSIDE else "is not a plain"
    (found,) = problems(f'id,prediction\nm/a,"{number}"\nm/b,1\nm/c,0\n')
    assert found.startswith(f"line 2, id 'm/a': prediction {number!r} {reason}")
    if number:  # else a blank line
        (found,) = problems(f"1\n{number}\n0\n")
        assert found.startswith(f"line 2, id 'm/b': prediction {number!r} {reason}")


@pytest.mark.parametrize("form", ["id,prediction\nm/a,{}\nm/b,{}\nm/c,{}\n", "{}\n{}\n{}\n"])
def test_percentages_are_not_guessed_but_named(form):
    found = problems(form.format("91.5", "100", "0.9"))
    check(found, ["looks like a percentage", "id 'm/a'.*'91.5' is outside", "id 'm/b'.*'100' is outside"])
    assert not any("percentage" in each for each in problems(form.format("0.9", "1.2", "x")))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            "id,prediction\nm/a,0.5\nm/a,0.6\nm/x,0.5\n,0.5\nm/b\n\nm/d,bad\n",
            [
                "line 3, id 'm/a': already given in line 2",
                "line 4, id 'm/x': unknown id",
                "line 5: the id is empty",
                "line 6: 'm/b' has 1 field instead",
                "line 8, id 'm/d': unknown id",
                "line 8, id 'm/d': prediction 'bad'",
                "id 'm/b' is missing",
                "id 'm/c' is missing",
            ],
        ),
        (
            'id,prediction\n"m/\na",0\nm/b,2\nm/c,0\nm/a,0\n',
            [r"line 2, id 'm/\\na': unk", "line 4, id 'm/b'.*out"],
        ),
        ("id,prediction\nm/\u0430,0.5\nm/b,1\nm/c,0\n", ["unknown id .*ASCII", "id 'm/a' is missing"]),
        ("0.1\n\n1.5\n", ["2 lines, expected 3: "]),
        ("0.1\n\n\n1.5\n0\n", ["line 4, id 'm/b': .*'1.5' is outside"]),
        ("id,prediction\n\nm/a,7\nm/b,1\nm/c,0", ["line 3, id 'm/a'"]),
        (
            "id,prediction\nm/a,0,5\nm/b,1,0\n",
            [
                "line 2: 'm/a,0,5' has 3 fields",
                "line 3: 'm/b,1,0' has 3",
                "no id is there; .* needs 3: 'm/a', ",
            ],
        ),
        ("0.1\n0.2\n", ["2 lines, expected 3: .*'m/a' to 'm/c'"]),
        ("id,prediction\nn/x,0.5\nn/y,2\n", ["none of its ids .* here: 'n/x', 'n/y'; .*'m/a', 'm/b', 'm/c'"]),
        ("", ["empty: expected the header 'id,prediction'"]),
        ("m/a,0.5\n", ["line 1: the header is 'm/a,0.5'.* is missing"]),
        ("id;prediction\nm/a;0,5\n", ["line 1: the header .* by commas, not semicolons"]),
        ("\nid,value\n", ["line 2: the header"]),
        (",id,prediction\n0,m/a,0.5\n", ["index=False"]),
        ("id,prediction\nm/a,0\0\n", ["line 2: NUL"]),
        (b"id,prediction\nm/\xff,0\n", ["line 2: not UTF-8"]),
        ("id,prediction\n".encode("utf-16"), ["line 1: not UTF-8"]),
    ],
)
def test_every_problem_is_listed_with_line_and_id(data, expected):
    check(problems(data), expected)


@pytest.mark.parametrize("field", ['"m/a', 'm/a,"0.5', '"m/a"x,0.5', "x" * 200_000])
def test_what_the_csv_module_refuses_is_a_problem_of_that_line(field):
    found = problems(f"id,prediction\nm/b,-7\n{field}\nm/c,0\n")
    check(found, ["line 2, id 'm/b'.*outside", "line 3: not readable as CSV"])


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
def test_lines_are_counted_whatever_ends_them(end, bad, problem):
    text = "\ufeffid,prediction\nm/a,0.5\nm/b,0.\nm/c,0.5\n".replace("\n", end).encode()
    (found,) = problems(text.replace(b"0." + end.encode(), bad + end.encode()))
    assert found.startswith("line 3")
    assert problem in found


def test_far_more_lines_than_ids_and_a_long_number_are_refused_at_once():
    began = time.process_time()
    found = problems("id,prediction\n" + "m/a,0.5\n" * 100_000)
    assert found[-1].startswith("line 1007: far more lines than ids")
    assert len(found) < 3100
    assert len(problems("id,prediction\n" + "\n" * 1_000_000)) == len(IDS)
    (problem,) = problems(f"id,prediction\nm/a,{'1' * 60_000 + 'e-x' * 20_000}\nm/b,1\nm/c,0\n")
    assert len(problem) < 200
    assert time.process_time() - began < 3


def test_ids_of_another_form_are_shown_from_both_sides():
    ids = tuple(f"m/test_{i:04d}" for i in range(122))
    for rows, count in (
        ([f"test_{i:04d},0.5" for i in range(122)], 1),
        ([f"{each if i < 2 else each[2:]},0.5" for i, each in enumerate(ids)], 241),
        ([f"{each},0,5" for each in ids], 123),
    ):
        found = problems("\n".join(["id,prediction", *rows]), ids)
        assert len(found) == count
        message = str(InvalidSubmission("mine", found))
        for i in range(2, 5):
            assert f"'m/test_{i:04d}'" in message
            assert f"'{rows[i].split(',')[0]}" in message


def test_messages_cut_and_escape_what_the_file_holds():
    (found,) = problems("id,prediction\n\x1b[2J\u202e" + "y" * 1000 + ",0\n")
    assert "'\\x1b[2J\\u202e" + "y" * 55 + "...'" in found


@given(st.binary(max_size=300))
def test_no_bytes_do_worse_than_be_refused(data):
    for found in (b"x" + data, b"id,prediction\n" + data, b"0.5\n" + data + b"\n\n\n\n"):
        problems(found)


@given(st.text(alphabet='m/abc,01.e-"\n\r \t', max_size=120))
def test_whatever_is_accepted_is_complete_and_in_range(text):
    for data in (f"id,prediction\n{text}", text):
        found = {"m/a": 0.0}
        with contextlib.suppress(InvalidSubmission):
            found = parse(data.encode(), ("m/a",), "mine")
        assert list(found) == ["m/a"]
        assert 0 <= found["m/a"] <= 1


def zipped(*members, mode=0, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data, compression)
    return stream.getvalue()


def zip_problem(data, limit=1000):
    with pytest.raises(InvalidSubmission, match=r"^mine is not a valid submission: 1 problem") as caught:
        unzipped(data, "mine", limit)
    (found,) = caught.value.problems
    return found.removeprefix("not a zip of one answer.txt or .csv file: ")


@pytest.mark.parametrize(
    "data",
    [
        zipped(("Answer.TXT", TEXT)),
        zipped(("my file.csv", TEXT)),
        zipped(("a.csv", TEXT), ("__MACOSX/._a.csv", "x"), mode=stat.S_IFREG | 0o600),
        zipped(("a.csv", TEXT), compression=zipfile.ZIP_STORED),
    ],
)
def test_the_one_member_of_a_zip_is_read(data):
    assert unzipped(data, "mine", len(TEXT)) == TEXT.encode()
    assert parse(data, IDS[:2], "mine") == {"m/a": 0.1, "m/b": 1.0}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (zipped(("other.txt", TEXT)), "it holds"),
        (zipped(("sub/a.csv", TEXT)), "'sub/a.csv', with a folder: zip the file alone"),
        (zipped(("C:a.csv", TEXT)), "it holds"),
        (zipped(("a.csv", TEXT), ("b.csv", TEXT)), "it holds 'a.csv, b.csv'"),
        (zipped(), "it holds ''"),
        (zipped(("[Content_Types].xml", ""), ("xl/workbook.xml", "")), "an Excel workbook"),
        (zipped(("a.csv", "/etc/passwd"), mode=stat.S_IFLNK | 0o777), "no regular file"),
        (zipped(("a.csv", TEXT), compression=zipfile.ZIP_LZMA), "unusual way"),
        (zipped(("a.csv", bytes(50 << 20))), "too large: at most 1,000 bytes"),
        (zipped(("a.csv", TEXT))[:-10], "File is not a zip file"),
    ],
)
def test_any_other_zip_is_refused(data, expected):
    assert expected in zip_problem(data)
    problems(data)


@pytest.mark.parametrize(
    ("at", "of_directory", "form", "value", "problem"),
    [(6, 8, "<H", 1, "encrypted"), (22, 24, "<I", 100, "Bad CRC-32 for file 'a.csv'")],
)
def test_encryption_and_a_size_that_lies_are_found_out(at, of_directory, form, value, problem):
    """A bomb that declares a few bytes: the declared size bounds what is read, and the checksum fails."""
    data = bytearray(zipped(("a.csv", bytes(1 << 20))))
    for place in (at, data.index(b"PK\x01\x02") + of_directory):
        struct.pack_into(form, data, place, value)
    assert problem in zip_problem(bytes(data), limit=1 << 21)


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
    with contextlib.suppress(InvalidSubmission):
        assert unzipped(drawn, "mine", 1000) == TEXT.encode()
