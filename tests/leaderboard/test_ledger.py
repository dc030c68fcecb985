"""The ledger keeps every event, notices every change, and is refused where it lacks what was published."""

import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.changes import amend
from leaderboard.heads import read_heads
from leaderboard.history import history
from leaderboard.ledger import COLUMNS, GENESIS, ledger_path, opened, row_hash
from leaderboard.publish import publish
from leaderboard.solutions import rescore
from leaderboard.submissions import receipt_file, select, submit
from leaderboard.verify import backup, verify
from submission import Competition, InvalidSubmission, UnusableInput

Clock = Callable[[], datetime]


@pytest.fixture
def entered(competition, halves, perfect, clock):
    """Teams A and B, four submissions of which the third is invalid, a choice, and a correction."""
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    bad = halves.with_name("bad.csv")
    bad.write_text("id,prediction\n")
    with pytest.raises(InvalidSubmission):
        submit(competition, bad, "A", clock)
    select(competition, "A", [1], clock)
    rescore(competition, {"cnn/test_0001": 0.5}, set(), "a mix-up", clock)
    submit(competition, halves, "A", clock)
    return competition


def tamper(competition, *statements):
    """Run SQL with the triggers that keep rows from changes taken away."""
    connection = sqlite3.connect(ledger_path(competition))
    connection.executescript("DROP TRIGGER IF EXISTS no_update; DROP TRIGGER IF EXISTS no_delete;")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def withdraw(competition):
    """Remove everything that holds a published head."""
    for pattern in ("heads.json", "leaderboard*", "receipts/**/*.json"):
        for path in competition.root.glob(pattern):
            path.unlink()


def test_events_are_in_order_and_whole(entered):
    with opened(entered) as ledger:
        rows = ledger.rows()
    assert [row["event"] for row in rows] == [
        *("team", "submission", "team", "submission", "submission", "selection"),
        *("solution", "score", "score", "submission"),
    ]
    found = verify(entered)
    assert (found.rows, found.submissions, found.head, found.problems) == (10, 4, rows[-1]["hash"], ())


def test_a_competition_without_submissions_has_an_empty_ledger(competition):
    found = verify(competition)
    assert (found.rows, found.submissions, found.head, found.problems) == (0, 0, GENESIS, ())
    assert not ledger_path(competition).exists()


@pytest.mark.parametrize(("number", "change"), [(1, "team = 'C'"), (2, "public = 0.5"), (8, "nonce = ''")])
def test_every_altered_row_is_found_and_nothing_is_published_from_it(entered, number, change):
    tamper(entered, f"UPDATE events SET {change} WHERE number = {number}")
    assert verify(entered).problems[0].startswith(f"row {number} was altered")
    with pytest.raises(UnusableInput, match="altered"):
        publish(entered)


def test_removed_rows_are_found(entered):
    withdraw(entered)
    tamper(entered, "DELETE FROM events WHERE number = 3")
    assert "removed" in verify(entered).problems[0]


def test_a_chain_written_anew_is_found_by_a_published_head(entered):
    withdraw(entered)
    with opened(entered) as ledger:
        kept, rows = ledger.head, ledger.rows()
    rows[0]["note"], previous, statements = "rewritten", GENESIS, []
    for row in rows:
        row["previous"] = previous
        previous = row_hash([row[column] for column in COLUMNS])
        note = "NULL" if row["note"] is None else f"'{row['note']}'"
        values = f"note = {note}, previous = '{row['previous']}', hash = '{previous}'"
        statements.append(f"UPDATE events SET {values} WHERE number = {row['number']}")
    tamper(entered, *statements)
    assert verify(entered).problems == ()
    with pytest.raises(UnusableInput, match=kept):
        verify(entered, [kept])


def test_a_ledger_of_another_version_is_refused(entered, halves, clock):
    tamper(entered, "PRAGMA user_version = 2")
    with pytest.raises(UnusableInput, match="is of format 2, this kit reads 3"):
        submit(entered, halves, "A", clock)


def test_a_score_or_a_file_that_does_not_fit_is_found(competition, halves, clock):
    submit(competition, halves, "A", clock)
    withdraw(competition)
    path = ledger_path(competition)
    whole = path.read_bytes()
    with opened(competition) as ledger:
        row = ledger.rows()[1]
    changed = row_hash([{**row, "public": 0.1}[column] for column in COLUMNS])
    for statement, problem in (
        (f"UPDATE events SET public = 0.1, hash = '{changed}' WHERE number = 2", "another score"),
        ("UPDATE files SET data = x'00'", "was changed"),
        ("UPDATE files SET predictions = zeroblob(64)", "other predictions"),
    ):
        tamper(competition, statement)
        assert problem in verify(competition).problems[0]
        if problem == "other predictions":
            assert publish(competition).standings
            with pytest.raises(UnusableInput, match="submission 1 has other predictions than its file"):
                publish(competition, clock())
            withdraw(competition)
        path.write_bytes(whole)
    tamper(competition, "DELETE FROM files")
    assert "missing" in verify(competition).problems[0]
    with pytest.raises(UnusableInput, match="lacks the file"):
        history(competition)


WITHOUT = {"heads alone": ("receipts/**/*.json",), "receipts alone": ("heads.json", "leaderboard*")}
COMMANDS: dict[str, Callable[[Competition, Path, Clock], object]] = {
    "submit": lambda competition, halves, clock: submit(competition, halves, "D", clock),
    "select": lambda competition, halves, clock: select(competition, "A", [1], clock),
    "rescore": lambda competition, halves, clock: rescore(
        competition, {"cnn/test_0001": 0.5}, (), "r", clock
    ),
    "publish": lambda competition, halves, clock: publish(competition),
    "verify": lambda competition, halves, clock: verify(competition),
}


@pytest.mark.parametrize("place", list(WITHOUT))
@pytest.mark.parametrize("state", ["older", "deleted", "empty"])
def test_a_ledger_that_lacks_a_published_head_is_refused(competition, halves, clock, state, place):
    """One place that names the head is enough; nothing is written, and with the newest ledger all goes on."""
    submit(competition, halves, "A", clock)
    path = ledger_path(competition)
    old = path.read_bytes()
    submit(competition, halves, "B", clock)
    publish(competition)
    newest = path.read_bytes()
    for published in (path for pattern in WITHOUT[place] for path in competition.root.glob(pattern)):
        published.unlink()
    before = {p: p.read_bytes() for p in competition.root.rglob("*") if p.is_file() and p != path}
    for command in COMMANDS.values():
        path.unlink() if state == "deleted" else path.write_bytes(old if state == "older" else b"")
        with pytest.raises(UnusableInput, match="out of date or was rewritten"):
            command(competition, halves, clock)
        path.write_bytes(newest)
    assert {p: p.read_bytes() for p in competition.root.rglob("*") if p.is_file() and p != path} == before
    assert submit(competition, halves, "C", clock).number == 3


def test_a_full_disk_and_a_damaged_file_are_told_in_one_line(competition, halves, clock, monkeypatch):
    real = sqlite3.connect

    def small(*arguments, **named):
        connection = real(*arguments, **named)
        connection.execute("PRAGMA max_page_count = 6")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        with pytest.raises(
            UnusableInput, match=r"contest\.sqlite cannot be used \(database or disk is full\)"
        ):
            submit(competition, halves, "A", clock)
    assert submit(competition, halves, "A", clock).number == 1
    withdraw(competition)
    ledger_path(competition).write_bytes(b"no database" * 500)
    with pytest.raises(UnusableInput, match=r"^[^\n]*cannot be used[^\n]*$"):
        verify(competition)


def test_what_is_stopped_before_its_end_has_not_happened_and_has_no_head(competition, halves, clock):
    submit(competition, halves, "A", clock)
    before = read_heads(competition.root)

    def stopped():
        with opened(competition, writing=True) as ledger:
            ledger.append(clock(), "team", team="B", team_id="b")
            assert read_heads(competition.root) == before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert read_heads(competition.root) == before == [verify(competition).head]
    assert submit(competition, halves, "B", clock).number == 2


def test_a_copy_that_cannot_be_written_is_read(entered, halves, clock, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert verify(entered).problems == ()
    assert publish(entered, out=tmp_path / "out").csv.parent == tmp_path / "out"
    with pytest.raises(UnusableInput, match="readonly"):
        submit(entered, halves, "A", clock)


def restore(competition, file):
    shutil.rmtree(competition.private)
    with zipfile.ZipFile(file) as archive:
        archive.extractall(competition.root)  # the test's own archive


def test_a_backup_restores_what_was_there(entered, halves, clock, tmp_path):
    publish(entered)
    before, file = verify(entered), tmp_path / "backup.zip"
    os.utime(entered.private / "solution.csv", (0, 0))  # before what zips can date
    assert backup(entered, file).endswith(before.head)
    assert file.stat().st_mode & 0o777 == 0o600
    restore(entered, file)
    assert verify(entered) == before
    assert submit(entered, halves, "C", clock).number == 5
    publish(entered)
    restore(entered, file)
    with pytest.raises(UnusableInput, match="out of date"):
        submit(entered, halves, "D", clock)
    withdraw(entered)
    assert submit(entered, halves, "D", clock).number == 5
    amend(entered, "why", clock, daily_limit=9)
    restore(entered, file)
    withdraw(entered)
    assert publish(Competition.open(entered.root)).csv.exists()
    assert Competition.open(entered.root).daily_limit is None


def test_a_receipt_is_never_replaced(competition, halves, clock):
    """Else the receipt of a row that was rolled back would no longer tell of it."""
    submit(competition, halves, "A", clock)
    path = receipt_file(competition, 2)
    path.write_text("another")
    submit(competition, halves, "B", clock)
    assert path.read_text() == "another"


KILLED = """
import os, sys, zipfile
from pathlib import Path
from leaderboard.verify import backup
from submission import Competition
from submission.pack import write_archive
for name in ("write", "writestr", "open"):
    def kill(*_, **__):
        os.kill(os.getpid(), 9)
    setattr(zipfile.ZipFile, name, kill)
competition = Competition.open(sys.argv[1])
{"backup": backup, "pack": write_archive}[sys.argv[2]](competition, Path(sys.argv[3]))
"""


@pytest.mark.parametrize("command", ["backup", "pack"])
def test_what_is_killed_leaves_nothing_outside_and_is_swept_inside(entered, tmp_path, command):
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(entered.root)}
    arguments = [sys.executable, "-c", KILLED, str(entered.root), command, str(tmp_path / "a.zip")]
    assert subprocess.run(arguments, check=False).returncode == -9
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(entered.root)} == before
    strays = list(entered.root.rglob(".*.tmp"))
    assert strays
    for path in strays:
        os.utime(path, (0, 0))
    publish(entered)
    assert not list(entered.root.rglob(".*.tmp"))
    assert verify(entered).problems == ()
