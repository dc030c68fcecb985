"""The settings of a build in a TOML file of one's own: read, and written with a comment for each."""

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from starter.build.declared import problem_of, told
from starter.build.flags import shown_default
from starter.build.settings import PLANS, Settings, every_field, fields_of
from submission import UnusableInput
from submission.files import write_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_BYTES = 1 << 20


def read_file(path: Path) -> dict[str, Any]:
    """Returns the settings in a file by name, with "track" where it stands there.

    What is not there is not given.

    Raises:
        UnusableInput: the file cannot be read, or a key is unknown or its value of the wrong type or size;
            the message names file, key and fix.
    """
    known, found = every_field(), {}
    for name, value in _document(path).items():
        given = tuple(value) if isinstance(value, list) else value
        if name == "track":
            if given not in tuple(PLANS):  # a table and a list of lists have no hash
                raise UnusableInput(f"{path}: track must be {' or '.join(PLANS)}, got {given!r}")
        elif name not in known:
            close = get_close_matches(name, [*known, "track"], 1)
            fix = f"did you mean {close[0]}?" if close else "`unseen build --write-settings FILE` lists all"
            raise UnusableInput(f"{path}: there is no setting {name!r}: {fix}")
        elif problem := problem_of(known[name], given):
            raise UnusableInput(f"{path}: {name} {problem}")
        found[name] = given
    return found


def check_track(path: Path, found: dict[str, Any], track: str) -> None:
    """Raise UnusableInput where a setting of the file is of another track than that of the competition."""
    known = fields_of(track)
    for name in found:
        if name not in known and name != "track":
            raise UnusableInput(
                f"{path}: {name} is not of the {track} track, which this competition is of: leave it out"
            )


def write_file(path: Path, settings: Settings) -> None:
    """Write every setting of the track, each below what it is, such that `read_file` gives the same.

    Raises:
        UnusableInput: there is such a file.
    """
    if path.exists():
        raise UnusableInput(f"--write-settings {path} exists: name a new file")
    values, known = settings.values(), fields_of(settings.plan.track)
    lines = [
        f"# The settings of a competition: unseen build DIR --settings {path.name}",
        "# Defaults are in brackets and apply to lines that you delete; an option overrides its line.",
        "",
        "# accuracy (of classifiers), or ood (metrics of OOD detectors).",
        f"track = {_toml(settings.plan.track)}",
    ]
    for name, field in known.items():
        default = f" [{shown_default(field)}]" if shown_default(field) else ""
        lines += ["", f"# {told(field).help}{default}", f"{name} = {_toml(values[name])}"]
    write_text(path, "\n".join(lines) + "\n")


def _document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnusableInput(
                f"--settings {path}: more than {MOST_BYTES >> 20} MB: this is no settings file"
            )
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, UnusableInput):
            raise
        raise UnusableInput(f"--settings {path} cannot be read as TOML: {error}") from error


def _toml(value: object) -> str:
    r"""Returns a setting's value as TOML.

    >>> print(_toml(("a", 'say "b"')), _toml(True), _toml(3))
    ["a", "say \"b\""] true 3
    """
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else _quoted(str(value))


def _quoted(text: str) -> str:
    """Returns a TOML string: what cannot be printed is escaped by its number."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
