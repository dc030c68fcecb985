"""Receipts: a small JSON file for every submission, which the organizer sends to its team.

A receipt holds what the team handed in and was told, and nothing else. ``row`` is the hash of the
submission's row in the ledger: `unseen verify --head ROW`, run by the organizer, finds it as long as nothing
up to it was rewritten. A team keeps its receipts in ``receipts/`` of its copy: `unseen history` lists them.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from leaderboard.ledger.teams import check_team, team_id
from submission.competition import Competition
from submission.errors import UnusableInput, printable, unusable
from submission.files import read_text, sha256, write_text

LONGEST_NOTE = 200
"""Characters of a team's note on a submission."""
FIELDS = {"competition": str, "team": str, "number": int, "time": str, "file": str, "told": str, "note": str}
"""What every receipt has, and its type."""


def check_note(note: str) -> str:
    """Returns a team's note on a submission, without spaces around it.

    Raises:
        UnusableInput: it is no line of printable characters, or too long.
    """
    if not note.isprintable() or len(note) > LONGEST_NOTE:
        raise UnusableInput(f"--note must be a line of up to {LONGEST_NOTE} printable characters")
    return note.strip()


def receipt_file(competition: Competition, number: int) -> Path:
    """Returns where the receipt of a submission is in the organizer's copy."""
    return competition.root / "receipts" / f"{number:04d}.json"


def keep_receipt(competition: Competition, number: int, told: Mapping[str, object]) -> None:
    """Write the receipt of a submission; where that cannot be done, the submission counts all the same."""
    path = receipt_file(competition, number)
    with suppress(OSError, UnusableInput):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_text(path, json.dumps({"competition": competition.name, "number": number, **told}) + "\n")


def read_receipts(competition: Competition, team: str | None = None) -> list[dict[str, object]]:
    """Returns the receipts in ``receipts/``, by number.

    Args:
        competition: any copy.
        team: only this team's, however its name is spelt.

    Raises:
        UnusableInput: there is none, or a file there is no receipt of this competition.
    """
    folder = competition.root / "receipts"
    key = None if team is None else team_id(check_team(team))
    found = [_read(path, competition.name) for path in sorted(folder.glob("*.json"))]
    mine = [record for record in found if key in (None, team_id(str(record["team"])))]
    if not mine:
        whose = f" of team {team!r}" if team else ""
        raise UnusableInput(
            f"{competition.root} is a participant's copy, and {folder} has no receipt{whose}: "
            "put there the .json file that the organizer has for each submission"
        )
    return sorted(mine, key=lambda record: int(str(record["number"])))


def _read(path: Path, name: str) -> dict[str, object]:
    try:
        record = json.loads(read_text(path))
        whole = all(type(record[field]) is kind for field, kind in FIELDS.items())
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise unusable(path, "no receipt of a submission: remove it") from error
    if not whole or record["competition"] != name:
        raise unusable(path, f"no receipt of a submission to {name}: remove it")
    return dict(record)


def receipts_table(competition: Competition, records: Sequence[Mapping[str, object]]) -> str:
    """Returns receipts as text for a terminal, with a header; own files are named by what is in them."""
    files = {sha256(path): f"submissions/{path.name}" for path in _handed_in(competition)}
    header = ["number", "time (UTC)", "team", "file", "told", "note"]
    rows = [
        [
            str(record["number"]),
            str(record["time"])[:19].replace("T", " "),
            str(record["team"]),
            files.get(str(record["file"]), str(record["file"])[:12]),
            str(record["told"]),
            str(record["note"]),
        ]
        for record in records
    ]
    shown = [header, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    return "\n".join(
        [*lines, "RMSE in percentage points, lower is better. file: yours, or how its SHA-256 begins."]
    )


def _handed_in(competition: Competition) -> list[Path]:
    return [path for path in sorted((competition.root / "submissions").glob("*")) if path.is_file()]
