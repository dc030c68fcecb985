"""Teams: their registration in the ledger, and their names, of which only harmless ones are accepted.

Names that differ only in marks ("Team A", "Team-A") cannot both be taken.
"""

import difflib
import hashlib
import unicodedata
from datetime import datetime

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
) -> str:
    """Returns the name under which a team is registered; with `create` a new one is registered.

    A new name must not be that of a method of the kit, nor read like another team's.
    """
    teams = ledger.teams()
    if team_id(name) in teams and team_key(teams[team_id(name)]) == team_key(name):
        return teams[team_id(name)]
    if not create:
        near = difflib.get_close_matches(name, teams.values(), n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(map(repr, near))}, or" if near else "is it"
        raise UnusableInput(f"team {name!r} is not registered: {meant} a new team (score --new-team)?")
    if baseline := baseline_names(competition).get(plain(name)):
        raise UnusableInput(f"team name {name!r} reads like the baseline {baseline!r}: choose another name")
    for other in teams.values():  # an id has 40 bits, so that somebody could search for another team's
        if plain(other) == plain(name) or team_id(other) == team_id(name):
            raise UnusableInput(f"team name {name!r} reads like team {other!r}: use that or another name")
    ledger.append(now, "team", team=name, team_id=team_id(name))
    return name


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
