import hashlib
import math
import os
import sqlite3
import stat
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from leaderboard.ledger.chain import GENESIS
from leaderboard.ledger.ledger import Entry, Ledger
from submission import Score, SubmissionScore, UnusableInput

TIME = datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=timezone.utc)


def scores(public: float, private: float) -> SubmissionScore:
    return SubmissionScore(*(Score(rmse, 0.0, math.nan, 4) for rmse in (public, private, 0.0)))


def add(
    ledger: Ledger,
    team: str,
    found: SubmissionScore | None = None,
    data: bytes | None = b"x",
    at: datetime = TIME,
) -> int:
    with ledger.transaction() as transaction:
        return transaction.submit(at, team, data, found, "scorer/1", "ab" * 32)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "private" / "ledger.sqlite")


def test_entries_come_back_in_order_at_full_precision(ledger: Ledger) -> None:
    assert (ledger.entries(), ledger.head()) == ((), GENESIS)
    assert not ledger.path.exists()
    assert add(ledger, " Team  A", scores(1 / 3, 1e-17), b"id,prediction\n") == 1
    first_head = ledger.head()
    assert add(ledger, "b", data=None, at=TIME.astimezone(timezone(timedelta(hours=9)))) == 2
    first, second = Ledger(ledger.path).entries()
    assert first == Entry(
        number=1,
        time=TIME,
        team="Team A",
        team_id=first.team_id,
        digest=hashlib.sha256(b"id,prediction\n").hexdigest(),
        status="scored",
        public=1 / 3,
        private=1e-17,
        scorer="scorer/1",
        solution="ab" * 32,
        final=True,
        previous=GENESIS,
        hash=first_head,
    )
    assert (second.number, second.time, second.status, second.digest) == (2, TIME, "invalid", "")
    assert (second.public, second.private, second.final) == (None, None, False)
    assert (second.previous, second.hash) == (first_head, ledger.head())


def test_the_same_row_has_another_hash_in_another_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """The head is public: without a nonce, guessed labels could be tried against it."""
    heads = set()
    for other in (ledger, Ledger(tmp_path / "other.sqlite")):
        add(other, "a", scores(1.0, 2.0))
        heads.add(other.head())
    assert len(heads) == 2


def test_the_submitted_file_is_kept_by_its_hash(ledger: Ledger) -> None:
    for data in (b"one", b"two", b"one"):
        add(ledger, "a", data=data)
    assert [ledger.file(entry).read_bytes() for entry in ledger.entries()] == [b"one", b"two", b"one"]
    kept = ledger.path.parent / "submissions"
    assert sorted(path.name for path in kept.iterdir()) == sorted(
        hashlib.sha256(data).hexdigest() for data in (b"one", b"two")
    )
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()} == {0o600}


def test_only_the_owner_can_read_it_and_nothing_else_is_left(ledger: Ledger) -> None:
    add(ledger, "a", data=None)
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    note = ledger.path.with_name("head")
    assert sorted(ledger.path.parent.iterdir()) == [note, ledger.path]
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_an_error_inside_a_transaction_leaves_no_row(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="time: must have a time zone"):
        add(ledger, "a", at=TIME.replace(tzinfo=None))
    with pytest.raises(UnusableInput, match="team name"):
        add(ledger, "<a>")
    assert (ledger.entries(), ledger.head()) == ((), GENESIS)


def test_the_best_two_public_scores_count_unless_a_team_chose(ledger: Ledger) -> None:
    for rmse in (3.0, 1.0, 2.0, 1.0):
        add(ledger, "a", scores(rmse, 9.0))
    add(ledger, "b", scores(7.0, 7.0))
    add(ledger, "a")

    def finals() -> list[int]:
        return [entry.number for entry in ledger.entries() if entry.final]

    assert finals() == [2, 4, 5]
    for chosen, expected in ([1, 3], [1, 3, 5]), ([3], [3, 5]), ([], [2, 4, 5]):
        with ledger.transaction() as transaction:
            assert transaction.scored("A") == [1, 2, 3, 4]
            transaction.select(TIME, "A", chosen)
        assert finals() == expected


def test_a_new_version_of_the_solution_gives_new_scores(ledger: Ledger) -> None:
    for rmse in (3.0, 1.0, 2.0):
        add(ledger, "a", scores(rmse, 9.0))
    with ledger.transaction() as transaction:
        assert transaction.solution() == "ab" * 32
        found = {number: scores(number, 2 * number) for number in (1, 2, 3)}
        transaction.rescore(TIME, "cd" * 32, "a label", found, "scorer/2")
        assert transaction.solution() == "cd" * 32
    assert [(e.public, e.private, e.final) for e in ledger.entries()] == [(1, 2, 1), (2, 4, 1), (3, 6, 0)]
    assert {(entry.solution, entry.scorer) for entry in ledger.entries()} == {("cd" * 32, "scorer/2")}
    assert add(ledger, "a") == 4


@pytest.mark.parametrize("statement", ["UPDATE events SET team = 'b'", "DELETE FROM events"])
def test_rows_cannot_be_changed_or_removed(ledger: Ledger, statement: str) -> None:
    add(ledger, "a")
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert ledger.entries()[0].team == "a"


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    told = r"ledger.sqlite is (damaged|not a ledger of version 2).*restore it"
    for content in (b"no database" * 1000, b""):
        ledger.path.write_bytes(content)
        for call in (ledger.entries, ledger.head, lambda: add(ledger, "a")):
            with pytest.raises(UnusableInput, match=told):
                call()
        assert ledger.path.read_bytes() == content


def test_a_file_damaged_inside_is_told(ledger: Ledger) -> None:
    for _ in range(40):
        add(ledger, "a")
    data = ledger.path.read_bytes()
    ledger.path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(UnusableInput, match=r"ledger.sqlite is damaged"):
        ledger.entries()


def test_a_ledger_of_another_version_or_a_folder_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    add(ledger, "a")
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(UnusableInput, match=r"not a ledger of version 2, but of 7"):
        ledger.entries()
    with pytest.raises(UnusableInput, match="cannot be used: unable to open"):
        Ledger(tmp_path).entries()
    with pytest.raises(UnusableInput, match=r"cannot be made: (Not a directory|File exists)"):
        add(Ledger(Path(__file__) / "ledger.sqlite"), "a")


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes no such name")
def test_a_folder_may_have_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9 ?#%41")
    folder.mkdir()
    add(Ledger(folder / "ledger.sqlite"), "a")
    assert len(Ledger(folder / "ledger.sqlite").entries()) == 1


# One process: waits for its turn to be everybody's turn, then appends ten rows.
WORKER = """
import sys, time
from datetime import datetime, timezone
from pathlib import Path
from leaderboard.ledger.ledger import Ledger

path, team, start = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
time.sleep(max(0.0, start - time.time()))
for number in range(10):
    with Ledger(path).transaction() as transaction:
        transaction.submit(datetime.now(timezone.utc), team, f"{team} {number}".encode(), None, "s", "ab")
"""


@pytest.mark.slow
def test_concurrent_appends_lose_nothing_and_double_nothing(ledger: Ledger) -> None:
    """All processes also race for making the ledger."""
    start = str(time.time() + 3)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(ledger.path), f"team {i}", start])
        for i in range(6)
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0] * 6
    entries = ledger.entries()
    assert [entry.number for entry in entries] == list(range(1, 61))
    for i in range(6):
        files = [ledger.file(entry).read_text() for entry in entries if entry.team == f"team {i}"]
        assert files == [f"team {i} {number}" for number in range(10)]
    assert [entry.previous for entry in entries] == [GENESIS, *(entry.hash for entry in entries[:-1])]
    assert {path.name for path in ledger.path.parent.iterdir()} == {"head", "ledger.sqlite", "submissions"}
    assert ledger.path.with_name("head").read_text() == f"{ledger.head()}\n"
