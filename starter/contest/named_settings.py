"""The settings of `unseen build` by name: from options, a TOML file, a preset, or a build's record."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from starter.contest.accuracy.settings import AccuracySettings
from starter.contest.ood.settings import OodSettings
from starter.contest.settings import Settings
from submission import UnusableInput
from submission.files import write_text
from submission.tracks import require_track

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TRACKS: dict[str, type[Settings]] = {"accuracy": AccuracySettings, "ood": OodSettings}
PRESETS: dict[str, dict[str, dict[str, object]]] = {
    "datacv2023": {
        "accuracy": {
            "source": "cifar10",
            "classifiers": ("resnet56=official", "repvgg_a0=official"),
            "train_sets": 1000,
            "val_sets": 0,
            "test_sets": 100,
            "set_size": 10_000,
            "datacv_splits": True,
        }
    },
    "small": {
        "accuracy": {
            "train_sets": 40,
            "val_sets": 8,
            "test_sets": 40,
            "set_size": 200,
            "ops_per_set": (1, 3),
        },
        "ood": {"train_sets": 40, "val_sets": 8, "test_sets": 16, "set_size": 200},
    },
}
"""Settings of whole competitions, by the preset's name and the track.

`datacv2023` is the DataCV challenge of CVPR 2023: two classifiers, a thousand meta-train sets of the whole
test split of CIFAR-10 under the default group. Its validation sets, CIFAR-10.1 and corruptions of it, are
given by ``--val-from``. `small` is built in seconds on the embedded data.
"""


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


def preset(name: str, track: str) -> dict[str, object]:
    """Returns the settings of a preset. Raises UnusableInput if the track has no preset of this name."""
    found = PRESETS.get(name, {}).get(require_track(track))
    if found is None:
        known = ", ".join(each for each in PRESETS if track in PRESETS[each])
        raise UnusableInput(f"--preset {name!r} is none of the {track} track, which has {known}")
    return found


def settings_of(track: str, chosen: Mapping[str, object]) -> Settings:
    """Returns the settings of a track: the values in `chosen`, and defaults for all others."""
    kind = TRACKS[require_track(track)]
    try:
        return kind.model_validate_json(json.dumps(chosen, default=str))
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


def help_of(name: str, remark: str = "") -> str:
    """Returns the help of a setting, a remark, and its defaults: `48; ood 40` where the tracks differ."""
    found = {track: fields_of(track)[name] for track in TRACKS if name in fields_of(track)}
    shown = {track: _shown(field.default) for track, field in found.items()}
    first, *others = shown
    defaults = "; ".join([shown[first], *(f"{o} {shown[o]}" for o in others if shown[o] != shown[first])])
    words = [*(found[first].description or "").split(), remark, f"[{defaults}]" if defaults else ""]
    return " ".join(filter(None, words))


def _shown(default: object) -> str:
    """Returns a default as readable text; "" for none, and for an on/off setting."""
    if default is None or isinstance(default, bool):
        return ""
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
