"""Long work is told of, short work is not."""

import io
import sys

import pytest

from submission.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_short_work_prints_nothing_and_long_work_is_a_bar_on_a_terminal(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    assert list(progress(range(3), "count")) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr("submission.progress.PATIENCE", 0)
    assert list(progress(range(3), "count")) == [0, 1, 2]
    assert ("count: 100%" in sys.stderr.getvalue()) == (stream is Terminal)


def test_long_work_is_a_line_now_and_then_without_a_terminal(monkeypatch):
    monkeypatch.setattr("submission.progress.PAUSE", 0)
    monkeypatch.setattr("submission.progress.PATIENCE", 0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress(None, "observe tiny", 30, "images") as bar:
        bar.update(20)
    lines = sys.stderr.getvalue().replace("\r", "").splitlines()
    assert "observe tiny: 20 of 30 images, 00:00 gone, 00:00 left" in lines
    assert all(line.startswith("observe tiny") for line in lines)
