"""Names of subjects and sets, and the ids made of them, which are the keys in every file of predictions.

A file of another competition or track is recognised by its ids, so that one line says so in place of one line
per id.
"""

import re
from collections.abc import Sequence

from submission.tracks import TRACKS

_SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
_SET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def check_subject(name: str) -> str:
    """Returns `name` if it can name a subject: 1 to 80 of `A-Z a-z 0-9 . _ : -`, a letter or digit first.

    Raises:
        ValueError: the name breaks this rule.
    """
    return _check(name, _SUBJECT, "subject", "'.', '_', ':' and '-'")


def check_set_name(name: str) -> str:
    """Returns `name` if it can name a set: 1 to 80 of `A-Z a-z 0-9 . _ -`, a letter or digit first.

    Raises:
        ValueError: the name breaks this rule.
    """
    return _check(name, _SET, "set", "'.', '_' and '-'")


def make_id(subject: str, set_name: str) -> str:
    """Returns the id of one subject seen on one set.

    >>> make_id("resnet56", "test_0001")
    'resnet56/test_0001'

    Raises:
        ValueError: one of the names is not allowed.
    """
    return f"{check_subject(subject)}/{check_set_name(set_name)}"


def split_id(name: str) -> tuple[str, str]:
    """Returns the subject and the set of an id that :func:`make_id` made.

    >>> split_id("resnet56/test_0001")
    ('resnet56', 'test_0001')

    Raises:
        ValueError: `name` is no id.
    """
    subject, slash, set_name = name.partition("/")
    if not slash:
        raise ValueError(f"{name!r} is not an id of the form <subject>/<set>")
    return check_subject(subject), check_set_name(set_name)


def _check(name: str, pattern: re.Pattern[str], noun: str, marks: str) -> str:
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise ValueError(
            f"{name!r:.100} cannot name a {noun}: use 1 to 80 ASCII letters, digits, {marks}, "
            "a letter or digit first"
        )
    return name


SHOWN = 3
"""Largest number of subjects that a message names."""


def foreign(ids: Sequence[str], own: Sequence[str], own_track: str) -> str:
    """Returns a message if a file with these ids has no subject of the competition; else "".

    The message says how ids are written if no id has a subject; otherwise it names the competition or track
    to which the ids seem to belong, and ignores texts that are no ids.

    Args:
        ids: Ids in the file.
        own: Subjects of the competition.
        own_track: Track of the competition.
    """
    if ids and all(map(_is_set_name, ids)):
        return f"its ids, as {ids[0]!r}, lack the subject ({_shown(own)}): ids are <subject>/<set>"
    subjects = dict.fromkeys(subject for name in ids if (subject := _subject(name)))
    if not subjects or not subjects.keys().isdisjoint(own):
        return ""
    named = _shown(list(subjects))
    if not {name.casefold() for name in subjects}.isdisjoint(name.casefold() for name in own):
        return f"its ids differ in capitals: they are about {named}, and this one is about {_shown(own)}"
    track = "ood" if all(map(_of_a_detector, subjects)) else "accuracy"
    if track != own_track:
        return f"its ids are of the {track} track ({named}), this competition is of the {own_track} track"
    return f"its ids are of another competition: they are about {named}, and this one is about {_shown(own)}"


def _subject(name: str) -> str:
    try:
        return split_id(name)[0]
    except ValueError:
        return ""


def _is_set_name(name: str) -> bool:
    return bool(_SET.fullmatch(name))


def _of_a_detector(subject: str) -> bool:
    try:
        return bool(TRACKS["ood"].split(subject))
    except ValueError:
        return False


def _shown(subjects: Sequence[str]) -> str:
    return ", ".join([*subjects[:SHOWN], *(["..."] if len(subjects) > SHOWN else [])])
