"""A transaction: reading and adding rows with exclusive access to the ledger."""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from leaderboard.ledger.chain import COLUMNS, GENESIS, link
from leaderboard.ledger.store import keep
from leaderboard.ledger.teams import check_team, team_id, team_key
from submission.errors import UnusableInput
from submission.scoring import SubmissionScore


class Transaction:
    """The ledger during exclusive access by one process: see `leaderboard.ledger.ledger`."""

    def __init__(self, private: Path, connection: sqlite3.Connection) -> None:
        self.private = private
        self._connection = connection

    def now(self, clock: datetime) -> datetime:
        """Returns the clock's time, or the newest row's if that is later, so that times never decrease."""
        found = self._connection.execute("SELECT time FROM events ORDER BY number DESC LIMIT 1").fetchone()
        return max(clock, datetime.fromisoformat(found[0])) if found else clock

    def head(self) -> str:
        """Returns the hash of the newest row."""
        return newest_row(self._connection)[1]

    def knows(self, head: str) -> bool:
        """Returns True if a row has this hash."""
        return bool(self._connection.execute("SELECT 1 FROM events WHERE hash = ?", [head]).fetchone())

    def names(self, digest: str) -> bool:
        """Returns True if a submission is the file with this SHA-256."""
        found = self._connection.execute(
            "SELECT 1 FROM events WHERE digest = ? ORDER BY number DESC LIMIT 1", [digest]
        )
        return bool(found.fetchone())

    def times(self, team: str) -> list[datetime]:
        """Returns the times of the team's submissions, in order, invalid ones included."""
        found = self._connection.execute(
            "SELECT time FROM events WHERE team_id = ? AND event = 'submission' ORDER BY number",
            [self._id(team)],
        )
        return [datetime.fromisoformat(time) for (time,) in found]

    def teams(self) -> list[str]:
        """Returns the names of the teams that submitted, sorted."""
        found = self._connection.execute(
            "SELECT min(team) FROM events WHERE event = 'submission' GROUP BY team_id"
        )
        return sorted(team for (team,) in found)

    def scored(self, team: str) -> list[int]:
        """Returns the numbers of the team's scored submissions, in order."""
        found = self._connection.execute(
            "SELECT entry FROM events WHERE team_id = ? AND event = 'submission' AND status = 'scored' "
            "ORDER BY number",
            [self._id(team)],
        )
        return [number for (number,) in found]

    def same(self, team: str, digest: str) -> int | None:
        """Returns the number of the team's first submission of the file with this SHA-256; None for none."""
        found = self._connection.execute(
            "SELECT min(entry) FROM events WHERE team_id = ? AND event = 'submission' AND digest = ?",
            [self._id(team), digest],
        ).fetchone()
        return found[0]

    def _id(self, team: str) -> str:
        """Returns the id of a team; raises UnusableInput if the ledger has it for another name.

        An id has 40 bits of a hash, so that somebody could search for a name with another team's id.
        """
        found = team_id(team)
        row = self._connection.execute(
            "SELECT team FROM events WHERE team_id = ? LIMIT 1", [found]
        ).fetchone()
        if row and team_key(row[0]) != team_key(team):
            raise UnusableInput(f"team name {team!r} has the id of team {row[0]!r}: use another name")
        return found

    def solution(self) -> str | None:
        """Returns the hash of the newest version of the solution; None before anything was scored."""
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
        note: str = "",
    ) -> int:
        """Keep the file `data`, add a submission, and return its number, from 1.

        Args:
            time: Time of the submission, with its time zone.
            team: Name of the team.
            data: Bytes of the submitted file; None if it was too large to be read.
            scores: Scores of the file; None if it is invalid.
            scorer: Version of the rules by which it was scored.
            solution: SHA-256 of the solution against which it was scored.
            note: Note of the team, one line; "" for none.
        """
        digest = "" if data is None else keep(self.private, data)
        (number,) = self._connection.execute(
            "SELECT coalesce(max(entry), 0) + 1 FROM events WHERE event = 'submission'"
        ).fetchone()
        self._append(
            time,
            "submission",
            entry=number,
            team=check_team(team),
            team_id=self._id(team),
            digest=digest,
            status="invalid" if scores is None else "scored",
            scorer=scorer,
            solution=solution,
            note=note or None,
            **_points(scores),
        )
        return number

    def select(self, time: datetime, team: str, numbers: Sequence[int]) -> None:
        """Record that the submissions `numbers` count for the team at the end; empty for no choice."""
        note = " ".join(map(str, numbers))
        self._append(time, "selection", team=check_team(team), team_id=self._id(team), note=note)

    def rescore(
        self, time: datetime, solution: str, note: str, scores: Mapping[int, SubmissionScore], scorer: str
    ) -> None:
        """Record `solution` as the newest version, with the `scores` of submissions under it, by number."""
        self._append(time, "solution", scorer=scorer, solution=solution, note=note)
        for number, found in scores.items():
            self._append(time, "score", entry=number, scorer=scorer, solution=solution, **_points(found))

    def _append(self, time: datetime, event: str, **fields: object) -> None:
        if time.tzinfo is None:
            raise ValueError("time: must have a time zone")
        stamp = self.now(time).astimezone(timezone.utc).isoformat(timespec="microseconds")
        last, previous = newest_row(self._connection)
        fields |= {"number": last + 1, "time": stamp, "event": event}
        fields |= {"nonce": secrets.token_hex(16), "previous": previous}
        values = [fields.get(column) for column in COLUMNS]
        places = ", ".join("?" * (len(COLUMNS) + 1))
        self._connection.execute(
            f"INSERT INTO events ({', '.join(COLUMNS)}, hash) VALUES ({places})", [*values, link(values)]
        )


def _points(scores: SubmissionScore | None) -> dict[str, float]:
    return {} if scores is None else {"public": scores.public.rmse, "private": scores.private.rmse}


def newest_row(connection: sqlite3.Connection) -> tuple[int, str]:
    """Returns the number and the hash of the newest row."""
    found = connection.execute("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
    return found or (0, GENESIS)
