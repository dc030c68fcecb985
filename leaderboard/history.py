"""The list of submissions with scores on each part, classifier and group, for the organizer only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaderboard.ledger import Entry, opened
from leaderboard.solutions import predictions_of, version
from leaderboard.teams import check_team, team_id
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.scoring import score_rows
from submission.solution import SolutionRow, counting_rows


@dataclass(frozen=True)
class Line:
    """One submission, with its RMSE in points by the name of a part of the test sets; {} if invalid."""

    entry: Entry
    rmse: Mapping[str, float]


def parts_of(solution: Sequence[SolutionRow]) -> dict[str, list[SolutionRow]]:
    """Returns the rows of a solution: all, by usage, by subject if there are several, and by group."""
    subjects = sorted({row.subject for row in solution})
    parts = {"overall": list(solution)}
    parts |= {usage.lower(): [r for r in solution if r.usage == usage] for usage in ("Public", "Private")}
    if len(subjects) > 1:
        parts |= {f"[{name}]": [row for row in solution if row.subject == name] for name in subjects}
    groups = sorted({row.group for row in solution})
    return parts | {f"({name})": [row for row in solution if row.group == name] for name in groups}


def history(competition: Competition, team: str | None = None) -> tuple[Line, ...]:
    """Returns the submissions of a team, or of all teams, in order, with scores by the newest solution."""
    key = None if team is None else team_id(check_team(team))
    with opened(competition) as ledger:
        entries = [entry for entry in ledger.entries() if key in (None, entry.team_id)]
        if not entries:
            raise UnusableInput("nothing was submitted" + (f" by team {team!r}" if team else ""))
        parts = parts_of(counting_rows(competition, version(competition, ledger, ledger.solution())))
        lines = []
        for entry in entries:
            scored = predictions_of(competition, ledger, entry) if entry.status == "scored" else {}
            found = {name: score_rows(scored, rows).rmse for name, rows in parts.items()} if scored else {}
            lines.append(Line(entry, found))
    return tuple(lines)


def history_table(lines: Sequence[Line], decimals: int) -> str:
    """The lines as text for a terminal, with a header; finals have a star."""
    parts = list(dict.fromkeys(name for line in lines for name in line.rmse))
    widths = {name: max(len(name), 4 + decimals) for name in parts}
    longest = max(len(line.entry.team) for line in lines)
    header = f"{'number':>6}   {'time (UTC)':<19}  {'file':<12}  {'team':<{longest}}"
    names = "".join(f"  {name:>{width}}" for name, width in widths.items())
    noted = "  note" if any(line.entry.note for line in lines) else ""
    texts = [f"{header}{names}{noted}".rstrip()]
    for line in lines:
        entry = line.entry
        text = f"{entry.number:>6}{'*' if entry.final else ' '}  {entry.time:%Y-%m-%d %H:%M:%S}  "
        text += f"{entry.digest[:12]:<12}  {entry.team:<{longest}}"
        cells = [f"  {line.rmse[name]:>{width}.{decimals}f}" for name, width in widths.items() if line.rmse]
        scores = "".join(cells) or "  invalid"
        texts.append(f"{text}{scores:<{len(names)}}  {entry.note}".rstrip())
    legend = "RMSE in percentage points, lower is better; [classifier], (group); * counts at the end."
    return "\n".join([*texts, f"{legend} file: how its SHA-256 begins."])


def history_records(lines: Sequence[Line]) -> list[dict[str, object]]:
    """Returns the lines as plain values: number, time, team, file (SHA-256), status, final, RMSE, note."""
    return [
        {
            "number": line.entry.number,
            "time": line.entry.time.isoformat(),
            "team": line.entry.team,
            "file": line.entry.digest,
            "status": line.entry.status,
            "final": line.entry.final,
            "rmse": dict(line.rmse),
            "note": line.entry.note,
        }
        for line in lines
    ]
