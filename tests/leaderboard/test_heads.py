"""Published heads: written by all that adds rows, told before a page, and missed where they are missing."""

import errno
import json

import pytest
from built import contents

from leaderboard.heads import HEADS, read_heads
from leaderboard.ledger import ledger_path
from leaderboard.publish import publish
from leaderboard.solutions import rescore
from leaderboard.submissions import receipt_file, select, submit
from leaderboard.verify import verify
from submission import UnusableInput


def killed_before(step, monkeypatch, command, *arguments):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"leaderboard.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            command(*arguments)


def without_receipts(competition):
    for path in competition.root.glob("receipts/*"):
        path.unlink()


def test_whatever_adds_rows_writes_the_newest_head(competition, halves, clock, tmp_path):
    events = [
        lambda: submit(competition, halves, "A", clock),
        lambda: select(competition, "A", [1], clock),
        lambda: rescore(competition, {"cnn/test_0001": 0.5}, (), "r", clock),
    ]
    for event in events:
        before = read_heads(competition.root)
        event()
        assert read_heads(competition.root) == [verify(competition).head] != before
    publish(competition, out=tmp_path / "web")
    (competition.root / HEADS).unlink()
    publish(competition)
    for folder in (competition.root, tmp_path / "web"):
        assert json.loads((folder / HEADS).read_text()) == {"heads": [verify(competition).head]}
        for board in ("leaderboard.html", "leaderboard.md"):
            assert verify(competition).head in (folder / board).read_text()


def test_heads_that_are_missing_beside_a_board_are_said(competition, halves, clock, tmp_path):
    submit(competition, halves, "A", clock)
    publish(competition, out=tmp_path / "web")
    (tmp_path / "web" / HEADS).unlink()
    with pytest.raises(UnusableInput, match=r"heads\.json is missing beside leaderboard\.html"):
        publish(competition, out=tmp_path / "web")
    publish(competition)
    (competition.root / HEADS).unlink()
    before = contents(competition.root)
    for command in (publish, verify, lambda each: submit(each, halves, "B", clock)):
        with pytest.raises(UnusableInput, match=r"heads\.json is missing beside leaderboard\.html"):
            command(competition)
    assert contents(competition.root) == before


@pytest.mark.parametrize("text", ["", "[]", '{"heads": []}', '{"heads": ["abc"]}', '{"heads": [1]}'])
def test_damaged_heads_are_refused_in_one_line(competition, text):
    publish(competition)
    (competition.root / HEADS).write_text(text)
    with pytest.raises(UnusableInput, match=r"^[^\n]*heads\.json: this is no list of heads[^\n]*$"):
        verify(competition)


def test_what_is_killed_before_the_page_alarms_nobody_and_keeps_the_guard(
    competition, halves, clock, monkeypatch
):
    submit(competition, halves, "A", clock)
    publish(competition)
    old = ledger_path(competition).read_bytes()
    submit(competition, halves, "B", clock)
    (competition.root / HEADS).write_text(json.dumps({"heads": ["0" * 64]}))  # as if submit had been killed
    without_receipts(competition)
    killed_before("publish.write_text", monkeypatch, publish, competition)
    assert verify(competition).problems == ()
    newest = ledger_path(competition).read_bytes()
    ledger_path(competition).write_bytes(old)
    with pytest.raises(UnusableInput, match="out of date"):
        publish(competition)
    ledger_path(competition).write_bytes(newest)
    assert len(publish(competition).standings) == 2


def test_the_first_page_that_is_killed_before_its_heads_is_not_there(competition, halves, clock, monkeypatch):
    submit(competition, halves, "A", clock)
    (competition.root / HEADS).unlink()
    killed_before("publish.write_heads", monkeypatch, publish, competition)
    assert not (competition.root / "leaderboard.html").exists()
    assert verify(competition).problems == ()


def test_a_submission_that_is_killed_before_its_head_is_entered(competition, halves, clock, monkeypatch):
    submit(competition, halves, "A", clock)
    publish(competition)
    killed_before("ledger.write_heads", monkeypatch, submit, competition, halves, "B", clock)
    assert not receipt_file(competition, 2).exists()
    found = verify(competition)
    assert (found.submissions, found.problems) == (2, ())
    assert read_heads(competition.root) != [found.head]
    assert submit(competition, halves, "C", clock).number == 3
    assert read_heads(competition.root) == [verify(competition).head]


def test_a_submission_counts_though_its_head_cannot_be_written(competition, halves, clock, monkeypatch):
    """The receipt alone then tells of a rollback."""
    submit(competition, halves, "A", clock)
    old = ledger_path(competition).read_bytes()

    def full(folder, head):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("leaderboard.ledger.write_heads", full)
        assert submit(competition, halves, "B", clock).number == 2
    ledger_path(competition).write_bytes(old)
    with pytest.raises(UnusableInput, match="out of date"):
        verify(competition)


def test_an_older_ledger_is_not_published_over_a_newer_board_elsewhere(competition, halves, clock, tmp_path):
    submit(competition, halves, "A", clock)
    old = ledger_path(competition).read_bytes()
    submit(competition, halves, "B", clock)
    publish(competition, out=tmp_path / "web")
    before = contents(tmp_path / "web")
    without_receipts(competition)
    (competition.root / HEADS).unlink()
    ledger_path(competition).write_bytes(old)
    with pytest.raises(UnusableInput, match="out of date"):
        publish(competition, out=tmp_path / "web")
    assert contents(tmp_path / "web") == before
