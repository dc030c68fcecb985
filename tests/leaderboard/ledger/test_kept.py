import resource
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from leaderboard.entry.submit import submit
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Ledger
from submission import Competition, InvalidSubmission, write_predictions

Clock = Callable[[], datetime]


@pytest.fixture
def ledger(competition: Competition, tmp_path: Path, clock: Clock) -> Ledger:
    """Submissions of 0.1, an invalid one, 0.3 and 0.4."""
    for number in range(1, 5):
        path = tmp_path / f"{number}.csv"
        write_predictions(path, dict.fromkeys(competition.ids("test"), number / 10))
        if number == 2:
            path.write_text("no predictions")
            with pytest.raises(InvalidSubmission):
                submit(competition, path, "Team", clock)
        else:
            submit(competition, path, "Team", clock)
    return Ledger(competition.private / "ledger.sqlite")


def rows(competition: Competition, ledger: Ledger) -> list[float]:
    table, warnings = kept_table(competition, ledger, ledger.entries())
    assert warnings == ()
    return [table[i, 0] for i in (0, 2, 3)]


def test_the_table_has_what_was_submitted_and_only_new_files_are_read(
    competition: Competition, ledger: Ledger
) -> None:
    assert rows(competition, ledger) == [0.1, 0.3, 0.4]
    for entry in ledger.entries():
        if entry.digest:
            ledger.file(entry).unlink()
    assert rows(competition, ledger) == [0.1, 0.3, 0.4]


def test_some_entries_alone_leave_the_others_records(competition: Competition, ledger: Ledger) -> None:
    entries = ledger.entries()
    kept_table(competition, ledger, entries[3:])
    kept_table(competition, ledger, entries[:1])
    ledger.file(entries[0]).unlink()
    ledger.file(entries[3]).unlink()
    assert rows(competition, ledger) == [0.1, 0.3, 0.4]


@pytest.mark.parametrize("damage", [b"", b"\0" * 50, b"\0" * 5000, b"x" * 333, None])
def test_a_damaged_table_is_made_anew(competition: Competition, ledger: Ledger, damage: bytes | None) -> None:
    rows(competition, ledger)
    path = competition.private / "predictions.bin"
    assert path.stat().st_mode & 0o077 == 0
    path.write_bytes(path.read_bytes()[:300] if damage is None else damage)
    assert rows(competition, ledger) == [0.1, 0.3, 0.4]


@pytest.mark.parametrize("lacking", [10, 300])
def test_where_the_disk_is_full_the_table_is_in_memory(
    competition: Competition, ledger: Ledger, lacking: int
) -> None:
    """Of the last write a part fits, as at the end of a disk."""
    path = competition.private / "predictions.bin"
    rows(competition, ledger)
    size = path.stat().st_size
    path.unlink()
    entries, (least, most) = ledger.entries(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size - lacking, most))
    try:
        table, warnings = kept_table(competition, ledger, entries)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    assert (table[[0, 2, 3], 0].tolist(), warnings) == ([0.1, 0.3, 0.4], ())
    assert rows(competition, ledger) == [0.1, 0.3, 0.4]
    assert path.stat().st_size == size


def test_a_lost_file_is_told_and_read_once_it_is_back(competition: Competition, ledger: Ledger) -> None:
    file = ledger.file(ledger.entries()[2])
    data = file.read_bytes()
    file.write_bytes(b"altered")
    table, warnings = kept_table(competition, ledger, ledger.entries())
    assert warnings == (
        f"{file} is missing, or is not the file of submission 3: restore it from a backup; "
        "numbers that depend on it are left out",
    )
    assert np.isnan(table[2]).all()
    file.write_bytes(data)
    assert rows(competition, ledger) == [0.1, 0.3, 0.4]


def test_an_empty_ledger_has_an_empty_table(competition: Competition) -> None:
    table, warnings = kept_table(competition, Ledger(competition.private / "ledger.sqlite"), ())
    assert (table.shape, warnings) == ((0, 8), ())
