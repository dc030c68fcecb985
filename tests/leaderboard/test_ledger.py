import math
import sqlite3
import stat
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from leaderboard.ledger import Ledger
from submission import Score, SubmissionScore, UnusableInput

TIME = datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=timezone.utc)
SCORES = SubmissionScore(
    public=Score(1 / 3, 0.1 + 0.2, math.nan, 4),
    private=Score(2 / 3, 1e-17, -0.5, 6),
    overall=Score(0.5, 0.5, 0.5, 10),
)


def test_rows_come_back_in_order_at_full_precision(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "private" / "ledger.sqlite")
    assert ledger.rows() == ()
    assert not ledger.path.exists()
    assert ledger.append(TIME, " Team  A", "ab" * 32, SCORES, "scorer/1") == 1
    assert ledger.append(TIME.astimezone(timezone(timedelta(hours=9))), "b", "", None, "scorer/1") == 2
    first, second = Ledger(ledger.path).rows()
    assert first.number == 1
    assert first.time == second.time == "2026-03-01T12:00:00.000250+00:00"
    assert (first.team, first.team_key, first.file_sha256) == ("Team A", "team a", "ab" * 32)
    assert (first.status, first.scorer) == ("scored", "scorer/1")
    assert first.private == SCORES.private
    assert first.public is not None
    assert (first.public.rmse, first.public.mae, first.public.n) == (1 / 3, 0.1 + 0.2, 4)
    assert math.isnan(first.public.spearman)
    assert (second.status, second.public, second.private, second.file_sha256) == ("invalid", None, None, "")


def test_only_the_owner_can_read_it_and_nothing_else_is_left(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "private" / "ledger.sqlite")
    ledger.append(TIME, "a", "", SCORES, "s")
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


def test_a_time_without_zone_or_a_bad_team_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(ValueError, match="time: must have a time zone"):
        ledger.append(TIME.replace(tzinfo=None), "a", "", None, "s")
    with pytest.raises(UnusableInput, match="team name"):
        ledger.append(TIME, "<a>", "", None, "s")
    assert not ledger.path.exists()


@pytest.mark.parametrize("statement", ["UPDATE submissions SET team = 'b'", "DELETE FROM submissions"])
def test_rows_cannot_be_changed_or_removed(tmp_path: Path, statement: str) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.append(TIME, "a", "", SCORES, "s")
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert ledger.rows()[0].team == "a"


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for content in (b"no database" * 1000, b""):
        ledger.path.write_bytes(content)
        with pytest.raises(
            UnusableInput, match=r"ledger.sqlite is (damaged|no ledger of version 1).*restore it"
        ):
            ledger.rows()
        with pytest.raises(
            UnusableInput, match=r"ledger.sqlite is (damaged|no ledger of version 1).*restore it"
        ):
            ledger.append(TIME, "a", "", SCORES, "s")
        assert ledger.path.read_bytes() == content


def test_a_file_damaged_inside_is_told(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for _ in range(40):
        ledger.append(TIME, "a", "0" * 64, SCORES, "s")
    data = ledger.path.read_bytes()
    ledger.path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(UnusableInput, match=r"ledger.sqlite is damaged"):
        ledger.rows()


def test_a_ledger_of_another_version_or_a_folder_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.append(TIME, "a", "", SCORES, "s")
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(UnusableInput, match=r"no ledger of version 1 \(it says 7\)"):
        ledger.rows()
    with pytest.raises(UnusableInput, match="cannot be used: unable to open"):
        Ledger(tmp_path).rows()
    with pytest.raises(UnusableInput, match=r"cannot be made: (Not a directory|File exists)"):
        Ledger(Path(__file__) / "ledger.sqlite").append(TIME, "a", "", SCORES, "s")


# One process: waits for its turn to be everybody's turn, then appends ten rows.
WORKER = """
import sys, time
from datetime import datetime, timezone
from pathlib import Path
from leaderboard.ledger import Ledger

path, team, start = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
time.sleep(max(0.0, start - time.time()))
for number in range(10):
    Ledger(path).append(datetime.now(timezone.utc), team, str(number), None, "scorer/1")
"""


def test_concurrent_appends_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """All processes also race for making the ledger."""
    path, start = tmp_path / "ledger.sqlite", str(time.time() + 3)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(path), f"team {i}", start]) for i in range(6)
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0] * 6
    rows = Ledger(path).rows()
    assert [row.number for row in rows] == list(range(1, 61))
    for i in range(6):
        assert [row.file_sha256 for row in rows if row.team == f"team {i}"] == [str(n) for n in range(10)]
    assert list(tmp_path.iterdir()) == [path]
