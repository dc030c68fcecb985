"""Twelve ways to put another ledger in place of the newest: each must be refused.

python benchmarks/attacks/rollback.py

After two submissions, a board, a choice and an amendment the ledger is put back or altered, in part with what
was published removed. Every command must then stop and write nothing (an altered score: those that read it),
and all must work without an attack, though 64 hexadecimal digits name the source. Exit code 1 otherwise.
"""

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from contest import handed_in, make, now

import unseen
from leaderboard.ledger import ledger_path
from leaderboard.publish import publish
from leaderboard.submissions import submit
from leaderboard.verify import backup
from submission import Competition

READING = ("leaderboard", "verify")
WRITING = (
    "score b.csv --team C",
    "select --team A 1",
    "rescore --void test_0002 --reason r",
    "amend --daily-limit 9 --reason r",
    "team A withdraw --reason r",
)


def by_sql(competition: Competition, statements: str) -> None:
    """Change the ledger by SQL, without the triggers that keep its rows."""
    with sqlite3.connect(ledger_path(competition)) as connection:
        connection.executescript(f"DROP TRIGGER no_delete; DROP TRIGGER no_update; {statements}")


def older(competition: Competition, *removed: str, than: str = "submission") -> None:
    """Put the ledger of before the second submission, the choice or the amendment back; remove files."""
    shutil.copy(competition.root / f"{than}.sqlite", ledger_path(competition))
    for path in [path for pattern in removed for path in competition.root.glob(pattern)]:
        path.unlink()


def with_another(competition: Competition) -> None:
    """Hand in as Team C while receipts are away; Team C's would have the name of Team B's."""
    receipts, kept = competition.root / "receipts", competition.root / "kept"
    shutil.copytree(receipts, kept)
    older(competition, "leaderboard*", "heads.json", "receipts/**/*.json")
    run(competition, WRITING[0])
    for path in (*competition.root.glob("leaderboard*"), competition.root / "heads.json"):
        path.unlink()
    shutil.copytree(kept, receipts, dirs_exist_ok=True)


ATTACKS: dict[str, Callable[[Competition], object]] = {
    "nothing": lambda each: None,
    "an older file": older,
    "an older backup": lambda each: shutil.unpack_archive(each.root / "backup.zip", each.root),
    "no file": lambda each: ledger_path(each).unlink(),
    "rows cut by SQL": lambda each: by_sql(each, "DELETE FROM events WHERE number > 2;"),
    "an older file, and no receipts": lambda each: older(each, "receipts/**/*.json"),
    "an older file, and no board": lambda each: older(each, "leaderboard*", "heads.json"),
    "an older file, and a board alone": lambda each: older(each, "heads.json", "receipts/**/*.json"),
    "the same, and a row of another team": with_another,
    "a file of before a choice": lambda each: older(each, than="choice"),
    "the same, and no board": lambda each: older(each, "leaderboard*", "heads.json", than="choice"),
    "a file of before an amendment, and no board": lambda each: older(
        each, "leaderboard*", "heads.json", than="amendment"
    ),
    "a score altered by SQL": lambda each: by_sql(each, "UPDATE events SET public = 0.5 WHERE number = 2;"),
}


def run(competition: Competition, command: str) -> int:
    """Returns the exit code of a command, run in this process."""
    name, *rest = command.split()
    file = [competition.root / each if each == "b.csv" else each for each in rest]
    sys.argv = ["unseen", name, str(competition.root), *map(str, file)]
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        try:
            unseen.main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def refused(name: str, folder: Path) -> bool:
    """Returns True if every command stops after the attack, and writes nothing."""
    competition = make(folder / "contest", sets=24, source="ab" * 32)
    submit(competition, handed_in(competition, competition.root / "a.csv", 1), "A", now)
    shutil.copy(ledger_path(competition), competition.root / "submission.sqlite")
    backup(competition, competition.root / "backup.zip")
    submit(competition, handed_in(competition, competition.root / "b.csv", 2), "B", now)
    publish(competition)
    for what, command in (("choice", "select --team A 1"), ("amendment", "amend --daily-limit 8 --reason r")):
        shutil.copy(ledger_path(competition), competition.root / f"{what}.sqlite")
        run(competition, command)
    ATTACKS[name](competition)
    before = {path: path.read_bytes() for path in competition.root.rglob("*") if path.is_file()}
    codes = [run(competition, each) for each in (READING if "altered" in name else (*WRITING, *READING))]
    after = {path: path.read_bytes() for path in competition.root.rglob("*") if path.is_file()}
    return (all(codes) and after == before) or (name == "nothing" and any(codes))


def main() -> None:
    stopped = {}
    for name in ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            stopped[name] = refused(name, Path(folder))
        print(f"{'refused ' if stopped[name] else 'accepted'}  {name}")
    wrongly = stopped.pop("nothing")
    print(f"{sum(stopped.values())} of {len(stopped)} rollbacks refused")
    sys.exit(wrongly or not all(stopped.values()))


if __name__ == "__main__":
    main()
