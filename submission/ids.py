"""Names of subjects and sets, and the ids made of them: the keys of every file that holds predictions."""

import re

_SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
_SET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def check_subject(name: str) -> str:
    """`name` itself where it can name a subject: 1 to 80 of `A-Z a-z 0-9 . _ : -`, a letter or digit first.

    Raises:
        ValueError: it cannot.
    """
    return _check(name, _SUBJECT, "subject", "'.', '_', ':' and '-'")


def check_set_name(name: str) -> str:
    """`name` itself where it can name a set: 1 to 80 of `A-Z a-z 0-9 . _ -`, a letter or digit first.

    Raises:
        ValueError: it cannot.
    """
    return _check(name, _SET, "set", "'.', '_' and '-'")


def make_id(subject: str, set_name: str) -> str:
    """The id of one subject seen on one set.

    >>> make_id("resnet56", "test_0001")
    'resnet56/test_0001'

    Raises:
        ValueError: one of the names is not allowed.
    """
    return f"{check_subject(subject)}/{check_set_name(set_name)}"


def split_id(name: str) -> tuple[str, str]:
    """Subject and set of an id made by :func:`make_id`.

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
