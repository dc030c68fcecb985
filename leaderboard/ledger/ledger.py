"""The ledger: one row an event, never changed or removed. All published tables are views of it.

Events are a submission; a choice of finals; a new version of the solution, followed by the scores that every
submission has under it. Rows form a chain (:mod:`leaderboard.ledger.chain`).
"""

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from leaderboard.ledger.chain import COLUMNS, GENESIS, link
from leaderboard.ledger.teams import check_team, team_id
from submission.errors import UnusableInput
from submission.files import replacing
from submission.scoring import SubmissionScore

VERSION = 2
FINALS = 2
"""How many submissions of a team count at the end."""
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
        number: 1, 2, ... in the order of arrival.
        time: UTC.
        team: the name as it was given then.
        team_id: the same for every spelling of one team's name.
        digest: the SHA-256 of the submitted file, by which it is kept; empty where it was too large to read.
        status: "scored" or "invalid".
        public, private: the RMSE in points at full precision under the newest solution; None where invalid.
        scorer: how it was scored.
        solution: the SHA-256 of the solution that it was scored against.
        final: whether it counts at the end: chosen by the team or, without a choice, one of its best
            `FINALS` public scores, the earlier of equal ones.
        previous, hash: of its row in the chain.
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


class DamagedLedger(UnusableInput):
    """The file is no ledger, or not what was written."""


class Ledger:
    """The append-only table in the SQLite file `path`, made on the first event, and the submitted files.

    Any number of processes may append at once: each waits for its turn, and no row is lost. A row is on disk
    when :meth:`transaction` ends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> tuple[Entry, ...]:
        """Every submission in the order of arrival; none where there is no ledger yet.

        Raises:
            UnusableInput: the file is damaged, no ledger, of another version, or cannot be read.
        """
        return _entries([dict(zip((*COLUMNS, "hash"), row, strict=True)) for row in self.rows()])

    def rows(self) -> list[tuple]:
        """Every event as it is kept, `COLUMNS` and the hash, in order.

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
        """The hash of the newest row, which stands for all before it; `GENESIS` where there is none.

        Raises:
            UnusableInput: as :meth:`entries`.
        """
        if not self.path.exists():
            return GENESIS
        with self._connection() as connection:
            return _last(connection)[1]

    def written(self) -> int:
        """How many rows were ever written, as SQLite counts them: more than there are if some were removed.

        Raises:
            UnusableInput: as :meth:`entries`.
        """
        if not self.path.exists():
            return 0
        with self._connection() as connection:
            found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        return found[0] if found else 0

    def file(self, entry: Entry) -> Path:
        """Where the submitted file of an entry is kept."""
        return self.kept(entry.digest)

    def kept(self, digest: str) -> Path:
        """Where the submitted file with this SHA-256 is kept."""
        return self.path.parent / "submissions" / digest

    @contextlib.contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """The ledger for this process alone; what is appended is kept on leaving, unless an error leaves it.

        Raises:
            UnusableInput: the file is damaged, no ledger, of another version, or cannot be written.
        """
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(self, connection)
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """An open ledger; SQLite's complaints about the file become the user's to mend."""
        try:
            if not self.path.exists():
                _create(self.path)
            connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute("PRAGMA synchronous = FULL")
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version != VERSION:
                    raise (UnusableInput if version else DamagedLedger)(
                        f"{self.path} is no ledger of version {VERSION} (it says {version}): "
                        "restore it from a backup, or use the release of unseen that wrote it"
                    )
                yield connection
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise UnusableInput(f"{self.path} cannot be used: {error}") from error
            raise DamagedLedger(f"{self.path} is damaged ({error}): restore it from a backup") from error


class Transaction:
    """What one process does to the ledger while it is alone: see :meth:`Ledger.transaction`."""

    def __init__(self, ledger: Ledger, connection: sqlite3.Connection) -> None:
        self.ledger = ledger
        self._connection = connection

    def times(self, team: str) -> list[datetime]:
        """When the team submitted, in order, invalid submissions among them."""
        found = self._connection.execute(
            "SELECT time FROM events WHERE team_id = ? AND event = 'submission' ORDER BY number",
            [team_id(team)],
        )
        return [datetime.fromisoformat(time) for (time,) in found]

    def scored(self, team: str) -> list[int]:
        """The numbers of the team's scored submissions, in order."""
        found = self._connection.execute(
            "SELECT entry FROM events WHERE team_id = ? AND event = 'submission' AND status = 'scored' "
            "ORDER BY number",
            [team_id(team)],
        )
        return [number for (number,) in found]

    def solution(self) -> str | None:
        """The hash of the newest version of the solution; None before anything was scored."""
        found = self._connection.execute(
            "SELECT solution FROM events WHERE solution IS NOT NULL ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return found and found[0]

    def submit(
        self,
        time: datetime,
        team: str,
        data: bytes | None,
        scores: SubmissionScore | None,
        scorer: str,
        solution: str,
    ) -> int:
        """Keep the file `data` and add a submission, invalid if `scores` is None. Its number.

        Args:
            data: the submitted file; None where it was too large to be read.
        """
        digest = "" if data is None else hashlib.sha256(data).hexdigest()
        if data is not None:
            self._keep(digest, data)
        (number,) = self._connection.execute(
            "SELECT coalesce(max(entry), 0) + 1 FROM events WHERE event = 'submission'"
        ).fetchone()
        self._append(
            time,
            "submission",
            entry=number,
            team=check_team(team),
            team_id=team_id(team),
            digest=digest,
            status="invalid" if scores is None else "scored",
            scorer=scorer,
            solution=solution,
            **_points(scores),
        )
        return number

    def select(self, time: datetime, team: str, numbers: Sequence[int]) -> None:
        """Make `numbers`, submissions of the team, what counts for it at the end; none for no choice."""
        note = " ".join(map(str, numbers))
        self._append(time, "selection", team=check_team(team), team_id=team_id(team), note=note)

    def rescore(
        self, time: datetime, solution: str, note: str, scores: Mapping[int, SubmissionScore], scorer: str
    ) -> None:
        """Make `solution` the newest version, and `scores` those of the submissions, by number, under it."""
        self._append(time, "solution", scorer=scorer, solution=solution, note=note)
        for number, found in scores.items():
            self._append(time, "score", entry=number, scorer=scorer, solution=solution, **_points(found))

    def _append(self, time: datetime, event: str, **fields: object) -> None:
        if time.tzinfo is None:
            raise ValueError("time: must have a time zone")
        stamp = time.astimezone(timezone.utc).isoformat(timespec="microseconds")
        last, previous = _last(self._connection)
        fields |= {"number": last + 1, "time": stamp, "event": event}
        fields |= {"nonce": secrets.token_hex(16), "previous": previous}
        values = [fields.get(column) for column in COLUMNS]
        places = ", ".join("?" * (len(COLUMNS) + 1))
        self._connection.execute(
            f"INSERT INTO events ({', '.join(COLUMNS)}, hash) VALUES ({places})", [*values, link(values)]
        )

    def _keep(self, digest: str, data: bytes) -> None:
        path = self.ledger.kept(digest)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with replacing(path) as temporary:
            temporary.touch(mode=0o600, exist_ok=False)
            temporary.write_bytes(data)


def _entries(rows: Sequence[Mapping]) -> tuple[Entry, ...]:
    """The submissions among all events, with their newest scores."""
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
        )
        for number, row in submissions.items()
    )


def _finals(rows: Sequence[Mapping], newest: Mapping[int, Mapping]) -> set[int]:
    """The submissions that count at the end: chosen, or the best public ones of teams without a choice."""
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


def _points(scores: SubmissionScore | None) -> dict[str, float]:
    return {} if scores is None else {"public": scores.public.rmse, "private": scores.private.rmse}


def _last(connection: sqlite3.Connection) -> tuple[int, str]:
    """Number and hash of the newest row."""
    found = connection.execute("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
    return found or (0, GENESIS)


def _create(path: Path) -> None:
    """Make an empty ledger, whole at once: of several processes that try, one wins and the others use its."""
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
