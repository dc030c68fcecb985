"""Names of teams: shown to everybody, so that only harmless ones are taken."""

import hashlib
import unicodedata

from submission.errors import UnusableInput

LONGEST = 40
_MARKS = frozenset(" ._-'&+()")
_STACKED = 3  # combining marks on one letter: Hebrew and Thai need up to three
# Default_Ignorable_Code_Point of Unicode 15 among letters and marks: they are drawn as nothing.
_INVISIBLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)


def check_team(name: str) -> str:
    """The team's name as it is shown: Unicode form NFKC, outer spaces removed, inner ones single.

    Letters (with their accents) and digits of any script, space and ``. _ - ' & + ( )`` are allowed, 1 to 40
    characters, at least one of them a letter or digit.

    >>> check_team("  Équipe   Ｂleue ")
    'Équipe Bleue'

    Raises:
        UnusableInput: the name is not allowed; the message says why.
    """
    words = unicodedata.normalize("NFKC", name[: 10 * LONGEST]).split(" ")
    shown = " ".join(word for word in words if word)
    if len(name) > 10 * LONGEST or len(shown) > LONGEST:
        raise UnusableInput(f"team name {shown[:LONGEST]!r}... is too long: at most {LONGEST} characters")
    accents = 0
    for previous, character in zip(" " + shown, shown, strict=False):
        if not _allowed(character):
            raise UnusableInput(
                f"team name {shown!r}: {character!r} is not allowed; "
                "use letters, digits, spaces and . _ - ' & + ( )"
            )
        accents = accents + 1 if unicodedata.category(character)[0] == "M" else 0
        if accents > _STACKED or (accents and previous in _MARKS):
            raise UnusableInput(f"team name {shown!r}: up to {_STACKED} accents may follow a letter")
    if not any(character.isalnum() for character in shown):
        raise UnusableInput(f"team name {shown!r}: at least one letter or digit is needed")
    return shown


def team_key(name: str) -> str:
    """What makes two names one team: the name without regard to case or compatible forms (NFKC, casefold).

    >>> team_key("STRASSE") == team_key("straße")
    True

    Raises:
        UnusableInput: the name is not allowed.
    """
    return unicodedata.normalize("NFKC", check_team(name).casefold())


def team_id(name: str) -> str:
    """A short public id, the same for every spelling of one team's name.

    >>> team_id("Team A") == team_id("team a")
    True

    Raises:
        UnusableInput: the name is not allowed.
    """
    # The letter in front keeps spreadsheets from reading "12345e67" as a number.
    return "t" + hashlib.sha256(team_key(name).encode()).hexdigest()[:10]


def _allowed(character: str) -> bool:
    if character in _MARKS:
        return True
    if any(first <= ord(character) <= last for first, last in _INVISIBLE):
        return False
    category = unicodedata.category(character)
    return category == "Nd" or (category[0] in "LM" and category != "Me")
