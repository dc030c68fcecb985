"""The lists of `unseen history`: every submission with its scores for the organizer, and a team's receipts.

A receipt is a small JSON file for a submission (`leaderboard.submissions`), which the organizer sends to its
team. The team puts its receipts into ``receipts/`` of its copy.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leaderboard.ledger import opened
from leaderboard.solutions import predictions_of, version
from leaderboard.teams import check_team, team_id
from submission.competition import Competition
from submission.errors import UnusableInput, printable, unusable
from submission.files import read_text, sha256
from submission.scoring import score_rows
from submission.solution import SolutionRow, counting_rows
from submission.table import cell, text_table

Record = dict[str, Any]
"""A submission or a receipt as plain values, with at least these fields."""
FIELDS = frozenset(("number", "time", "team", "file", "note"))


def parts_of(solution: Sequence[SolutionRow]) -> dict[str, list[SolutionRow]]:
    """Returns the rows of a solution: all, by usage, by subject if there are several, and by group."""
    subjects = sorted({row.subject for row in solution})
    parts = {"overall": list(solution)}
    parts |= {usage.lower(): [r for r in solution if r.usage == usage] for usage in ("Public", "Private")}
    if len(subjects) > 1:
        parts |= {f"[{name}]": [row for row in solution if row.subject == name] for name in subjects}
    groups = sorted({row.group for row in solution})
    return parts | {f"({name})": [row for row in solution if row.group == name] for name in groups}


def history(competition: Competition, team: str | None = None) -> list[Record]:
    """Returns the submissions of a team, or of all teams, in order.

    `rmse` has the RMSE in points by the newest solution, by the name of a part of the test sets; it is empty
    if the submission is invalid.
    """
    with opened(competition) as ledger:
        entries = [entry for entry in ledger.entries() if team is None or entry.team_id == _id(team)]
        parts = parts_of(counting_rows(competition, version(competition, ledger)))
        records = []
        for entry in entries:
            scored = predictions_of(competition, ledger, entry) if entry.status == "scored" else {}
            found = {name: score_rows(scored, rows).rmse for name, rows in parts.items()} if scored else {}
            facts = {name: getattr(entry, name) for name in ("number", "team", "status", "final", "note")}
            records.append({**facts, "time": entry.time.isoformat(), "file": entry.digest, "rmse": found})
    if not records:
        raise UnusableInput("nothing was submitted" + (f" by team {team!r}" if team else ""))
    return records


def read_receipts(competition: Competition, team: str | None = None) -> list[Record]:
    """Returns the receipts in ``receipts/`` of one team or of all, ordered by number."""
    folder = competition.out / "receipts"
    found = [_receipt(path, competition.name) for path in folder.glob("*.json")]
    mine = [record for record in found if team is None or team_id(record["team"]) == _id(team)]
    if not mine:
        whose = f" of team {team!r}" if team else ""
        raise UnusableInput(
            f"{competition.root} is a participant's copy, and {folder} has no receipt{whose}: "
            "put the .json files from the organizer there"
        )
    return sorted(mine, key=lambda record: int(record["number"]))


def history_table(competition: Competition, records: Sequence[Mapping[str, Any]]) -> str:
    """Returns submissions or receipts as text for a terminal; those that count at the end have a star."""
    folder = competition.out / "submissions"
    files = {sha256(path): f"submissions/{path.name}" for path in folder.glob("*") if path.is_file()}
    parts = list(dict.fromkeys(name for each in records for name in each.get("rmse", ())))
    rows = [["number", "time (UTC)", "team", "file", *parts, "answer", "note"]]
    for each in records:
        file, rmse = str(each["file"]), each.get("rmse", {})
        texts = [
            f"{each['number']}{'*' if each.get('final') else ''}",
            str(each["time"])[:19].replace("T", " "),
            each["team"],
            files.get(file, file[:12]),
            *(cell(rmse.get(name, math.nan), competition.decimals) for name in parts),
            each.get("answer", each.get("status")),
            each["note"],
        ]
        rows.append([printable(text) for text in texts])
    legend = "RMSE in percentage points, lower is better; [classifier], (group); * counts at the end."
    table = text_table(rows, names=(0, 1, 2, 3, len(parts) + 4, len(parts) + 5))
    return f"{table}\n{legend} file: its name, or how its SHA-256 begins."


def _id(team: str) -> str:
    return team_id(check_team(team))


def _receipt(path: Path, name: str) -> Record:
    try:
        record = json.loads(read_text(path))
    except ValueError:
        record = None
    if not isinstance(record, dict) or not record.keys() >= FIELDS or record.get("competition") != name:
        raise unusable(path, f"not a receipt of a submission to {name}: remove it")
    return record
