"""An old, lost or half-copied ledger, and a zip that is none once it is kept: what the referee makes of them.

python benchmarks/attacks/rollback.py

Rolled back: `ledger.sqlite` is put back as it was, deleted, or copied without its write-ahead log, and then
submitted to, chosen from, corrected and published. Each must stop, name what is missing, and write nothing.
Prefixed zip: bytes before a zip, under four names; then `rescore`, `history`, `verify` and the board must
still read everything. Backup: what it restores must be what was there. Exit code 1 where one fails.
"""

import io
import shutil
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from kill import make, now

from leaderboard import Ledger, backup, history, publish, rescore, select, submit, verify
from submission import Competition, InvalidSubmission, UnusableInput, write_predictions

NAMES = ("mine.zip", "mine.csv", "answer.txt", "mine")
Damage = Callable[[Path, bytes, bytes], None]
"""What is done to the ledger's file, given as it was before the last rows, in whole and without its log."""
DAMAGES: dict[str, Damage] = {
    "rolled back": lambda path, old, unlogged: _put(path, old),
    "deleted": lambda path, old, unlogged: _put(path, None),
    "copied without its log": lambda path, old, unlogged: _put(path, unlogged),
}
COMMANDS: dict[str, Callable[[Competition, Path], object]] = {
    "submit": lambda competition, file: submit(competition, file, "C", now),
    "select": lambda competition, file: select(competition, "A", [1], now),
    "rescore": lambda competition, file: rescore(competition, {"one/test_0001": 0.75}, (), "r", now),
    "publish": lambda competition, file: publish(competition),
}


def _put(path: Path, data: bytes | None) -> None:
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"):
        path.with_name(name).unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)


def entered(root: Path) -> tuple[Competition, Path, bytes, bytes]:
    """A competition with three submissions, a file to hand in, and the ledger before the last two rows."""
    competition, file = make(root), root.with_name("mine.csv")
    write_predictions(file, dict.fromkeys(competition.ids("test"), 0.5))
    path = competition.private / "ledger.sqlite"
    submit(competition, file, "A", now)
    old = path.read_bytes()
    submit(competition, file, "B", now)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchone()  # the log is not folded into the file meanwhile
    submit(competition, file, "B", now)
    publish(competition)
    unlogged = path.read_bytes()
    reader.close()
    return competition, file, old, unlogged


def rollback(folder: Path) -> tuple[int, int]:
    """How many commands stopped and wrote nothing, and of how many."""
    stopped = 0
    for index, damage in enumerate(DAMAGES.values()):
        competition, file, old, unlogged = entered(folder / str(index) / "contest")
        damage(competition.private / "ledger.sqlite", old, unlogged)
        for command in COMMANDS.values():
            before = _files(competition.root)
            try:
                command(competition, file)
            except UnusableInput as error:
                stopped += "but none for" in str(error) and _files(competition.root) == before
        assert verify(competition).problems
    return stopped, len(DAMAGES) * len(COMMANDS)


def _files(root: Path) -> dict[Path, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if not path.name.endswith(("-wal", "-shm"))}


def prefixed(folder: Path) -> int:
    """How many names of a prefixed zip were refused, with the past readable afterwards."""
    refused = 0
    for index, name in enumerate(NAMES):
        competition = make(folder / str(index) / "contest")
        file = folder / str(index) / name
        write_predictions(file.with_name("plain.csv"), dict.fromkeys(competition.ids("test"), 0.5))
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.write(file.with_name("plain.csv"), "mine.csv")
        file.write_bytes(b"MZ" + stream.getvalue())
        try:
            submit(competition, file, "A", now)
        except InvalidSubmission:
            submit(competition, file.with_name("plain.csv"), "B", now)
            done = rescore(competition, {"one/test_0001": 0.75}, (), "r", now)
            statuses = [line.entry.status for line in history(competition)]
            whole = not verify(competition).problems and len(publish(competition).standings) == 1
            refused += whole and done.entries == 1 and statuses == ["invalid", "scored"]
    return refused


def restored(folder: Path) -> bool:
    """Whether a backup gives back every row and file, and the ledger goes on."""
    competition, file, *_ = entered(folder / "contest")
    rows = Ledger(competition.private / "ledger.sqlite").rows()
    backup(competition, folder / "backup.zip")
    shutil.rmtree(competition.private)
    with zipfile.ZipFile(folder / "backup.zip") as archive:
        archive.extractall(competition.root)
    same = Ledger(competition.private / "ledger.sqlite").rows() == rows and not verify(competition).problems
    return same and submit(competition, file, "C", now).number == 4


def main() -> None:
    """Attack and print."""
    with tempfile.TemporaryDirectory() as name:
        stopped, of = rollback(Path(name) / "rollback")
        refused = prefixed(Path(name) / "prefixed")
        (Path(name) / "backup").mkdir()
        back = restored(Path(name) / "backup")
    print(f"{stopped} of {of} commands on a ledger that lacks a row stopped and wrote nothing")
    print(f"{refused} of {len(NAMES)} prefixed zips were refused and left the past readable")
    print(f"a backup {'restored' if back else 'did not restore'} every row and file")
    sys.exit(int(not (stopped == of and refused == len(NAMES) and back)))


if __name__ == "__main__":
    main()
