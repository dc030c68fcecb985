"""The ledger: ``private/contest.sqlite``, with everything that was submitted and decided, in one SQLite file.

Its rows are events, never changed or removed: a team, a submission, a choice of final submissions, a new
version of the solution, the new score of a submission under it, and a change of a setting or a team. They
form a chain: each row holds the hash of the row before it, and the newest hash, the head, is published. The
hash of a row is computed from its values as a JSON list. They include a nonce of 128 random bits, without
which somebody could test guessed labels against a head.

The other table holds the submitted files with their predictions, and the versions of the solution. Every
change is one transaction on disk; crash safety is SQLite's own.
"""

import contextlib
import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from leaderboard.events import Team, members, teams_of
from leaderboard.heads import published_heads, write_heads
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.errors import UnusableInput

VERSION = 3
FINALS = 2
"""Number of submissions of a team that count at the end."""
COLUMNS = (
    *("number", "time", "event", "entry", "team", "team_id", "file", "digest", "status", "public", "private"),
    *("scorer", "solution", "what", "before", "after", "note", "nonce", "previous"),
)
"""The columns of an event, without its hash."""
GENESIS = "0" * 64
"""The previous hash of the first row, and the head of an empty ledger."""
_WAIT = 60.0  # seconds that a process waits for its turn
_SCHEMA = (
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL,
        event TEXT NOT NULL CHECK (event IN
            ('team', 'submission', 'selection', 'solution', 'score', 'change')),
        entry INTEGER, team TEXT, team_id TEXT, file TEXT, digest TEXT,
        status TEXT CHECK (status IN ('scored', 'invalid')),
        public REAL, private REAL, scorer TEXT, solution TEXT,
        what TEXT, before TEXT, after TEXT, note TEXT,
        nonce TEXT NOT NULL, previous TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE
    )""",
    "CREATE UNIQUE INDEX submissions ON events (entry) WHERE event = 'submission'",
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TABLE files (digest TEXT PRIMARY KEY, data BLOB NOT NULL, predictions BLOB)",
    f"PRAGMA user_version = {VERSION}",
)


@dataclass(frozen=True)
class Entry:
    """One submission, with the team for which it counts now."""

    number: int
    time: datetime
    team: str
    team_id: str
    file: str
    digest: str  # "" if the file was too large to read
    status: str
    public: float | None  # RMSE in points at full precision by the newest solution, None if invalid
    private: float | None
    scorer: str
    solution: str
    final: bool  # of an active team, chosen or else of the best `FINALS` public scores, the earlier of equals
    hash: str  # of its row in the chain
    state: str  # "active", or why that team no longer counts
    handed_in_by: str  # name of the team then
    note: str = ""


class Ledger:
    """An open ledger, in the middle of a transaction: see :func:`opened`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def _value(self, query: str, *values: str) -> Any:
        """Returns the first column of the first row that a query finds; None if it finds none."""
        return next(self._execute(query, values), (None,))[0]

    def rows(self, which: str = "TRUE") -> list[dict[str, Any]]:
        """Returns the events in order, each with the `COLUMNS` and its hash; `which` is a condition."""
        query = f"SELECT {', '.join(COLUMNS)}, hash FROM events WHERE {which} ORDER BY number"
        found = self._execute(query)
        return [dict(zip((*COLUMNS, "hash"), row, strict=True)) for row in found]

    def entries(self) -> tuple[Entry, ...]:
        """Returns the submissions in the order of arrival, with their newest scores."""
        return entries_of(self.rows())

    def newest(self) -> tuple[int, str]:
        """Returns the number and the hash of the newest row."""
        query = "SELECT number, hash FROM events ORDER BY number DESC LIMIT 1"
        return self._execute(query).fetchone() or (0, GENESIS)

    @property
    def head(self) -> str:
        """The hash of the newest row, which depends on all rows before it."""
        return self.newest()[1]

    def next_entry(self) -> int:
        """Returns the number of the next submission, from 1."""
        return self._value("SELECT coalesce(max(entry), 0) + 1 FROM events")

    def changes(self) -> list[dict[str, Any]]:
        """Returns the events that make and change teams, settings and the solution, in order."""
        return self.rows("event IN ('team', 'change', 'solution')")

    def teams(self) -> dict[str, Team]:
        """Returns the registered teams by their ids, in the order of registration."""
        return teams_of(self.changes())

    def made(self, team: Team) -> list[tuple[int, datetime, str, str]]:
        """Returns number, time, status and SHA-256 of the submissions that count for a team, in order."""
        ids = [each.id for each in members(self.teams(), team.id)]
        places = ", ".join("?" * len(ids))
        query = (
            "SELECT entry, time, status, digest FROM events "
            f"WHERE team_id IN ({places}) AND event = 'submission' ORDER BY entry"
        )
        found = self._execute(query, ids)
        return [(number, datetime.fromisoformat(time), *rest) for number, time, *rest in found]

    def file(self, digest: str) -> bytes | None:
        """Returns the bytes of a submitted file or a version of the solution; None if there is none."""
        return self._value("SELECT data FROM files WHERE digest = ?", digest)

    def predictions(self, digest: str) -> FloatArray:
        """Returns the predictions (ids,) of a valid submitted file, in the order of the test sets' ids."""
        found = self._value("SELECT predictions FROM files WHERE digest = ?", digest)
        if found is None:
            raise UnusableInput(f"the ledger lacks the file {digest[:12]}: restore it from a backup")
        return np.frombuffer(found, dtype="<f8")

    def keep_file(self, data: bytes, predictions: Mapping[str, float] | None = None) -> str:
        """Add a version of the solution or a submitted file, with its predictions; returns its SHA-256."""
        digest = hashlib.sha256(data).hexdigest()
        values = None if predictions is None else np.array(list(predictions.values()), dtype="<f8").tobytes()
        self._execute("INSERT OR IGNORE INTO files VALUES (?, ?, ?)", [digest, data, values])
        return digest

    def solution(self) -> str | None:
        """Returns the SHA-256 of the newest version of the solution; None if there is only the built one."""
        query = "SELECT solution FROM events WHERE event = 'solution' ORDER BY number DESC LIMIT 1"
        return self._value(query)

    def image_labels(self) -> bytes:
        """Returns the table of all corrected labels of single images; empty if there is none."""
        query = "SELECT digest FROM events WHERE event = 'solution' AND digest <> '' ORDER BY number DESC"
        digest = self._value(query)
        data = self.file(digest) if digest else b""
        if data is None:
            raise UnusableInput(f"the ledger lacks the file {digest[:12]}: restore it from a backup")
        return data

    def knows(self, head: str) -> bool:
        """Returns True if a row has this hash, or if it is the head of an empty ledger."""
        return head == GENESIS or self._value("SELECT 1 FROM events WHERE hash = ?", head) is not None

    def append(self, time: datetime, event: str, **values: object) -> str:
        """Add an event with the `COLUMNS` in `values`, and return the hash of its row."""
        number, previous = self.newest()
        stamp = time.astimezone(timezone.utc).isoformat(timespec="microseconds")
        values |= {"number": number + 1, "time": stamp, "event": event}
        values |= {"nonce": secrets.token_hex(16), "previous": previous}
        row = [values.get(column) for column in COLUMNS]
        places = ", ".join("?" * (len(COLUMNS) + 1))
        names = f"{', '.join(COLUMNS)}, hash"
        self._execute(f"INSERT INTO events ({names}) VALUES ({places})", [*row, row_hash(row)])
        return self.head

    def copy(self, out: Path) -> str:
        """Write a copy of what is committed to `out`, and return its head."""
        self._execute("COMMIT")
        self._execute("VACUUM INTO ?", [str(out)])
        self._execute("BEGIN")
        with contextlib.closing(sqlite3.connect(out)) as copied:
            return Ledger(copied).head

    def check_published(self, competition: Competition, heads: Collection[str]) -> None:
        """Refuse a ledger that lacks one of these published heads: it is not the newest, or was rewritten."""
        for head in heads:
            if not self.knows(head):
                raise UnusableInput(
                    f"{ledger_path(competition)} has {self.newest()[0]:,} rows, but not the published head "
                    f"{head}: it is out of date or was rewritten. Restore the newest one, or the newest "
                    "`unseen backup`; if both are lost, see docs/how-to/verifying.md"
                )


def ledger_path(competition: Competition) -> Path:
    """Returns the path of the organizer's ledger."""
    return competition.private / "contest.sqlite"


@contextlib.contextmanager
def opened(competition: Competition, writing: bool = False) -> Iterator[Ledger]:
    """Yield the ledger in one transaction, after the check that it has every published head.

    With `writing`, other writers wait, the file is made if there is none, and the changes are on disk when
    the transaction ends, unless there is an error; then the new head is published. Without it, rows are read
    as they are at one moment, also from a copy that cannot be written.
    """
    competition.require_private()
    path = ledger_path(competition)
    if writing and not path.exists():
        with opened(competition):  # refuses to make a new ledger where one was published from
            pass
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    heads = published_heads(competition.root)  # before the ledger, which only grows
    with _transaction(path, writing) as ledger:
        ledger.check_published(competition, heads)
        yield ledger
    if writing:
        # What is entered stays entered, whatever keeps this file from being written; its receipt has the row.
        with contextlib.suppress(OSError, UnusableInput), _transaction(path) as ledger:
            write_heads(competition.root, ledger.head)


@contextlib.contextmanager
def _transaction(path: Path, writing: bool = False) -> Iterator[Ledger]:
    """Yield the ledger at `path` in one transaction; one that only reads keeps others from committing."""
    mode = "rw" if os.access(path, os.W_OK) else "ro"
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}" if path.exists() else ":memory:"
    try:
        connection = sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
        with contextlib.closing(connection):
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                raise UnusableInput(
                    f"{path} is of format {version}, this kit reads {VERSION}: use the release that wrote it"
                )
            if version == 0:
                for statement in _SCHEMA:
                    connection.execute(statement)
            yield Ledger(connection)
            connection.execute("COMMIT" if writing else "ROLLBACK")
    except sqlite3.DatabaseError as error:
        raise UnusableInput(f"{path} cannot be used ({error}); if it is damaged, restore a backup") from error


def newest_head(competition: Competition) -> str:
    """Returns the head of the ledger as it is now, without any check."""
    with _transaction(ledger_path(competition)) as ledger:
        return ledger.head


def row_hash(values: Sequence[object]) -> str:
    """Returns the hash of a row: the SHA-256 of its values in the order of `COLUMNS`, in hexadecimal (64).

    >>> row_hash([1, "a", 0.1])[:16]
    '6b864608c3d61b9e'
    """
    return hashlib.sha256(json.dumps(list(values), separators=(",", ":")).encode()).hexdigest()


def chain_problems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a line for every break in the chain of all events."""
    problems = []
    previous = GENESIS
    for number, row in enumerate(rows, 1):
        if row["number"] != number:
            problems.append(f"row {row['number']} is where row {number} should be: rows were removed")
        elif row_hash([row[column] for column in COLUMNS]) != row["hash"]:
            problems.append(f"row {number} was altered: its hash does not fit")
        elif row["previous"] != previous:
            problems.append(f"row {number} does not follow the row before it")
        previous = row["hash"]
    return problems


def check_chain(competition: Competition, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a ledger whose rows were altered."""
    if problems := chain_problems(rows):
        raise UnusableInput(f"{ledger_path(competition)}: {problems[0]}; run `unseen verify`")


def entries_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Returns the submissions among all events, with their newest scores."""
    submissions = {row["entry"]: row for row in rows if row["event"] == "submission"}
    newest = submissions | {row["entry"]: row for row in rows if row["event"] == "score"}
    teams = teams_of(rows)
    finals = _finals(rows, newest, teams)
    entries = []
    for number, row in submissions.items():
        team = teams[teams[row["team_id"]].owner]
        entry = Entry(
            number=number,
            time=datetime.fromisoformat(row["time"]),
            team=team.name,
            team_id=team.id,
            **{name: row[name] for name in ("file", "digest", "status", "hash")},
            **{name: newest[number][name] for name in ("public", "private", "scorer", "solution")},
            final=number in finals and team.state == "active",
            state=team.state,
            handed_in_by=row["team"],
            note=row["note"] or "",
        )
        entries.append(entry)
    return tuple(entries)


def _finals(
    rows: Sequence[Mapping[str, Any]], newest: Mapping[int, Mapping[str, Any]], teams: Mapping[str, Team]
) -> set[int]:
    """Returns the submissions that count at the end: each team's choice, or its best `FINALS`."""
    chosen: dict[str, list[int]] = {}
    scored: dict[str, list[int]] = {}
    for row in rows:
        if row["event"] == "selection":
            chosen[row["team_id"]] = [int(number) for number in row["note"].split()]
        elif row["status"] == "scored":
            scored.setdefault(teams[row["team_id"]].owner, []).append(row["entry"])
    finals: set[int] = set()
    for team, numbers in scored.items():
        best = sorted(numbers, key=lambda number: (newest[number]["public"], number))
        finals.update(chosen.get(team) or best[:FINALS])
    return finals
