"""The ledger: one row a submission, never changed or removed. All published tables are views of it."""

import contextlib
import math
import os
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from leaderboard.teams import check_team, team_key
from submission.errors import UnusableInput
from submission.metrics import Score
from submission.scoring import SubmissionScore

VERSION = 1
_WAIT = 60.0  # seconds that a writer waits for its turn
_METRICS = ("rmse", "mae", "spearman", "n")
_COLUMNS = (
    *("time", "team", "team_key", "file_sha256", "status", "scorer"),
    *(f"{part}_{metric}" for part in ("public", "private") for metric in _METRICS),
)
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
CREATE TABLE submissions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL, team TEXT NOT NULL, team_key TEXT NOT NULL, file_sha256 TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('scored', 'invalid')), scorer TEXT NOT NULL,
    public_rmse REAL, public_mae REAL, public_spearman REAL, public_n INTEGER,
    private_rmse REAL, private_mae REAL, private_spearman REAL, private_n INTEGER,
    CHECK ((status = 'scored') = (public_rmse IS NOT NULL AND private_rmse IS NOT NULL))
);
CREATE TRIGGER no_update BEFORE UPDATE ON submissions BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON submissions BEGIN SELECT RAISE(ABORT, 'append-only'); END;
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Entry:
    """One submission.

    Attributes:
        number: 1, 2, ... in the order of arrival.
        time: UTC, ISO 8601 with microseconds.
        team: the name as it was given then.
        team_key: what makes two names one team.
        file_sha256: of the submitted file; empty where it was too large to be read.
        scorer: how it was scored.
        public, private: the scores at full precision; None for an invalid submission.
    """

    number: int
    time: str
    team: str
    team_key: str
    file_sha256: str
    scorer: str
    public: Score | None
    private: Score | None

    @property
    def status(self) -> str:
        """ "scored" or "invalid"."""
        return "invalid" if self.public is None else "scored"


class Ledger:
    """The append-only table of submissions in the SQLite file `path`, made on the first append.

    Any number of processes may append at once: each waits for its turn, and no row is lost. A row is on disk
    when :meth:`append` returns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(
        self, time: datetime, team: str, file_sha256: str, scores: SubmissionScore | None, scorer: str
    ) -> int:
        """Add a submission, invalid if `scores` is None. Its number.

        Raises:
            ValueError: `time` has no time zone.
            UnusableInput: the file is damaged, no ledger, of another version, or cannot be written.
        """
        if time.tzinfo is None:
            raise ValueError("time: must have a time zone")
        stamp = time.astimezone(timezone.utc).isoformat(timespec="microseconds")
        status = "invalid" if scores is None else "scored"
        values: list[str | float | None] = [
            stamp,
            check_team(team),
            team_key(team),
            file_sha256,
            status,
            scorer,
        ]
        for part in (scores.public, scores.private) if scores else (None, None):
            values += [getattr(part, metric) if part else None for metric in _METRICS]
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            places = ", ".join("?" * len(_COLUMNS))
            cursor = connection.execute(
                f"INSERT INTO submissions ({', '.join(_COLUMNS)}) VALUES ({places})", values
            )
            connection.execute("COMMIT")
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def rows(self) -> tuple[Entry, ...]:
        """Every submission in the order of arrival; none where there is no ledger yet.

        Raises:
            UnusableInput: the file is damaged, no ledger, of another version, or cannot be read.
        """
        if not self.path.exists():
            return ()
        with self._connection() as connection:
            found = connection.execute(
                f"SELECT number, {', '.join(_COLUMNS)} FROM submissions ORDER BY number"
            )
            return tuple(_entry(row) for row in found)

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
                    raise UnusableInput(
                        f"{self.path} is no ledger of version {VERSION} (it says {version}): "
                        "restore it from a backup, or use the release of unseen that wrote it"
                    )
                yield connection
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.OperationalError as error:
            raise UnusableInput(f"{self.path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            raise UnusableInput(f"{self.path} is damaged ({error}): restore it from a backup") from error
        except OSError as error:
            raise UnusableInput(f"{self.path} cannot be made: {error.strerror}") from error


def _create(path: Path) -> None:
    """Make an empty ledger, whole at once: of several processes that try, one wins and the others use its."""
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


def _entry(row: tuple) -> Entry:
    number, time, team, key, file_sha256, status, scorer, *numbers = row
    public = private = None
    if status == "scored":
        public, private = _score(numbers[:4]), _score(numbers[4:])
    return Entry(number, time, team, key, file_sha256, scorer, public, private)


def _score(numbers: list) -> Score:
    """SQLite keeps nan as NULL."""
    rmse, mae, spearman, n = numbers
    return Score(rmse, mae, math.nan if spearman is None else spearman, n)
