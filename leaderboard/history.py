"""The list of `unseen history`: every submission with its scores, for the organizer."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from leaderboard.ledger import opened
from leaderboard.solutions import predictions_of, version
from leaderboard.teams import check_team, team_key
from submission.competition import Competition
from submission.errors import UnusableInput, printable
from submission.scoring import score_rows
from submission.solution import SolutionRow, counting_rows
from submission.table import cell, text_table


def parts_of(solution: Sequence[SolutionRow]) -> dict[str, list[SolutionRow]]:
    """Returns the rows of a solution: all, by usage, by subject if there are several, and by group."""
    subjects = sorted({row.subject for row in solution})
    parts = {"overall": list(solution)}
    parts |= {usage.lower(): [r for r in solution if r.usage == usage] for usage in ("Public", "Private")}
    if len(subjects) > 1:
        parts |= {f"[{name}]": [row for row in solution if row.subject == name] for name in subjects}
    groups = sorted({row.group for row in solution})
    return parts | {f"({name})": [row for row in solution if row.group == name] for name in groups}


def history(competition: Competition, team: str | None = None) -> list[dict[str, Any]]:
    """Returns the submissions of a team, or of all, as plain values; `rmse` is by part of the sets.

    `counts_for` names the team for which a submission counts, None if that was withdrawn or disqualified.
    """
    mine = team_key(check_team(team)) if team else ""
    with opened(competition) as ledger:
        named = {each.id for each in ledger.teams().values() if mine in map(team_key, each.names)}
        entries = [
            entry
            for entry in ledger.entries()
            if not mine or entry.team_id in named or team_key(entry.handed_in_by) == mine
        ]
        parts = parts_of(counting_rows(competition, version(competition, ledger)))
        records = []
        for entry in entries:
            scored = predictions_of(competition, ledger, entry) if entry.status == "scored" else {}
            found = {name: score_rows(scored, rows).rmse for name, rows in parts.items()} if scored else {}
            names = ("number", "file", "digest", "status", "final", "note")
            facts = {name: getattr(entry, name) for name in names}
            facts |= {"team": entry.handed_in_by, "time": entry.time.isoformat(), "rmse": found}
            facts["counts_for"] = entry.team if entry.state == "active" else None
            records.append(facts)
    if not records:
        raise UnusableInput("nothing was submitted" + (f" by team {team!r}" if team else ""))
    return records


def history_table(competition: Competition, records: Sequence[Mapping[str, Any]]) -> str:
    """Returns submissions as text for a terminal; those that count at the end have a star."""
    parts = list(dict.fromkeys(name for each in records for name in each["rmse"]))
    rows = [["number", "time (UTC)", "team", "file", *parts, "status", "note"]]
    for each in records:
        texts = [
            f"{each['number']}{'*' if each['final'] else ''}",
            each["time"][:19].replace("T", " "),
            _team(each),
            each["file"],
            *(cell(each["rmse"].get(name, math.nan), competition.decimals) for name in parts),
            each["status"],
            each["note"],
        ]
        rows.append([printable(text) for text in texts])
    legend = "RMSE in percentage points, lower is better; [classifier], (group); * counts at the end."
    table = text_table(rows, names=(0, 1, 2, 3, len(parts) + 4, len(parts) + 5))
    changes = "".join(f"\n{printable(text)}" for text in competition.notices)
    return f"{table}\n{legend}{changes}"


def _team(record: Mapping[str, Any]) -> str:
    """Returns the team that handed a submission in, and the one for which it counts if it is another."""
    team, owner = record["team"], record["counts_for"]
    return team if owner == team else f"{team} ({'counts for ' + owner if owner else 'does not count'})"
