"""Claiming a folder for one build: what it was begun with, and that nobody else builds there at the time."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from starter.build.plan import Settings
from starter.build.settings import read_settings
from starter.observing.cache import ELSEWHERE
from submission import UnusableInput
from submission.files import write_text

LONGEST_NAME = 200
"""Characters of a folder's name, which is the competition's."""


@dataclass(frozen=True)
class Claim:
    """A folder that this process builds in.

    Attributes:
        root: the competition's folder.
        settings: what is built.
        test_seed: of everything hidden.
    """

    root: Path
    settings: Settings
    test_seed: int

    @property
    def path(self) -> Path:
        """The organizer's record of the build."""
        return self.root / "private/build.json"

    def record(self, **more: object) -> None:
        """Write what the record holds so far, and `more` (plain JSON values)."""
        begun = {"settings": self.settings.record(), "test_seed": self.test_seed}
        found = _read(self.path) if self.path.exists() else {}
        write_text(self.path, json.dumps({**begun, **found, **more}, indent=1) + "\n")
        self.path.chmod(0o600)

    def check_inputs(self, inputs: Mapping[str, str]) -> None:
        """Keep the hashes of what the build reads; or compare them, where it was begun before.

        Raises:
            UnusableInput: something has changed since; the option that names it is told.
        """
        found = _read(self.path).get("inputs")
        if found is None:
            self.record(inputs=dict(inputs))
        elif found != inputs:
            changed = sorted(
                name for name in found.keys() | inputs.keys() if found.get(name) != inputs.get(name)
            )
            raise UnusableInput(
                f"{changed[0]} has changed since {self.root} was begun: restore it, or name another folder"
            )


@contextmanager
def claimed(root: Path, settings: Settings, test_seed: int | None) -> Iterator[Claim]:
    """Take `root` for a build of `settings`, alone; or find that it was taken for the same ones before.

    A build that fails before it has made anything leaves no trace: `root` is as it was.

    Args:
        root: the competition's folder.
        settings: what is built.
        test_seed: of everything hidden; drawn from the system's entropy unless given (for tests).

    Raises:
        UnusableInput: `root` holds something else, was begun with other settings (they are named), its record
            is damaged, or another build is at work there.
    """
    if test_seed is not None and not 0 <= test_seed < 2**63:
        raise UnusableInput(f"--test-seed must lie in 0..2^63 - 1, got {test_seed}")
    name = root.resolve().name
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise UnusableInput(
            f"{name!r} cannot name a competition: at most {LONGEST_NAME} printable characters"
        )
    record = root / "private/build.json"
    if not record.exists() and root.exists() and any(path.name != "private" for path in root.iterdir()):
        raise UnusableInput(f"{root} is not empty and was not made by `unseen build`: name another folder")
    begun, new = not record.exists(), [folder for folder in (record.parent, root) if not folder.exists()]
    record.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        with FileLock(record.with_name(".lock"), blocking=False):
            try:
                yield _begun(root, settings, test_seed)
            except Exception:
                if begun and not any((root / made).exists() for made in ("public", "cache")):
                    _remove_traces(root, new)
                raise
    except Timeout:
        raise UnusableInput(
            f"another build is at work in {root}: wait for it, or name another folder"
        ) from None


def _begun(root: Path, settings: Settings, test_seed: int | None) -> Claim:
    record = root / "private/build.json"
    if not record.exists() or not (root / "public").exists():
        claim = Claim(root, settings, secrets.randbits(63) if test_seed is None else test_seed)
        record.unlink(missing_ok=True)
        claim.record()
        return claim
    found = _read(record)
    differences = read_settings(found["settings"]).differences(settings)
    if test_seed is not None and test_seed != found["test_seed"]:
        differences.append("--test-seed: another one than the folder was begun with")
    if differences:
        raise UnusableInput(
            f"{root} was built with other settings; name another folder.\n  " + "\n  ".join(differences)
        )
    if not (root / "public/competition.json").exists():
        remove_strays(root)
    return Claim(root, settings, found["test_seed"])


def _remove_traces(root: Path, new: Sequence[Path]) -> None:
    """Remove what a claim has put in `root`, and the folders that are `new`, the inner first."""
    for trace in ("private/build.json", ELSEWHERE, "private/.lock"):
        (root / trace).unlink(missing_ok=True)
    for folder in new:
        with suppress(OSError):  # something else was put there meanwhile
            folder.rmdir()


def remove_strays(root: Path) -> None:
    """Remove what killed processes left half written in a folder in which nobody is at work now."""
    for stray in root.rglob(".*.tmp"):
        stray.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        read_settings(found["settings"])
        if not 0 <= found["test_seed"] < 2**63:
            raise ValueError("test_seed")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableInput(
            f"{path} is damaged ({type(error).__name__}: {error}): restore it from a copy, or name "
            "another folder"
        ) from error
    return found
