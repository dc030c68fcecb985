"""A ledger that lacks a row that was told is neither added to nor published."""

import shutil
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.board.publish import publish
from leaderboard.entry.select import select
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, UnusableInput

Clock = Callable[[], datetime]
PUBLISHED = ("leaderboard.csv", "leaderboard.html", "leaderboard.md")


def ledger_of(competition: Competition) -> Ledger:
    return Ledger(competition.private / "ledger.sqlite")


def without_log(path: Path, halves: Path, competition: Competition, clock: Clock) -> bytes:
    """The SQLite file as a copy finds it that leaves the write-ahead log behind."""
    with sqlite3.connect(path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()  # nothing is folded into the file meanwhile
        submit(competition, halves, "C", clock)
        found = path.read_bytes()
        assert path.with_name("ledger.sqlite-wal").stat().st_size
    reader.close()
    return found


@pytest.fixture(params=["rolled back", "deleted", "copied without its log"])
def lost(request: pytest.FixtureRequest, competition: Competition, halves: Path, clock: Clock) -> Competition:
    """Three submissions, published, of which one or none is left."""
    path = competition.private / "ledger.sqlite"
    submit(competition, halves, "A", clock)
    old = path.read_bytes()
    submit(competition, halves, "B", clock)
    publish(competition)
    if request.param == "deleted":
        path.unlink()
    elif request.param == "rolled back":
        path.write_bytes(old)
    else:
        old = without_log(path, halves, competition, clock)
        path.write_bytes(old)
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        path.with_name(name).unlink(missing_ok=True)
    return competition


COMMANDS: dict[str, Callable[[Competition, Path, Clock], object]] = {
    "submit": lambda competition, halves, clock: submit(competition, halves, "D", clock),
    "select": lambda competition, halves, clock: select(competition, "A", [1], clock),
    "rescore": lambda competition, halves, clock: rescore(
        competition, {"cnn/test_0001": 0.5}, (), "r", clock
    ),
    "publish": lambda competition, halves, clock: publish(competition),
}


@pytest.mark.parametrize("command", list(COMMANDS))
@pytest.mark.parametrize("told", ["head", "leaderboard"])
def test_nothing_is_added_or_published(
    lost: Competition, halves: Path, clock: Clock, command: str, told: str
) -> None:
    """It is enough that one place names the head: the board's files alone, or ``private/head`` alone."""
    if told == "leaderboard":
        (lost.private / "head").unlink()
        if len(ledger_of(lost).rows()) == 2:  # the row that the copy lacks was not published
            return
    else:
        for name in PUBLISHED:
            (lost.root / name).unlink()
    before = {path: path.read_bytes() for path in lost.root.rglob("*") if path.is_file()}
    with pytest.raises(UnusableInput) as caught:
        COMMANDS[command](lost, halves, clock)
    assert "ledger.sqlite" in str(caught.value)
    assert "but none for" in str(caught.value)
    assert "Restore the newest ledger.sqlite, with its ledger.sqlite-wal" in str(caught.value)
    after = {path: path.read_bytes() for path in lost.root.rglob("*") if path.is_file()}
    for found in (before, after):
        found.pop(lost.private / "ledger.sqlite-shm", None)
        found.pop(lost.private / "ledger.sqlite-wal", None)
    assert after == before


def test_verify_names_it_too(lost: Competition) -> None:
    assert any("private/head" in problem for problem in verify(lost).problems)


def test_with_the_newest_file_back_it_goes_on(competition: Competition, halves: Path, clock: Clock) -> None:
    path = competition.private / "ledger.sqlite"
    submit(competition, halves, "A", clock)
    old = path.read_bytes()
    submit(competition, halves, "B", clock)
    newest = path.read_bytes()
    path.write_bytes(old)
    with pytest.raises(UnusableInput, match="has 1 rows, but none for"):
        submit(competition, halves, "C", clock)
    path.write_bytes(newest)
    assert submit(competition, halves, "C", clock).number == 3


def test_a_ledger_of_an_older_release_is_taken_over(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "A", clock)
    publish(competition)
    (competition.private / "head").unlink()
    submit(competition, halves, "B", clock)
    assert (competition.private / "head").read_text() == f"{ledger_of(competition).head()}\n"
    assert verify(competition).problems == ()


def test_the_head_follows_every_change(competition: Competition, halves: Path, clock: Clock) -> None:
    note, ledger = competition.private / "head", ledger_of(competition)
    for change in (
        lambda: submit(competition, halves, "A", clock),
        lambda: select(competition, "A", [1], clock),
        lambda: rescore(competition, {"cnn/test_0001": 0.5}, (), "r", clock),
    ):
        change()
        assert note.read_text() == f"{ledger.head()}\n"


def test_a_head_that_cannot_be_written_stops_no_submission(
    competition: Competition, halves: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(competition, halves, "A", clock)
    before = (competition.private / "head").read_text()

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("leaderboard.ledger.ledger.write_head", full)
        assert submit(competition, halves, "B", clock).number == 2
    assert (competition.private / "head").read_text() == before
    assert submit(competition, halves, "C", clock).number == 3


def test_a_copy_of_the_folder_is_a_competition_of_its_own(
    competition: Competition, halves: Path, clock: Clock, tmp_path: Path
) -> None:
    submit(competition, halves, "A", clock)
    publish(competition)
    copy = Competition.open(shutil.copytree(competition.root, tmp_path / "copy"))
    assert submit(copy, halves, "B", clock).number == 2
    assert submit(competition, halves, "C", clock).number == 2
