"""How commands end: exit codes, and one line in the place of a traceback."""

import errno
import io
import sys

import pytest

from submission import InvalidSubmission, UnusableInput
from unseen.cli.exits import Interrupted, run


def ended(command, capsys):
    """(exit code, what was printed to stderr) of a command."""
    with pytest.raises(SystemExit) as end:
        run(command)
    return end.value.code, capsys.readouterr().err


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            InvalidSubmission("a.csv", ["line 2: no"]),
            1,
            "a.csv is not a valid submission: 1 problem\n  line 2: no\n",
        ),
        (UnusableInput("no such thing"), 2, "error: no such thing\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "error: No space left on device\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "a/b"),
            2,
            "error: No space left on device: a/b\n",
        ),
        (
            OSError(errno.EISDIR, "Is a directory", "a/.b.tmp", None, "a/b"),
            2,
            "error: Is a directory: a/b\n",
        ),
        (PermissionError(errno.EACCES, "Permission denied", b"a/b"), 2, "error: Permission denied: a/b\n"),
        (OSError("the cache cannot be written"), 2, "error: the cache cannot be written\n"),
        (MemoryError("8 TiB"), 2, "error: there is not enough memory: 8 TiB\n"),
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"),
            2,
            "error: this command needs torch, which is not installed: pip install -e .\n",
        ),
        (SystemExit(130), 130, "interrupted; run the same command again to continue\n"),
        (Interrupted("look first"), 130, "interrupted; look first\n"),
        (SystemExit(1), 1, ""),
    ],
)
def test_an_error_is_a_code_and_a_line(error, code, message, capsys):
    assert ended(raising(error), capsys) == (code, message)


def test_what_is_no_mistake_of_the_users_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 / 0)


def test_a_command_that_is_done_ends_without_an_exit():
    assert run(lambda: None) is None


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_what_the_terminal_cannot_show_is_escaped(monkeypatch, errors):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii", errors=errors))
    run(lambda: print("é", end="", flush=True))
    assert buffer.getvalue() == b"\\xe9"


@pytest.mark.parametrize(
    "error",
    [
        UnusableInput("a\x1b[2J\u202e.csv is not a file"),
        InvalidSubmission("a\x1b[2J\u202e.csv", ["line 1: no"]),
        OSError(errno.EACCES, "Permission denied", "a\x1b[2J\u202e.csv"),
    ],
)
def test_what_a_terminal_acts_on_is_escaped(error, capsys):
    _, printed = ended(raising(error), capsys)
    assert "a\\x1b[2J\\u202e.csv" in printed
    assert printed.replace("\n", "").isprintable()
