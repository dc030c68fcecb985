"""``public/competition.json``: the JSON file that describes a competition, read strictly."""

import json
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from submission.errors import UnusableInput
from submission.files import read_head

FORMAT = "unseen-competition"
VERSION = 1
_LARGEST = 8 << 20
"""Largest size of the file in bytes, enough for 50,000 sets with their files."""


def description_text(document: Mapping[str, object]) -> str:
    """Returns the text of the file: the fields in `document` with format and version, sorted by name."""
    document = dict(sorted({**document, "format": FORMAT, "version": VERSION}.items()))
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_description(root: Path) -> dict[str, Any]:
    """Returns the fields of the competition in the folder `root`, not yet checked one by one.

    Raises:
        UnusableInput: the folder does not exist, is not a complete competition or has another format version,
            or its description is not valid JSON or too large; the message says which.
    """
    path = root / "public" / "competition.json"
    if not root.is_dir():
        raise UnusableInput(f"{root} is {'not a folder' if root.exists() else 'no such folder'}")
    if not path.is_file():
        if (root / "competition.json").is_file():
            raise UnusableInput(f"{root} is a part of a competition: give the folder above it")
        if (root / "public").is_dir() or (root / "private").is_dir():
            raise UnusableInput(f"{root} is only half built: run the same `unseen build` again to finish it")
        raise UnusableInput(f"{root} is not a competition: it holds no public/competition.json")
    document = _load(path)
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise UnusableInput(f"{path} does not describe a competition: its format is not {FORMAT!r}")
    version = document.pop("version", None)
    if version != VERSION or isinstance(version, bool):
        raise UnusableInput(
            f"{path} has format version {reprlib.repr(version)}, this kit reads {VERSION}: "
            "use the release of unseen that built it"
        )
    return document


def _load(path: Path) -> object:
    data = read_head(path, _LARGEST + 1)
    if len(data) > _LARGEST:
        raise UnusableInput(f"{path} is damaged: it is larger than {_LARGEST:,} bytes; unpack or restore it")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as error:
        raise UnusableInput(
            f"{path} is damaged: it is not valid JSON ({error}); unpack or restore it"
        ) from error


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Returns a JSON object; refuses a name that is given twice, since one of its values would be lost."""
    document: dict[str, object] = {}
    for name, value in pairs:
        if name in document:
            raise ValueError(f"{reprlib.repr(name)} is given twice in one object")
        document[name] = value
    return document


def _integer(text: str) -> int:
    """Returns a whole number of at most 20 characters; reading a million digits would take minutes."""
    if len(text) > 20:
        raise ValueError(f"a whole number of {len(text):,} digits")
    return int(text)


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not a number of JSON")
