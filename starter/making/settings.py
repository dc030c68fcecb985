"""The settings of `unseen build` by name: from options, a TOML file, a preset, or a build's record."""

import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from starter.tracks.accuracy.settings import AccuracySettings
from starter.tracks.ood.settings import OodSettings
from starter.tracks.settings import Settings, read_record
from submission import UnusableInput
from submission.competition import RECORD
from submission.files import ABANDONED, sweep, write_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TRACKS: dict[str, type[Settings]] = {"accuracy": AccuracySettings, "ood": OodSettings}


def fields_of(track: str) -> dict[str, FieldInfo]:
    """Returns every setting of a track by its name, "track" left out."""
    return {name: field for name, field in TRACKS[track].model_fields.items() if name != "track"}


def extra_of(field: FieldInfo) -> dict[str, Any]:
    """Returns what a setting says of its option: "metavar" and "often"."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def flag_of(name: str) -> str:
    """Returns the option of a setting, which is given once for each value of a list.

    >>> flag_of("set_size"), flag_of("classifiers")
    ('--set-size', '--classifier')
    """
    fields = {name: field for track in TRACKS for name, field in fields_of(track).items()}
    word = name.removesuffix("s") if name in fields and fields[name].annotation == tuple[str, ...] else name
    return f"--{word.replace('_', '-')}"


def settings_of(track: str, chosen: Mapping[str, object]) -> Settings:
    """Returns the settings of a track: the values in `chosen`, and defaults for all others."""
    if track not in TRACKS:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(TRACKS)}")
    try:
        return TRACKS[track].model_validate_json(json.dumps(chosen, default=str))
    except ValidationError as error:
        raise UnusableInput(_message(track, error.errors()[0])) from error


def _message(track: str, found: ErrorDetails) -> str:
    """Returns one line about a value that pydantic refuses."""
    if found["type"] == "value_error":
        problem = str(found["ctx"]["error"])
    elif found["type"] == "extra_forbidden":
        problem = f"there is no such setting of the {track} track"
    else:
        problem = f"{found['msg']}, got {found['input']!r}"
    return f"{flag_of(str(found['loc'][0]))}: {problem}" if found["loc"] else problem


def differences(begun: Settings, asked: Settings) -> list[str]:
    """Returns a line for each setting whose value differs."""
    mine, theirs = begun.model_dump(mode="json"), asked.model_dump(mode="json")
    if mine["track"] != theirs["track"]:
        return [f"--track: {mine['track']} here, {theirs['track']} asked for"]
    return [
        f"{flag_of(name)}: {mine[name]} here, {theirs[name]} asked for"
        for name in mine
        if mine[name] != theirs[name]
    ]


def read_file(path: Path) -> dict[str, Any]:
    """Returns the settings in a TOML file by name, with "track" where it stands there."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnusableInput(f"--settings {path} cannot be read as TOML: {error}") from error


def write_file(path: Path, settings: Settings) -> None:
    """Write every setting of the track as TOML, each below its help, such that `read_file` gives the same."""
    if path.exists():
        raise UnusableInput(f"--write-settings {path} exists: name a new file")
    values = settings.model_dump(mode="json")
    lines = [
        f"# The settings of a competition: unseen build DIR --settings {path.name}",
        "# Defaults are in brackets and apply to lines that you delete; an option overrides its line.",
        "",
        "# accuracy (of classifiers), or ood (metrics of OOD detectors).",
        f'track = "{values["track"]}"',
    ]
    for name in fields_of(values["track"]):
        line = (
            f"{name} = {json.dumps(values[name], ensure_ascii=False)}"  # strings and lists of TOML are JSON's
        )
        lines += ["", f"# {help_of(name)}", line if values[name] is not None else f"# {name} ="]
    write_text(path, "\n".join(lines) + "\n")


def help_of(name: str) -> str:
    """Returns the help of a setting with its defaults: `48; ood 40` where the tracks differ."""
    found = {track: fields_of(track)[name] for track in TRACKS if name in fields_of(track)}
    shown = {track: _shown(field.default) for track, field in found.items()}
    first, *others = shown
    defaults = "; ".join([shown[first], *(f"{o} {shown[o]}" for o in others if shown[o] != shown[first])])
    text = " ".join((found[first].description or "").split())
    return f"{text} [{defaults}]" if defaults else text


def _shown(default: object) -> str:
    """Returns a default as readable text; "" for none, and for an on/off setting."""
    if default is None or isinstance(default, bool):
        return ""
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


@contextmanager
def claim(
    root: Path, settings: Settings, test_seed: int | None, device: str = "cpu"
) -> Iterator[tuple[Settings, int]]:
    """Yield the settings with engine and precision, and the seed of everything hidden, as recorded in `root`.

    Meanwhile no other build can run there. Nobody has seen anything of a build without public files, so
    that it may be begun anew with other settings.
    """
    record = root / RECORD
    if not record.exists() and root.exists() and any(path.name != "private" for path in root.iterdir()):
        raise UnusableInput(f"{root} is not empty and was not made by `unseen build`: name another folder")
    record.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        lock = FileLock(record.with_name(".lock"), blocking=False).acquire()
    except Timeout:
        raise UnusableInput(
            f"another build is at work in {root}: wait for it, or name another folder"
        ) from None
    with lock:
        if record.exists() and (root / "public").exists():
            yield _continued(root, settings, test_seed, device)
        else:
            settings = settings.settled(device)
            seed = secrets.randbits(63) if test_seed is None else test_seed
            record.unlink(missing_ok=True)
            add_to_record(root, settings=settings.model_dump(mode="json"), test_seed=seed)
            yield settings, seed


def _continued(root: Path, settings: Settings, test_seed: int | None, device: str) -> tuple[Settings, int]:
    """Returns settings and test seed of a build that was begun with the same ones."""
    found = read_record(root, "settings", "test_seed")
    before = settings_of(found["settings"].pop("track"), found["settings"])
    settings = settings.settled(device, before)
    changed = differences(before, settings)
    if test_seed is not None and test_seed != found["test_seed"]:
        changed.append("--test-seed: another one than the folder was begun with")
    if changed:
        raise UnusableInput(
            f"{root} was built with other settings; name another folder.\n  " + "\n  ".join(changed)
        )
    sweep(root, age=ABANDONED if (root / "public/competition.json").exists() else 0)
    return settings, found["test_seed"]


def add_to_record(root: Path, **more: object) -> None:
    """Add `more` (plain JSON values) to the build's record."""
    write_text(root / RECORD, json.dumps({**read_record(root), **more}, indent=1) + "\n")
    (root / RECORD).chmod(0o600)


def check_inputs(root: Path, inputs: Mapping[str, str]) -> None:
    """Record the hashes of the build's inputs, or refuse those that differ from an earlier run's."""
    found = read_record(root).get("inputs", inputs)
    if found != inputs:
        changed = min(name for name in found.keys() | inputs.keys() if found.get(name) != inputs.get(name))
        raise UnusableInput(
            f"{changed} has changed since {root} was begun: restore it, or name another folder"
        )
    add_to_record(root, inputs=dict(inputs))
