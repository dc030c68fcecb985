"""Teams: their registration in the ledger, and their names, of which only harmless ones are accepted.

A name has one script ("highly restrictive" in Unicode's UTS 39): letters of a script in common use, or Latin
ones with Chinese, Japanese or Korean ones. Names that read alike ("Team A", "Team-A") cannot both be taken.
"""

import difflib
import hashlib
import re
import string
import unicodedata
from datetime import datetime
from pathlib import Path

from leaderboard.events import Team
from leaderboard.ledger import Ledger
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import read_lines
from submission.predictions import predicted_files

LONGEST = 40
METHODS = read_lines(Path(__file__).with_name("methods.csv"))
"""Names of the kit's methods, which a scoring host does not have installed; no team takes one."""
_MARKS = frozenset(" ._-'&+()")
_EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL SYLLABLE")
_SCRIPTS = (
    *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "THAANA", "ETHIOPIC"),
    *("DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM"),
    *("SINHALA", "THAI", "LAO", "TIBETAN", "MYANMAR", "KHMER", *_EAST_ASIAN),
)
"""How Unicode's names of letters begin in the scripts in common use (UAX 31, table 5)."""
_TOGETHER = (
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL SYLLABLE"},
)
"""Scripts that are written together."""
_INVISIBLE = frozenset("\u034f\u17b4\u17b5")
"""Marks of these scripts that are not drawn; other default-ignorable characters are of none of them."""
_SHAPES = str.maketrans(
    "αιοσρυνγΑΒΕΖΗΙΚΜΝΟΡΤΥΧабегіјорсухѕһԁԛԝүѵӏАВЕЗНІЈКМОРСТУХЅԌԚԜҮӀЬքցհոռօգզսաՕՏՍエカタトニハヘロー丨",
    "aioopuvyABEZHIKMNOPTYXa6erijopcyxshdqwyvlABE3HIJKMOPCTYXSGQWYlbfghnnoqquwOSU工力夕卜二八へ口一l",
)
"""Letters that look like those of another script (UTS 39's confusables, of scripts in use)."""
_FOLDED = str.maketrans("l1ıɩɪ0ɑɡʋ", "iiiiioagv")
"""Letters and digits that look alike in one script, in lower case."""


def check_team(name: str) -> str:
    """Returns the team's name as it is shown: Unicode form NFKC, outer spaces removed, inner ones single.

    Allowed are 1 to 40 letters of one script (with their accents) and digits, spaces and ``. _ - ' & + ( )``,
    with at least one letter or digit.

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
    """Returns a name's letters and digits, without accents and in one shape, equal for names that read alike.

    >>> plain("ORA A") == plain("ora-a"), plain("Рое") == plain("P0E")
    (True, True)
    """
    letters = "".join(each for each in unicodedata.normalize("NFKD", name) if not _is_accent(each))
    shapes = letters.translate(_SHAPES).casefold()
    digits = "".join(str(unicodedata.decimal(each, each)) for each in shapes)
    return "".join(each for each in digits.translate(_FOLDED) if unicodedata.category(each)[0] in "LMN")


def registered(
    competition: Competition, ledger: Ledger, name: str, now: datetime, create: bool = False
) -> Team:
    """Returns the team of a name, registered if `create`; refuses one that is renamed, merged or gone."""
    teams = ledger.teams()
    for team in teams.values():
        if team_key(name) in map(team_key, team.names):
            owner = teams[team.owner]
            if owner.state != "active":
                raise UnusableInput(f"team {owner.name!r} is {owner.state}: nothing of it counts any more")
            if team_key(name) != team_key(owner.name):
                raise UnusableInput(f"team {name!r} is now {owner.name!r}: use that name")
            return team
    if not create:
        present = [team.name for team in teams.values()]
        near = difflib.get_close_matches(name, present, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(map(repr, near))}, or" if near else "is it"
        raise UnusableInput(f"team {name!r} is not registered: {meant} a new team (score --new-team)?")
    check_new_name(competition, ledger, name)
    ledger.append(now, "team", team=name, team_id=team_id(name))
    return Team(team_id(name), (name,), team_id(name))


def check_new_name(competition: Competition, ledger: Ledger, name: str, but: Team | None = None) -> None:
    """Refuse a name that is a method's, or that reads like a name of another team, former ones included."""
    written = [competition.root / file for file in predicted_files(competition.root)]
    methods = (*METHODS, *(path.stem for path in written if path.exists()))
    if baseline := {plain(method): method for method in methods}.get(plain(name)):
        raise UnusableInput(f"team name {name!r} reads like the baseline {baseline!r}: choose another name")
    for other in ledger.teams().values():
        for taken in other.names if but is None or other.id != but.id else ():
            # an id has 40 bits, so that somebody could search for another team's
            if plain(taken) == plain(name) or team_id(taken) == team_id(name):
                raise UnusableInput(f"team name {name!r} reads like team {taken!r}: use that or another name")


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
    scripts = {each: _script(each) for each in spelled}
    for character, script in scripts.items():
        if script is None:
            return f"{character!r} is not allowed; use letters and digits, spaces and . _ - ' & + ( )"
    kinds = "".join(unicodedata.category(each)[0] for each in spelled)
    if re.search("(^|[^LM])M|M{5}", kinds):
        return "an accent stands without a letter, or more than four stand on one"
    own = dict.fromkeys(filter(None, scripts.values()))
    if len(own) > 1 and not any(own.keys() <= together for together in _TOGETHER):
        return f"letters that Unicode calls {' and '.join(own)} stand in it; use those of one script"
    if not plain(spelled):
        return "at least one letter or digit is needed"
    return ""


def _script(character: str) -> str | None:
    """Returns one of `_SCRIPTS`; "" for a character of any script, None for one that no name may hold."""
    if character in _MARKS or character in string.digits or _is_accent(character):
        return ""
    kind = unicodedata.category(character)
    if character in _INVISIBLE or (kind != "Nd" and kind[0] not in "LM"):
        return None
    name = unicodedata.name(character, "").removeprefix("EXTENDED ")
    if name.startswith("LATIN") and character.upper() == character.lower():
        return None  # phonetic signs, small capitals among them, which look like other letters
    return next((script for script in _SCRIPTS if name.startswith(script)), None)


def _is_accent(character: str) -> bool:
    """Returns True for a mark that stands on letters of several scripts."""
    return "\u0300" <= character <= "\u036f" and character not in _INVISIBLE
