"""Text files of a user's, and the errors that name them."""

import os
import time

import pytest

from submission.errors import InvalidSubmission, UnusableInput
from submission.files import read_text, replacing, sweep, write_text


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "one\n")
    write_text(path, "zwö\n")
    assert path.read_bytes() == "zwö\n".encode()
    assert [found.name for found in path.parent.iterdir()] == ["a.txt"]
    write_text(tmp_path / ("x" * 250), "a long name fits")
    with pytest.raises(UnusableInput, match="is a folder: name a file"):
        write_text(tmp_path, "")


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, stop):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise stop

    with pytest.raises(type(stop)):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_runs_left_is_swept_and_nothing_else(tmp_path):
    killed = {".a.csv.12ab34cd.tmp", "deep/in/.b.npz.12ab34cd.tmp", ".l.sqlite.12ab34cd.tmp-wal"}
    killed.add("deep/.tmps5Ha1w")  # of safetensors
    others = {".new.12ab34cd.tmp", "c.tmp", "kept/.f.12ab34cd.tmp", ".tmps5"}
    long_ago = time.time() - 7200
    for name in killed | others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half")
        if "new" not in name:
            os.utime(tmp_path / name, (long_ago, long_ago))
    (tmp_path / ".folder.12ab34cd.tmp").mkdir()
    sweep(tmp_path, but=["kept"])
    sweep(tmp_path / "missing")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == others
    sweep(tmp_path, age=0)
    assert [path.name for path in tmp_path.rglob(".*.12ab34cd.tmp")] == [".folder.12ab34cd.tmp"]


def test_text_has_plain_line_ends_or_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path) == "a\nb"
    for data, message in ((b"\xff", "not UTF-8"), (b"x" * ((1 << 24) + 1), "more than 16 MiB")):
        path.write_bytes(data)
        with pytest.raises(UnusableInput, match=message):
            read_text(path)


def test_the_message_of_a_submission_shows_ten_problems_of_a_kind_and_a_count():
    outside = [f"line {number}, id 's/{number}': prediction '2' is outside" for number in range(2, 17)]
    error = InvalidSubmission("mine.csv", [*outside, "id 's/3' is missing"])
    first, *lines, more, last = str(error).split("\n")
    assert (first, len(error.problems)) == ("mine.csv is not a valid submission: 16 problems", 16)
    assert lines == [f"  {problem}" for problem in outside[:10]]
    assert (more, last) == ("  ... and 5 more like these", "  id 's/3' is missing")
    assert "more" not in str(InvalidSubmission("mine.csv", outside[:10]))
