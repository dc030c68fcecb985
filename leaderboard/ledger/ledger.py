"""The ledger: one row per event, never changed or removed. All published tables are computed from it.

Events are a submission, a choice of final submissions, and a new version of the solution, followed by the new
scores of all submissions. Rows form a chain (:mod:`leaderboard.ledger.chain`). The module is long because it
reads, checks and adds the rows of one table.
"""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from leaderboard.ledger.chain import COLUMNS, GENESIS
from leaderboard.ledger.heads import check_heads, write_head
from leaderboard.ledger.store import kept_file, settle_entering
from leaderboard.ledger.transaction import Transaction, newest_row
from submission.errors import UnusableInput
from submission.files import sweep

VERSION = 2
FINALS = 2
"""Number of submissions of a team that count at the end."""
_WAIT = 60.0  # seconds that a writer waits for its turn
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('submission', 'selection', 'solution', 'score')),
    entry INTEGER, team TEXT, team_id TEXT, digest TEXT,
    status TEXT CHECK (status IN ('scored', 'invalid')),
    public REAL, private REAL, scorer TEXT, solution TEXT, note TEXT,
    nonce TEXT NOT NULL, previous TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE
);
CREATE INDEX by_team ON events (team_id, event);
CREATE UNIQUE INDEX submissions ON events (entry) WHERE event = 'submission';
CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END;
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Entry:
    """One submission.

    Attributes:
        number: Number 1, 2, ... in the order of arrival.
        time: Time in UTC.
        team: Name of the team, as it was given with the submission.
        team_id: Id of the team, the same for every spelling of its name.
        digest: SHA-256 of the submitted file, under which it is kept; "" if it was too large to read.
        status: "scored" or "invalid".
        public, private: RMSE in points at full precision by the newest solution; None if invalid.
        scorer: Name and version of the scoring.
        solution: SHA-256 of the solution against which it was scored.
        final: True if it counts at the end: chosen by the team or, without a choice, one of its best
            `FINALS` public scores, the earlier of equal ones.
        previous, hash: Previous hash and hash of its row in the chain.
        note: The team's remark; "" for none.
    """

    number: int
    time: datetime
    team: str
    team_id: str
    digest: str
    status: str
    public: float | None
    private: float | None
    scorer: str
    solution: str
    final: bool
    previous: str
    hash: str
    note: str = ""


class DamagedLedger(UnusableInput):
    """The error that a file is not a ledger, or was damaged."""


class Ledger:
    """The append-only table in the SQLite file `path`, made on the first event, and the submitted files.

    Any number of processes may append: each waits for its turn, and no row is lost. When :meth:`transaction`
    ends, the new rows are on disk, and the head is in the file ``head`` of the same folder. A read-only copy
    can be read without changing it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> tuple[Entry, ...]:
        """Returns every submission in the order of arrival; an empty tuple if there is no ledger yet.

        Raises:
            UnusableInput: the file is damaged, is no ledger of this version, or cannot be read.
        """
        return _entries([dict(zip((*COLUMNS, "hash"), row, strict=True)) for row in self.rows()])

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns the row of every event, `COLUMNS` and the hash, in order.

        Raises:
            UnusableInput: as :meth:`entries`.
        """
        if not self.path.exists():
            return []
        with self._connection() as connection:
            return connection.execute(
                f"SELECT {', '.join(COLUMNS)}, hash FROM events ORDER BY number"
            ).fetchall()

    def head(self) -> str:
        """Returns the hash of the newest row, which depends on all rows before it; `GENESIS` without rows.

        Raises:
            UnusableInput: as :meth:`entries`.
        """
        if not self.path.exists():
            return GENESIS
        with self._connection() as connection:
            return newest_row(connection)[1]

    def written(self) -> int:
        """Returns the number of rows that were ever written, as SQLite counts them, removed rows included.

        Raises:
            UnusableInput: as :meth:`entries`.
        """
        if not self.path.exists():
            return 0
        with self._connection() as connection:
            found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        return found[0] if found else 0

    def check(self) -> None:
        """Check that every published head is in the chain: see `leaderboard.ledger.heads`.

        Raises:
            UnusableInput: a head is not in the chain, or as :meth:`entries`.
        """
        if not self.path.exists():
            check_heads(self.path, 0, lambda head: False)
            return
        with self._connection() as connection:
            self._check(connection)

    def snapshot(self, out: Path) -> str:
        """Write a copy of the present ledger to `out`, and return its head.

        Raises:
            UnusableInput: as :meth:`entries`, or `out` cannot be written.
        """
        with self._connection() as connection:
            connection.execute("VACUUM INTO ?", [str(out)])
        with contextlib.closing(sqlite3.connect(out, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = WAL")
            return newest_row(copy)[1]

    def file(self, entry: Entry) -> Path:
        """Returns the path of an entry's submitted file."""
        return kept_file(self.path.parent, entry.digest)

    def read_only(self) -> bool:
        """Returns True if the file or its folder cannot be written, as in a read-only copy."""
        return self.path.exists() and not all(
            os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
            for path in (self.path, self.path.parent)
        )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield exclusive access to the ledger; new rows are committed on exit, unless there is an error.

        Raises:
            UnusableInput: the file is damaged, is no ledger of this version, or cannot be written; or a
                published head is not in the chain.
        """
        if not self.path.exists():
            self.check()
            _create(self.path)
        if self.read_only():
            raise UnusableInput(f"{self.path} cannot be written: this copy is for reading")
        sweep(self.path.parent)
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._check(connection)
                transaction = Transaction(self.path.parent, connection)
                settle_entering(self.path.parent, transaction.names)
                yield transaction
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            self._settle(connection)

    def _check(self, connection: sqlite3.Connection) -> None:
        rows, _ = newest_row(connection)
        check_heads(self.path, rows, Transaction(self.path.parent, connection).knows)

    def _settle(self, connection: sqlite3.Connection) -> None:
        """Write ``private/head`` and remove ``private/entering``, with exclusive access to the ledger.

        After the commit other processes may already have added rows; an older head must not replace a newer
        one, and their file must not be removed. If this fails (a full disk), the next process does it.
        """
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            connection.execute("BEGIN IMMEDIATE")
            try:
                write_head(self.path, newest_row(connection)[1])
                settle_entering(self.path.parent, Transaction(self.path.parent, connection).names)
            finally:
                connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to the ledger; SQLite's errors about the file are raised as UnusableInput."""
        try:
            address = f"file:{quote(os.fsencode(self.path.absolute()))}{self._mode()}"
            connection = sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
            with contextlib.closing(connection):
                connection.execute("PRAGMA synchronous = FULL")
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version != VERSION:
                    raise (UnusableInput if version else DamagedLedger)(
                        f"{self.path} is not a ledger of version {VERSION}, but of {version}: "
                        "restore it from a backup, or use the release of unseen that wrote it"
                    )
                yield connection
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise UnusableInput(f"{self.path} cannot be used: {error}") from error
            raise DamagedLedger(f"{self.path} is damaged ({error}): restore it from a backup") from error

    def _mode(self) -> str:
        """Returns the part of the file's URI that opens a read-only copy; "" for a writable file."""
        if not self.read_only():
            return ""
        log = self.path.with_name(f"{self.path.name}-wal")
        return "?mode=ro" if log.exists() and log.stat().st_size else "?mode=ro&immutable=1"


def _entries(rows: Sequence[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Returns the submissions among all events, with their newest scores."""
    submissions = {row["entry"]: row for row in rows if row["event"] == "submission"}
    newest = submissions | {row["entry"]: row for row in rows if row["event"] == "score"}
    finals = _finals(rows, newest)
    return tuple(
        Entry(
            number=number,
            time=datetime.fromisoformat(row["time"]),
            team=row["team"],
            team_id=row["team_id"],
            digest=row["digest"],
            status=row["status"],
            **{name: newest[number][name] for name in ("public", "private", "scorer", "solution")},
            final=number in finals,
            previous=row["previous"],
            hash=row["hash"],
            note=row["note"] or "",
        )
        for number, row in submissions.items()
    )


def _finals(rows: Sequence[Mapping[str, Any]], newest: Mapping[int, Mapping[str, Any]]) -> set[int]:
    """Returns the submissions that count at the end: each team's choice, or its best `FINALS`."""
    chosen: dict[str, list[int]] = {}
    scored: dict[str, list[int]] = {}
    for row in rows:
        if row["event"] == "selection":
            chosen[row["team_id"]] = [int(number) for number in row["note"].split()]
        elif row["status"] == "scored":
            scored.setdefault(row["team_id"], []).append(row["entry"])
    finals: set[int] = set()
    for team, numbers in scored.items():
        best = sorted(numbers, key=lambda number: (newest[number]["public"], number))
        finals.update(chosen.get(team) or best[:FINALS])
    return finals


def _create(path: Path) -> None:
    """Make an empty ledger atomically; if several processes try, all use the ledger of the first one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.touch(mode=0o600, exist_ok=False)
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                connection.executescript(_SCHEMA)
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UnusableInput(f"{path} cannot be made: {error.strerror}") from error
