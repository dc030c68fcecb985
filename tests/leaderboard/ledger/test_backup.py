"""A backup restores what was there, and one that is too old is told."""

import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.board.publish import publish
from leaderboard.entry.submit import submit
from leaderboard.ledger.backup import backup
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, UnusableInput

Clock = Callable[[], datetime]


@pytest.fixture
def entered(competition: Competition, halves: Path, perfect: Path, clock: Clock) -> Competition:
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    rescore(competition, {"cnn/test_0001": 0.5}, (), "r", clock)
    publish(competition)
    return competition


def restore(competition: Competition, file: Path) -> None:
    shutil.rmtree(competition.private)
    with zipfile.ZipFile(file) as archive:
        assert all(name.startswith("private/") for name in archive.namelist())
        archive.extractall(competition.root)


def test_what_was_there_is_there_again(
    entered: Competition, halves: Path, clock: Clock, tmp_path: Path
) -> None:
    ledger, file = Ledger(entered.private / "ledger.sqlite"), tmp_path / "backup.zip"
    rows, before = ledger.rows(), verify(entered)
    assert backup(entered, file) == ledger.head() == before.head
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    restore(entered, file)
    assert ledger.rows() == rows
    assert verify(entered) == before
    assert submit(entered, halves, "C", clock).number == 3
    assert [line.name for line in publish(entered).standings] == ["A", "C", "B"]
    assert verify(entered).problems == ()


@pytest.mark.parametrize("year", [1970, 2200])
def test_a_file_from_before_or_after_what_zips_can_date_is_in_it(
    entered: Competition, tmp_path: Path, year: int
) -> None:
    """As archives without times, and clocks that were wrong, leave them."""
    time = (year - 1970) * 365 * 86_400
    os.utime(entered.private / "solution.csv", (time, time))
    before = verify(entered)
    backup(entered, tmp_path / "backup.zip")
    restore(entered, tmp_path / "backup.zip")
    assert verify(entered) == before


def test_rows_in_the_write_ahead_log_are_in_it(
    entered: Competition, halves: Path, clock: Clock, tmp_path: Path
) -> None:
    ledger = Ledger(entered.private / "ledger.sqlite")
    with ledger._connection() as reader:  # keeps the log from being folded into the file
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        submit(entered, halves, "C", clock)
        assert (entered.private / "ledger.sqlite-wal").stat().st_size
        backup(entered, tmp_path / "backup.zip")
    rows = ledger.rows()
    restore(entered, tmp_path / "backup.zip")
    assert ledger.rows() == rows


def test_an_older_backup_is_told_until_what_was_published_is_withdrawn(
    entered: Competition, halves: Path, clock: Clock, tmp_path: Path
) -> None:
    backup(entered, tmp_path / "backup.zip")
    submit(entered, halves, "C", clock)
    publish(entered)
    restore(entered, tmp_path / "backup.zip")
    with pytest.raises(UnusableInput, match=r"but none for .*leaderboard\.html"):
        submit(entered, halves, "D", clock)
    for path in entered.root.glob("leaderboard*"):
        path.unlink()
    assert submit(entered, halves, "D", clock).number == 3


def test_it_goes_to_a_place_of_its_own(entered: Competition, tmp_path: Path) -> None:
    with pytest.raises(UnusableInput, match="choose a path outside it"):
        backup(entered, entered.private / "backup.zip")
    with pytest.raises(UnusableInput, match=r"must end in \.zip"):
        backup(entered, tmp_path / "backup.sqlite")
    shutil.rmtree(entered.private)
    with pytest.raises(UnusableInput, match=r"no private/solution\.csv to read"):
        backup(entered, tmp_path / "backup.zip")
