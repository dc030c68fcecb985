"""Names of classes: their order, and where a name is among them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from submission.errors import unusable
from submission.files import composed, read_lines

_WHOLE = re.compile(r"-?[0-9]+")


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Returns names of classes in label order: as numbers if all are whole numbers, else as texts.

    >>> in_order(["10", "9", "1"]), in_order(["10", "9", "b"])
    (('1', '9', '10'), ('10', '9', 'b'))
    """
    texts = sorted(names)
    return tuple(sorted(texts, key=int) if all(map(_WHOLE.fullmatch, texts)) else texts)


def read_classes(path: Path) -> tuple[str, ...]:
    """Returns the names of classes in a text file, one a line, accents composed; empty lines are skipped."""
    names = tuple(map(composed, read_lines(path)))
    if not names:
        raise unusable(path, "names no class: one a line is expected")
    if twice := [name for name in names if names.count(name) > 1]:
        raise unusable(path, f"names the class {twice[0]!r} twice")
    return names


def places(names: Sequence[str], classes: Sequence[str], path: Path) -> list[int]:
    """Returns the place of each name in `classes`; accents may be composed or not."""
    numbers = {composed(label): number for number, label in enumerate(classes)}
    if strange := [name for name in names if composed(name) not in numbers]:
        look = _look(strange[0])
        alike = [label for label in classes if look and _look(label) == look]
        if alike:
            raise unusable(path, f"no class {strange[0]!a}; {alike[0]!a} looks like it: rename one")
        raise unusable(path, f"no class {strange[0]!r}; the classes are {', '.join(classes)}")
    return [numbers[composed(name)] for name in names]


def _look(name: str) -> str:
    """Returns what a name looks like: without case, spaces, accents and other forms of one letter."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(mark for mark in plain if mark.isalnum() and not unicodedata.combining(mark))
