"""Text files of a user's, and the errors that name them."""

import pytest

from submission import UnusableInput
from submission.textfile import read_rows, read_text


def test_text_has_plain_line_ends(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path) == "a\nb"


@pytest.mark.parametrize(
    ("data", "message"), [(b"\xff", "not UTF-8"), (b"x" * ((1 << 24) + 1), "more than 16 MiB")]
)
def test_what_is_no_text_is_refused(tmp_path, data, message):
    path = tmp_path / "text"
    path.write_bytes(data)
    with pytest.raises(UnusableInput, match=message):
        read_text(path)


def test_rows_carry_their_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a, b\n1,"two\nlines"\n3,4,5\n6\n')
    rows = list(read_rows(path, ("a", "b")))
    assert rows == [(3, {"a": "1", "b": "two\nlines"}), (4, {"a": "3", "b": "4"}), (5, {"a": "6", "b": ""})]
    with pytest.raises(UnusableInput, match="no column 'c'; the header is 'a,b'"):
        list(read_rows(path, ("c",)))
