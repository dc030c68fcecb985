"""Kept files and rows go together, whatever stops a process between the two."""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.store import held_files, keep
from leaderboard.ledger.verify import verify
from submission import Competition

Clock = Callable[[], datetime]


def ledger_of(competition: Competition) -> Ledger:
    return Ledger(competition.private / "ledger.sqlite")


def test_a_kept_file_that_no_row_names_is_told(competition: Competition, halves: Path, clock: Clock) -> None:
    submit(competition, halves, "A", clock)
    stray = competition.private / "submissions" / hashlib.sha256(b"lost").hexdigest()
    stray.write_bytes(b"lost")
    assert verify(competition).problems == (f"no row names the kept file {stray}: rows were lost",)


@pytest.mark.parametrize("known", [False, True])
def test_a_file_kept_by_a_killed_process_is_gone_unless_a_row_names_it(
    competition: Competition, halves: Path, clock: Clock, known: bool
) -> None:
    """What a process leaves that is killed before its row is written."""
    submit(competition, halves, "A", clock)
    data = halves.read_bytes() if known else b"killed"
    digest = keep(competition.private, data)
    assert (competition.private / "entering").exists()
    assert verify(competition).problems == ()
    submit(competition, halves, "B", clock)
    assert not (competition.private / "entering").exists()
    assert (competition.private / "submissions" / digest).exists() == known
    assert verify(competition).problems == ()


def test_a_file_whose_row_was_written_stays(competition: Competition, halves: Path, clock: Clock) -> None:
    """What a process leaves that is killed after its row is written."""
    submit(competition, halves, "A", clock)
    (entry,) = ledger_of(competition).entries()
    kept = ledger_of(competition).file(entry)
    (competition.private / "entering").hardlink_to(kept)
    submit(competition, halves, "B", clock)
    assert kept.read_bytes() == halves.read_bytes()
    assert not (competition.private / "entering").exists()


def test_half_a_file_is_gone(competition: Competition, halves: Path, clock: Clock) -> None:
    (competition.private / "entering").write_bytes(b"id,predic")
    submit(competition, halves, "A", clock)
    assert [path.name for path in held_files(competition.private)] == [
        hashlib.sha256(halves.read_bytes()).hexdigest()
    ]


def test_a_damaged_file_is_whole_again_when_it_is_handed_in_again(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "A", clock)
    (path,) = held_files(competition.private)
    path.write_bytes(b"damaged")
    submit(competition, halves, "A", clock)
    assert path.read_bytes() == halves.read_bytes()
    assert verify(competition).problems == ()


def test_a_file_that_enters_after_a_commit_is_left_to_the_process_that_enters_it(
    competition: Competition, halves: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process may begin between a commit and what follows it."""
    ledger, begun = ledger_of(competition), threading.Event()
    submit(competition, halves, "A", clock)
    found: list[bool] = []

    def enter() -> None:
        with ledger.transaction() as transaction:
            keep(competition.private, b"next")
            begun.set()
            time.sleep(0.3)
            found.append((competition.private / "entering").exists())
            transaction.select(clock(), "A", [1])

    real, follower = Ledger._settle, threading.Thread(target=enter)

    def settle(self: Ledger, connection: sqlite3.Connection) -> None:
        if not follower.ident:
            follower.start()
            begun.wait()
        real(self, connection)

    monkeypatch.setattr(Ledger, "_settle", settle)
    submit(competition, halves, "B", clock)
    follower.join()
    assert found == [True]
