"""``public/competition.json``: the JSON file that describes a competition, read strictly."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from submission.errors import UnusableInput
from submission.files import write_text

FORMAT = "unseen-competition"
VERSION = 1


def write_description(root: Path, document: Mapping[str, object]) -> None:
    """Write the fields in `document`, sorted by name, with format and version, atomically."""
    document = dict(sorted({**document, "format": FORMAT, "version": VERSION}.items()))
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(root / "public" / "competition.json", text + "\n")


def read_description(root: Path) -> dict[str, Any]:
    """The fields of the competition in the folder `root`, not yet checked one by one.

    Raises:
        UnusableInput: there is no such folder, it is no competition, only part of one, of another format
            version, or its description is not valid JSON; the message says which, and what to do.
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
            f"{path} has format version {version!r}, this kit reads {VERSION}: "
            "use the release of unseen that built it"
        )
    return document


def _load(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except OSError as error:
        raise UnusableInput(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableInput(f"{path} is damaged: it is not valid JSON ({error})") from error


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """A JSON object, refused where a name stands twice: of two sets of one name, one would vanish."""
    document: dict[str, object] = {}
    for name, value in pairs:
        if name in document:
            raise ValueError(f"{name!r} stands twice in one object")
        document[name] = value
    return document


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not a number of JSON")
