"""Teams: their registration in the ledger, and their names, of which only harmless ones are accepted.

Names that differ only in marks ("Team A", "Team-A") cannot both be taken.
"""

import difflib
import hashlib
import unicodedata
from datetime import datetime

from leaderboard.events import Team
from leaderboard.ledger import Ledger
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.predictions import predicted_files
from submission.scoretable import CONSTANT

LONGEST = 40
_MARKS = frozenset(" ._-'&+()")


def check_team(name: str) -> str:
    """Returns the team's name as it is shown: Unicode form NFKC, outer spaces removed, inner ones single.

    Allowed are 1 to 40 letters (with their accents) and digits, spaces and ``. _ - ' & + ( )``, with at least
    one letter or digit.

    >>> check_team("  Équipe   Ｂleue ")
    'Équipe Bleue'
    """
    spelled = _spelled(name)
    if problem := _problem(spelled):
        raise UnusableInput(f"team name {spelled[:LONGEST]!r}: {problem}")
    return spelled


def team_key(name: str) -> str:
    """Returns the key of a team, the same for all spellings: the name without case or compatible forms.

    >>> team_key("STRASSE") == team_key("straße")
    True
    """
    return unicodedata.normalize("NFKC", _spelled(name).casefold())


def plain(name: str) -> str:
    """Returns only the letters and digits of :func:`team_key`, which are equal for names that read alike.

    >>> plain("ORA A") == plain("ora-a")
    True
    """
    return "".join(filter(str.isalnum, team_key(name)))


def registered(
    competition: Competition, ledger: Ledger, name: str, now: datetime, create: bool = False
) -> Team:
    """Returns the team that is registered under a name; with `create` a new one is registered.

    Refuses a team that was renamed, merged into another, withdrawn or disqualified.
    """
    teams = ledger.teams()
    for team in teams.values():
        if team_key(name) in map(team_key, team.names):
            return _counting(team, teams[team.owner], name)
    if not create:
        present = [team.name for team in teams.values()]
        near = difflib.get_close_matches(name, present, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(map(repr, near))}, or" if near else "is it"
        raise UnusableInput(f"team {name!r} is not registered: {meant} a new team (score --new-team)?")
    check_new_name(competition, ledger, name)
    ledger.append(now, "team", team=name, team_id=team_id(name))
    return Team(team_id(name), (name,), team_id(name))


def _counting(team: Team, owner: Team, name: str) -> Team:
    """Returns a team whose submissions count under its own present name."""
    if owner.state != "active":
        raise UnusableInput(f"team {owner.name!r} is {owner.state}: nothing of it counts any more")
    if team_key(name) != team_key(owner.name):
        raise UnusableInput(f"team {name!r} is now {owner.name!r}: use that name")
    return team


def check_new_name(competition: Competition, ledger: Ledger, name: str, but: Team | None = None) -> None:
    """Refuse a name that is a method's, or that reads like a name of another team, former ones included."""
    if baseline := baseline_names(competition).get(plain(name)):
        raise UnusableInput(f"team name {name!r} reads like the baseline {baseline!r}: choose another name")
    for other in ledger.teams().values():
        for taken in other.names if but is None or other.id != but.id else ():
            # an id has 40 bits, so that somebody could search for another team's
            if plain(taken) == plain(name) or team_id(taken) == team_id(name):
                raise UnusableInput(f"team name {name!r} reads like team {taken!r}: use that or another name")


def baseline_names(competition: Competition) -> dict[str, str]:
    """Returns the names of baselines that were predicted, by their letters and digits (`plain`)."""
    written = [competition.root / name for name in predicted_files(competition.root)]
    return {plain(name): name for name in (CONSTANT, *(path.stem for path in written if path.exists()))}


def team_id(name: str) -> str:
    """Returns a short public id of a team, the same for every spelling of its name.

    >>> team_id("Team A") == team_id("team a")
    True
    """
    # The letter in front keeps spreadsheets from reading "12345e67" as a number.
    return "t" + hashlib.sha256(team_key(name).encode()).hexdigest()[:10]


def _spelled(name: str) -> str:
    return " ".join(word for word in unicodedata.normalize("NFKC", name).split(" ") if word)


def _problem(spelled: str) -> str:
    """Returns what is wrong with a name; "" if it is accepted."""
    if len(spelled) > LONGEST:
        return f"at most {LONGEST} characters"
    for character in spelled:
        if not _allowed(character):
            return f"{character!r} is not allowed; use letters and digits, spaces and . _ - ' & + ( )"
    if not plain(spelled):
        return "at least one letter or digit is needed"
    return ""


def _allowed(character: str) -> bool:
    category = unicodedata.category(character)
    return character in _MARKS or category == "Nd" or category[0] in "LM"
