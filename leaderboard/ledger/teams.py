"""Names of teams, which are shown to everybody, so that only harmless ones are accepted.

Three rules after UTS 39 (Unicode Security Mechanisms) prevent a name from imitating another: only scripts in
common use; one script per word, except Latin together with East Asian scripts; and no name that reads as
plain Latin but has other letters. Not detected are look-alikes inside one script (l I 1, O 0, rn m), in a
name with words that are not Latin, and among East Asian scripts. Names that differ only in marks ("Team A",
"Team-A") cannot both be taken; :func:`alike` finds other similar names.
"""

import hashlib
import unicodedata
from collections.abc import Collection, Iterable

from submission.errors import UnusableInput

LONGEST = 40
_MARKS = frozenset(" ._-'&+()")
_STACKED = 3  # combining marks on one letter: Hebrew and Thai need up to three
# Default_Ignorable_Code_Point of Unicode 15 among letters and marks of these scripts: drawn as nothing.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
# The first words of the Unicode names of letters, digits and marks: UAX 31, table 5 (recommended scripts).
_MIXING = frozenset(  # may stand in one word
    ("BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA", "LATIN")
)
_COMMON = frozenset(("COMBINING", "DIGIT", "MODIFIER"))
_SCRIPTS = frozenset(
    (
        *("ARABIC", "ARMENIAN", "BENGALI", "CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN", "GREEK"),
        *("GUJARATI", "GURMUKHI", "HEBREW", "KANNADA", "KHMER", "LAO", "MALAYALAM", "MYANMAR", "ORIYA"),
        *("SINHALA", "TAMIL", "TELUGU", "THAANA", "THAI", "TIBETAN", *_MIXING, *_COMMON),
    )
)
# What is drawn like a Latin letter or digit in most typefaces (from confusables.txt of UTS 39).
_LATIN_LOOK = frozenset(
    "АВЕЗІЈКМНОРСТУХЬЅѴҮӀӠԌԜаеорсухѕіјѵһүҽӏԁԛԝѡꙄꙇ"  # Cyrillic
    "ͿΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυϳϹϲϺϜ"  # Greek
    "ǀɑɡɩɪʏᴄᴏᴑᴜᴠᴡᴢꜱꞮ"  # Latin, for phonetics
    "ՍՏՕագհոսցքօ"  # Armenian
    "ყჿሀዐסוןاهഠဝଠ"  # Georgian, Ethiopic, Hebrew, Arabic, Malayalam, Myanmar, Oriya
    "۱۵۷٠١٥٧०০৪৭੦੧੪૦୦୨௦౦೦൦൭๐໐၀"  # digits
)


def check_team(name: str) -> str:
    """Returns the team's name as it is shown: Unicode form NFKC, outer spaces removed, inner ones single.

    Allowed are 1 to 40 letters (with their accents) and digits of the scripts in common use, spaces and
    ``. _ - ' & + ( )``, with at least one letter or digit. Names that could imitate others are refused by the
    rules of this module.

    >>> check_team("  Équipe   Ｂleue ")
    'Équipe Bleue'

    Raises:
        UnusableInput: the name is not allowed; the message says why.
    """
    shown = _shown(name[: 10 * LONGEST])
    if len(name) > 10 * LONGEST or len(shown) > LONGEST:
        raise UnusableInput(f"team name {shown[:LONGEST]!r}... is too long: at most {LONGEST} characters")
    accents = 0
    for previous, character in zip(" " + shown, shown, strict=False):
        if not _allowed(character):
            raise UnusableInput(
                f"team name {shown!r}: {character!r} is not allowed; "
                "use letters and digits of a common script, spaces and . _ - ' & + ( )"
            )
        accents = accents + 1 if unicodedata.category(character)[0] == "M" else 0
        if accents > _STACKED or (accents and previous in _MARKS):
            raise UnusableInput(f"team name {shown!r}: up to {_STACKED} accents may follow a letter")
    if not plain(shown):
        raise UnusableInput(f"team name {shown!r}: at least one letter or digit is needed")
    _check_scripts(shown)
    return shown


def team_key(name: str) -> str:
    """Returns the key of a team, the same for all spellings: the name without case or compatible forms.

    >>> team_key("STRASSE") == team_key("straße")
    True
    """
    return unicodedata.normalize("NFKC", _shown(name).casefold())


def plain(name: str) -> str:
    """Returns only the letters and digits of :func:`team_key`, which are equal for names that read alike.

    Letters that are drawn like marks, such as U+02BC, an apostrophe, are left out too.

    >>> plain("ORA A") == plain("ora-a")
    True
    """
    return "".join(
        character for character in team_key(name) if character.isalnum() and _script(character) != "MODIFIER"
    )


def taken(name: str, others: Collection[str]) -> str | None:
    """Returns a name among `others` that differs from `name` only in marks and spaces; None if there is none.

    >>> taken("A-", ["B", "A"]), taken("a", ["A"])
    ('A', None)
    """
    found = (other for other in others if plain(other) == plain(name) and team_key(other) != team_key(name))
    return next(found, None)


def alike(names: Iterable[str]) -> list[frozenset[str]]:
    """Returns groups of names that may be one team: other spellings, or more words or a number at the end.

    A name joins the first group with a name like it, and never joins two groups to one: what the teams
    before it were told must stay as it was.

    >>> [sorted(group) for group in alike(["A B", "A", "a.", "A2", "AB", "B 1", "B 2", "B"])]
    [['A', 'A B', 'A2', 'a.'], ['AB'], ['B', 'B 1'], ['B 2']]

    Args:
        names: Names of teams in the order of their first submissions.
    """
    groups: list[set[str]] = []
    whole: dict[tuple[str, ...], int] = {}
    begun: dict[tuple[str, ...], int] = {}
    for name in dict.fromkeys(names):
        words = _words(name)
        begins = [words[:end] for end in range(1, len(words) + 1)]
        begins.append((*words[:-1], words[-1].rstrip("0123456789")))
        like = [whole[each] for each in begins if each in whole] + [begun.get(words, len(groups))]
        place = whole.get(words, min(like))  # another spelling of a name stays in that name's group
        if place == len(groups):
            groups.append(set())
        groups[place].add(name)
        whole.setdefault(words, place)
        for each in begins:
            begun.setdefault(each, place)
    return [frozenset(group) for group in groups]


def _words(name: str) -> tuple[str, ...]:
    """Returns the words of a name without regard to case."""
    return tuple("".join(" " if mark in _MARKS else mark for mark in team_key(name)).split())


def team_id(name: str) -> str:
    """Returns a short public id of a team, the same for every spelling of its name.

    >>> team_id("Team A") == team_id("team a")
    True
    """
    # The letter in front keeps spreadsheets from reading "12345e67" as a number.
    return "t" + hashlib.sha256(team_key(name).encode()).hexdigest()[:10]


def _shown(name: str) -> str:
    return " ".join(word for word in unicodedata.normalize("NFKC", name).split(" ") if word)


def _allowed(character: str) -> bool:
    if character in _MARKS:
        return True
    category = unicodedata.category(character)
    if not (category == "Nd" or (category[0] in "LM" and category != "Me")):
        return False
    return character not in _INVISIBLE and _script(character) in _SCRIPTS


def _check_scripts(shown: str) -> None:
    """Raise UnusableInput for words of several scripts, and for names that only look like plain Latin."""
    words = "".join(" " if character in _MARKS else character for character in shown).split()
    for word in words:
        scripts = {_script(character) for character in word} - _COMMON
        if len(scripts) > 1 and scripts - _MIXING:
            raise UnusableInput(f"team name {shown!r}: {word!r} mixes alphabets; use one per word")
    letters = [c for c in unicodedata.normalize("NFD", "".join(words)) if unicodedata.category(c)[0] != "M"]
    alike = [c for c in letters if c in _LATIN_LOOK]
    if alike and all(c in _LATIN_LOOK or _script(c) in _COMMON | {"LATIN"} for c in letters):
        raise UnusableInput(
            f"team name {shown!r} reads as plain Latin, but {alike[0]!r} is {unicodedata.name(alike[0])}: "
            "write it in plain Latin letters, or add a word that does not read so"
        )


def _script(character: str) -> str:
    """Returns the first word of the character's Unicode name, which names its script.

    >>> _script("ж"), _script("é"), _script("7")
    ('CYRILLIC', 'LATIN', 'DIGIT')
    """
    first = unicodedata.name(character, "UNNAMED").split()[0]
    return {"ARABIC-INDIC": "ARABIC", "EXTENDED": "ARABIC"}.get(first, first)
