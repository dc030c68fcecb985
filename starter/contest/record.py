"""The record of a build, ``private/build.json``: settings, test seed, and hashes of its inputs."""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from starter.contest.named_settings import differences, settings_of
from starter.contest.settings import Settings
from submission.competition import RECORD
from submission.errors import UnusableInput
from submission.files import ABANDONED, sweep, write_text


def guessable(seed: int) -> str:
    """Returns what is wrong with a test seed that others can find by trying all; "" for a larger one."""
    text = "the test seed is below 2^32 and can be guessed: build another folder without --test-seed"
    return text if seed < 2**32 else ""


def read_record(root: Path, *needed: str) -> dict[str, Any]:
    """Returns the record of the build in `root`, which must have the `needed` keys; {} if there is none."""
    path = root / RECORD
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        assert not found or found.keys() >= set(needed)
    except (ValueError, AssertionError) as error:
        raise UnusableInput(f"{path} is damaged: restore it from a copy") from error
    return found


def check_seed(settings: Settings, test_seed: int | None) -> None:
    """Refuse a test seed with which others could make the hidden sets of a hidden competition."""
    if settings.hidden and test_seed is not None and (problem := guessable(test_seed)):
        raise UnusableInput(problem)


@contextmanager
def claim(
    root: Path, settings: Settings, test_seed: int | None, device: str = "cpu"
) -> Iterator[tuple[Settings, int]]:
    """Yield settings and the seed of everything hidden, as recorded, while no other build can run there."""
    check_seed(settings, test_seed)
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
        else:  # nobody has seen anything of a build without public files: it may be begun anew
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
