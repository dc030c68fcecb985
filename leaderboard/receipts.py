"""Receipts: a small JSON file for every submission, which the organizer sends to its team.

A receipt holds the facts about the submission and the answer to it. ``row`` is the hash of the submission's
row in the ledger, so that a ledger without this row is refused. A team puts its receipts into ``receipts/``
of its copy, and `unseen history` lists them.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from leaderboard.teams import check_team, team_id
from submission.competition import Competition
from submission.errors import UnusableInput, printable, unusable
from submission.files import read_text, sha256, write_text

TEXTS = ("competition", "team", "time", "file", "answer", "note")
"""The fields of every receipt that are texts; ``number`` is a whole number."""


def receipt_file(competition: Competition, number: int) -> Path:
    """Returns the path of a submission's receipt in the organizer's copy."""
    return competition.root / "receipts" / f"{number:04d}.json"


def keep_receipt(competition: Competition, number: int, facts: Mapping[str, object]) -> None:
    """Write the receipt of a submission, never over another; if that fails, the submission still counts."""
    path = receipt_file(competition, number)
    with suppress(OSError, UnusableInput):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            write_text(path, json.dumps({"competition": competition.name, "number": number, **facts}) + "\n")


def read_receipts(competition: Competition, team: str | None = None) -> list[dict[str, object]]:
    """Returns the receipts in ``receipts/`` of one team or of all, ordered by number."""
    folder = competition.root / "receipts"
    key = None if team is None else team_id(check_team(team))
    found = [_read(path, competition.name) for path in sorted(folder.glob("*.json"))]
    mine = [record for record in found if key in (None, team_id(str(record["team"])))]
    if not mine:
        whose = f" of team {team!r}" if team else ""
        raise UnusableInput(
            f"{competition.root} is a participant's copy, and {folder} has no receipt{whose}: "
            "put the .json files from the organizer there"
        )
    return sorted(mine, key=lambda record: int(str(record["number"])))


def _read(path: Path, name: str) -> dict[str, object]:
    try:
        record = json.loads(read_text(path))
        whole = all(isinstance(record[field], str) for field in TEXTS) and type(record["number"]) is int
        json.dumps(record, ensure_ascii=False).encode()  # half a character has no bytes
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise unusable(path, "not a receipt of a submission: remove it") from error
    if not whole or record["competition"] != name:
        raise unusable(path, f"not a receipt of a submission to {name}: remove it")
    return dict(record)


def receipts_table(competition: Competition, records: Sequence[Mapping[str, object]]) -> str:
    """Returns receipts as text for a terminal, with a header; files in ``submissions/`` are named."""
    folder = competition.root / "submissions"
    files = {sha256(path): f"submissions/{path.name}" for path in folder.glob("*") if path.is_file()}
    header = ["number", "time (UTC)", "team", "file", "answer", "note"]
    rows = [
        [
            str(record["number"]),
            str(record["time"])[:19].replace("T", " "),
            str(record["team"]),
            files.get(str(record["file"]), str(record["file"])[:12]),
            str(record["answer"]),
            str(record["note"]),
        ]
        for record in records
    ]
    cells = [header, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    legend = "RMSE in percentage points, lower is better. file: its name, or the start of its SHA-256."
    return "\n".join([*lines, legend])
