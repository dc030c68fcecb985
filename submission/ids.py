"""Names of subjects and sets, and the ids made of them, which are the keys in every file of predictions."""

import re

SUBJECT = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}"
SET = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
_ID = re.compile(f"({SUBJECT})/({SET})")


def check_set_name(name: str) -> str:
    """Returns `name` if it can name a set: 1 to 80 of `A-Z a-z 0-9 . _ -`, a letter or digit first."""
    if not re.fullmatch(SET, name):
        raise ValueError(f"{name!r:.100} cannot name a set: 1 to 80 ASCII letters, digits, '.', '_' and '-'")
    return name


def make_id(subject: str, set_name: str) -> str:
    """Returns the id of one subject seen on one set: "resnet56/test_0001"."""
    return f"{subject}/{set_name}"


def split_id(name: str) -> tuple[str, str]:
    """Returns the subject and the set of an id."""
    found = _ID.fullmatch(name)
    if not found:
        raise ValueError(f"{name!r:.100} is not an id of the form <subject>/<set>")
    return found[1], found[2]
