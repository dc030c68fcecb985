"""Teams: their registration in the ledger, and their names, of which only harmless ones are accepted.

A rule after UTS 39 (Unicode Security Mechanisms) makes it harder for a name to imitate another: one script a
word, except Latin together with East Asian scripts. Names that differ only in marks ("Team A", "Team-A")
cannot both be taken.
"""

import difflib
import hashlib
import unicodedata
from collections.abc import Callable
from datetime import datetime

from leaderboard.ledger import Ledger, opened
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.predictions import predicted_files
from submission.scoretable import CONSTANT

LONGEST = 40
_MARKS = frozenset(" ._-'&+()")
_STACKED = 3  # combining marks on one letter: Hebrew and Thai need up to three
# Default_Ignorable_Code_Point of Unicode 15 among letters and marks of these scripts: drawn as nothing.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
# The first words of the Unicode names of letters, digits and marks.
_MIXING = frozenset(  # may stand in one word
    ("BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA", "LATIN")
)
_COMMON = frozenset(("COMBINING", "DIGIT", "MODIFIER"))


def check_team(name: str) -> str:
    """Returns the team's name as it is shown: Unicode form NFKC, outer spaces removed, inner ones single.

    Allowed are 1 to 40 letters (with their accents) and digits, spaces and ``. _ - ' & + ( )``, with at least
    one letter or digit. Names that could imitate others are refused by the rules of this module.

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

    Letters that are drawn like marks, such as U+02BC, an apostrophe, are left out too.

    >>> plain("ORA A") == plain("ora-a")
    True
    """
    return "".join(
        character for character in team_key(name) if character.isalnum() and _script(character) != "MODIFIER"
    )


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
        raise UnusableInput(f"team {name!r} is not registered: {meant} a new team (unseen team add)?")
    if baseline := baseline_names(competition).get(plain(name)):
        raise UnusableInput(f"team name {name!r} reads like the baseline {baseline!r}: choose another name")
    for other in teams.values():  # an id has 40 bits, so that somebody could search for another team's
        if plain(other) == plain(name) or team_id(other) == team_id(name):
            raise UnusableInput(f"team name {name!r} reads like team {other!r}: use that or another name")
    ledger.append(now, "team", team=name, team_id=team_id(name))
    return name


def add_team(competition: Competition, name: str, clock: Callable[[], datetime]) -> str:
    """Register a team, and return its name as it is shown; a registered team stays as it is."""
    with opened(competition, writing=True) as ledger:
        return registered(competition, ledger, check_team(name), clock(), create=True)


def baseline_names(competition: Competition) -> dict[str, str]:
    """Returns the names of baselines that were predicted, by the names that a team may not take.

    These are their letters and digits (`plain`), alone and with the word that follows them on the board.
    """
    written = [competition.root / name for name in predicted_files(competition.root)]
    names = [CONSTANT, *(path.stem for path in written if path.exists())]
    return {reads: name for name in names for reads in (plain(name), f"{plain(name)}baseline")}


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
    kinds = "".join("-" if each in _MARKS else unicodedata.category(each)[0] for each in f" {spelled}")
    if "-M" in kinds or "M" * (_STACKED + 1) in kinds:
        return f"up to {_STACKED} accents may follow a letter"
    if not plain(spelled):
        return "at least one letter or digit is needed"
    for word in "".join(" " if character in _MARKS else character for character in spelled).split():
        scripts = {_script(character) for character in word} - _COMMON
        if len(scripts) > 1 and scripts - _MIXING:
            return f"{word!r} mixes alphabets; use one per word"
    return ""


def _allowed(character: str) -> bool:
    category = unicodedata.category(character)
    drawn = character not in _INVISIBLE and "VARIATION SELECTOR" not in unicodedata.name(character, "")
    return character in _MARKS or (drawn and (category == "Nd" or category[0] in "LM") and category != "Me")


def _script(character: str) -> str:
    """Returns the first word of the character's Unicode name, which names its script.

    >>> _script("ж"), _script("é"), _script("7")
    ('CYRILLIC', 'LATIN', 'DIGIT')
    """
    first = unicodedata.name(character, "UNNAMED").split()[0]
    return {"ARABIC-INDIC": "ARABIC", "EXTENDED": "ARABIC"}.get(first, first)
