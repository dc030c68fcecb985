"""What the events of a ledger say of a competition's settings and of its teams, as they count now."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from submission.competition import LONGEST_TEXT, Competition
from submission.errors import UnusableInput

Row = Mapping[str, Any]
NONE = "none"
"""The value of a setting that is not set, such as no deadline."""
SETTINGS = {
    "deadline": "the deadline",
    "daily_limit": "the number of submissions of a team per day (UTC)",
    "total_limit": "the number of submissions of a team in total",
    "contact": "the contact",
}
"""What may change while a competition runs, in the words of a notice."""
GONE = {"withdraw": "withdrawn", "disqualify": "disqualified"}
"""The state of a team after a change by which its submissions no longer count."""


def now() -> datetime:
    """Returns the present time, in UTC."""
    return datetime.now(timezone.utc)


def check_line(name: str, text: str, most: int = LONGEST_TEXT) -> None:
    """Refuse a text that is too long or no single line of printable characters."""
    if not text.isprintable() or len(text) > most:
        raise UnusableInput(f"--{name} must be a line of up to {most} printable characters")


def checked_reason(reason: str) -> str:
    """Returns the reason of a change, a line that is published."""
    if not reason.strip():
        raise UnusableInput("--reason: give a reason, a line that is published")
    check_line("reason", reason.strip())
    return reason.strip()


class Team(NamedTuple):
    """A registered team with all its names, the present one last, and the id of the team it counts for."""

    id: str
    names: tuple[str, ...]  # the present one last
    owner: str  # id of the team for which its submissions count: its own, or of the one it was merged into
    state: str = "active"
    deadline: datetime | None = None  # its own one, if it got a later one

    @property
    def name(self) -> str:
        """Its present name."""
        return self.names[-1]


def teams_of(rows: Iterable[Row]) -> dict[str, Team]:
    """Returns the registered teams by their ids, in the order of registration."""
    teams: dict[str, Team] = {}
    for row in rows:
        if row["event"] == "team":
            teams[row["team_id"]] = Team(row["team_id"], (row["team"],), row["team_id"])
        elif row["event"] == "change" and row["team_id"]:
            _change_team(teams, row)
    return teams


def _change_team(teams: dict[str, Team], row: Row) -> None:
    team = teams[row["team_id"]]
    after = row["after"]
    if row["what"] == "rename":
        teams[team.id] = team._replace(names=(*team.names, after))
    elif row["what"] == "extend":
        teams[team.id] = team._replace(deadline=datetime.fromisoformat(after))
    elif row["what"] in GONE:
        teams[team.id] = team._replace(state=GONE[row["what"]])
    else:
        owner = next(other.id for other in teams.values() if other.name == after)
        for other in members(teams, team.id):
            teams[other.id] = other._replace(owner=owner)


def members(teams: Mapping[str, Team], owner: str) -> list[Team]:
    """Returns the teams whose submissions count for a team: itself, and those merged into it."""
    return [team for team in teams.values() if team.owner == owner]


def present(competition: Competition, rows: Sequence[Row]) -> Competition:
    """Returns the competition with the settings and the notices of now."""
    values: dict[str, Any] = {}
    for row in rows:
        if row["event"] == "change" and row["what"] in SETTINGS:
            values[row["what"]] = None if row["after"] == NONE else row["after"]
    for name in ("daily_limit", "total_limit"):
        if values.get(name):
            values[name] = int(values[name])
    if values.get("deadline"):
        values["deadline"] = datetime.fromisoformat(values["deadline"])
    if "contact" in values:
        others = {name: value for name, value in competition.settings.items() if name != "contact"}
        contact = values.pop("contact")
        values["settings"] = {**others, "contact": contact} if contact else others
    notices = tuple(notice(row) for row in rows if row["event"] in ("change", "solution"))
    return competition.model_copy(update={**values, "notices": notices})


def notice(row: Row) -> str:
    """Returns a change in words, with its day and reason, for teams."""
    if row["event"] == "solution":
        change = f"{row['what']}; the solution {row['before'][:12]} became {row['after'][:12]}"
    elif row["what"] in SETTINGS:
        change = f"{SETTINGS[row['what']]} is now {row['after']} (before: {row['before']})"
    elif row["what"] == "rename":
        change = f"{row['before']!r} is now called {row['after']!r}"
    elif row["what"] == "merge":
        change = f"the submissions of {row['before']!r} count for {row['after']!r}"
    elif row["what"] == "extend":
        change = f"{row['team']!r} may submit until {row['after']} (before: {row['before']})"
    else:
        change = f"{row['team']!r} is {GONE[row['what']]}"
    return f"{row['time'][:10]}: {change.replace('+00:00', ' UTC')}. Reason: {row['note']}"
