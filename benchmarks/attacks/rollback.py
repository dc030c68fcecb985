"""Eight ways to put an older ledger in place of the newest: each must be refused.

python benchmarks/attacks/rollback.py

Team A and Team B submit, the board is published, and the ledger is put back, in part with what was published
removed or replaced. Every command must then stop with exit code 2 and write nothing. Exit code 1 otherwise.
"""

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from contest import handed_in, make, now, unseen

from leaderboard.ledger import ledger_path
from leaderboard.publish import publish
from leaderboard.submissions import submit
from leaderboard.verify import backup
from submission import Competition


def without(competition: Competition, pattern: str) -> None:
    """Remove published files."""
    for path in competition.root.glob(pattern):
        path.unlink()


def cut(competition: Competition) -> None:
    """Remove the newest rows and the record of what was published with SQL."""
    with sqlite3.connect(ledger_path(competition)) as connection:
        connection.executescript(
            "DROP TRIGGER no_delete; DELETE FROM events WHERE number > 2; DELETE FROM heads;"
        )


def older(competition: Competition) -> None:
    """Put the ledger of before the second submission back."""
    shutil.copy(competition.root / "older.sqlite", ledger_path(competition))


def restored(competition: Competition) -> None:
    """Unpack a backup of before the second submission."""
    shutil.unpack_archive(competition.root / "backup.zip", competition.root)


ATTACKS: dict[str, Callable[[Competition], object]] = {
    "an older file": older,
    "an older backup": restored,
    "no file": lambda competition: ledger_path(competition).unlink(),
    "an empty file": lambda competition: ledger_path(competition).write_bytes(b""),
    "rows cut by SQL": cut,
    "an older file, and no board": lambda each: (older(each), without(each, "leaderboard*")),
    "an older file, and no receipts": lambda each: (older(each), without(each, "receipts/*")),
    "an older file, a row of another team added, its receipt kept": lambda competition: (
        older(competition),
        without(competition, "leaderboard*"),
        unseen("score", competition.root, competition.root / "b.csv", "--team", "C").communicate(),
    ),
}


def refused(attack: Callable[[Competition], object], folder: Path) -> bool:
    """Returns True if every command stops after the attack, and writes nothing."""
    competition = make(folder / "contest", sets=24)
    submit(competition, handed_in(competition, competition.root / "a.csv", 1), "A", now)
    shutil.copy(ledger_path(competition), competition.root / "older.sqlite")
    backup(competition, competition.root / "backup.zip")
    submit(competition, handed_in(competition, competition.root / "b.csv", 2), "B", now)
    publish(competition)
    attack(competition)
    before = {path: path.read_bytes() for path in competition.root.rglob("*") if path.is_file()}
    codes = []
    for arguments in (
        ("score", competition.root, competition.root / "b.csv", "--team", "C"),
        ("select", competition.root, "--team", "A", 1),
        ("rescore", competition.root, "--void", "test_0002", "--reason", "r"),
        ("leaderboard", competition.root),
        ("verify", competition.root),
    ):
        process = unseen(*arguments)
        process.communicate()
        codes.append(process.returncode)
    after = {path: path.read_bytes() for path in competition.root.rglob("*") if path.is_file()}
    return set(codes) == {2} and after == before


def main() -> None:
    kept = 0
    for name, attack in ATTACKS.items():
        with tempfile.TemporaryDirectory() as folder:
            stopped = refused(attack, Path(folder))
        kept += stopped
        print(f"{'refused ' if stopped else 'ACCEPTED'}  {name}")
    print(f"{kept} of {len(ATTACKS)} rollbacks refused")
    sys.exit(kept < len(ATTACKS))


if __name__ == "__main__":
    main()
