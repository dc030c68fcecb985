"""The folder of a build: its claim and record, the licences of the images, and the public test sets.

A build claims its folder: it records its settings there, and no other build can run there at the same time.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from starter.making.settings import differences, settings_of
from starter.observing.cache import NOTE
from starter.tracks.plan import Key
from starter.tracks.settings import Settings
from submission import UnusableInput
from submission.files import ABANDONED, sweep, write_text
from submission.random import PUBLIC

LONGEST_NAME = 200
"""Largest number of characters of a folder's name, which is the competition's name."""
PUBLIC_SHARE = 0.3
"""Fraction of the test sets that are scored publicly while the competition runs."""
SPLIT_DRAWS = 100
"""Number of random splits from which one with the required public size is taken."""
NAMED = {
    "cifar10": (
        "its authors state none (https://www.cs.toronto.edu/~kriz/cifar.html); cite A. Krizhevsky, Learning "
        "Multiple Layers of Features from Tiny Images, 2009"
    ),
    "glyphs": (
        "rendered from what these ship: scikit-learn (BSD-3-Clause; UCI's handwritten digits, CC BY 4.0; "
        "photographs china.jpg and flower.jpg, CC BY 2.0), Matplotlib (its licence; typefaces DejaVu, STIX "
        "and Computer Modern; sample data) and OpenCV (Apache-2.0; Hershey fonts)"
    ),
}
"""Licences of the named sources."""


@contextmanager
def claimed(
    root: Path, settings: Settings, test_seed: int | None, device: str = "cpu"
) -> Iterator[tuple[Settings, int]]:
    """Claim `root` for a build of `settings`, or continue an earlier build of the same settings.

    A build that fails before it has written anything leaves no trace in `root`.

    Args:
        root: Folder of the competition.
        settings: Settings of the build.
        test_seed: Seed of everything hidden; by default from the system's entropy (others are for tests).
        device: Device that runs the classifiers; engine and precision are chosen for it.

    Yields:
        The settings with engine and precision, and the seed of everything hidden.
    """
    if test_seed is not None and not 0 <= test_seed < 2**63:
        raise UnusableInput(f"--test-seed must lie in 0..2^63 - 1, got {test_seed}")
    name = root.resolve().name
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise UnusableInput(
            f"{name!r} cannot name a competition: at most {LONGEST_NAME} printable characters"
        )
    record = _record(root)
    if not record.exists() and root.exists() and any(path.name != "private" for path in root.iterdir()):
        raise UnusableInput(f"{root} is not empty and was not made by `unseen build`: name another folder")
    begun, new = not record.exists(), [folder for folder in (record.parent, root) if not folder.exists()]
    record.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        with FileLock(record.with_name(".lock"), blocking=False):
            try:
                yield _begun(root, settings, test_seed, device)
            except Exception:
                if begun and not any((root / made).exists() for made in ("public", "cache")):
                    _remove_traces(root, new)
                raise
    except Timeout:
        raise UnusableInput(
            f"another build is at work in {root}: wait for it, or name another folder"
        ) from None


def _begun(root: Path, settings: Settings, test_seed: int | None, device: str) -> tuple[Settings, int]:
    """Returns settings and test seed of a build that begins, or continues with the same settings."""
    record = _record(root)
    if not record.exists() or not (root / "public").exists():
        settings = settings.settled(device)
        seed = secrets.randbits(63) if test_seed is None else test_seed
        record.unlink(missing_ok=True)
        add_to_record(root, settings=settings.model_dump(mode="json"), test_seed=seed)
        return settings, seed
    found = _read(root)
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


def _record(root: Path) -> Path:
    """Returns the path of the organizer's record of the build."""
    return root / "private/build.json"


def _read(root: Path) -> dict[str, Any]:
    path = _record(root)
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        assert not found or {"settings", "test_seed"} <= found.keys()
    except (ValueError, AssertionError) as error:
        raise UnusableInput(f"{path} is damaged: restore it from a copy, or name another folder") from error
    return found


def add_to_record(root: Path, **more: object) -> None:
    """Add `more` (plain JSON values) to the build's record."""
    write_text(_record(root), json.dumps({**_read(root), **more}, indent=1) + "\n")
    _record(root).chmod(0o600)


def check_inputs(root: Path, inputs: Mapping[str, str]) -> None:
    """Record the hashes of the build's inputs, or refuse those that differ from an earlier run's."""
    found = _read(root).get("inputs")
    if found is None:
        add_to_record(root, inputs=dict(inputs))
    elif found != inputs:
        changed = min(name for name in found.keys() | inputs.keys() if found.get(name) != inputs.get(name))
        raise UnusableInput(
            f"{changed} has changed since {root} was begun: restore it, or name another folder"
        )


def _remove_traces(root: Path, new: Sequence[Path]) -> None:
    """Remove the files of a claim from `root`, and the folders in `new`, inner ones first."""
    for trace in ("private/build.json", NOTE, "private/.lock"):
        (root / trace).unlink(missing_ok=True)
    for folder in new:
        with suppress(OSError):  # something else was put there meanwhile
            folder.rmdir()


def licences(source: str, licence: str, paths: Sequence[str] = (), tested: bool = False) -> str:
    """Returns the text of ``public/LICENCES.txt``.

    Sources of test sets are not named, since they would reveal the kind of shift.

    Args:
        source: Name of a source, or a path.
        licence: Licence of the images at paths; "" if it is not stated.
        paths: Paths of the other images that participants get.
        tested: True if test sets come from elsewhere.

    >>> print(licences("photos", "CC0 1.0", tested=True), end="")
    photos: CC0 1.0
    test sets from elsewhere: CC0 1.0
    """
    stated = licence or "not stated"
    lines = {source: NAMED.get(source, stated)} | dict.fromkeys(paths, stated)
    text = "".join(f"{Path(path).absolute().name}: {terms}\n" for path, terms in lines.items())
    return text + (f"test sets from elsewhere: {stated}\n" if tested else "")


def public_sets(planned: Sequence[Key], seed: int) -> set[str]:
    """Returns the names of the public test sets.

    They are `PUBLIC_SHARE` of all sets and, as nearly as families allow, of each group. A family is public or
    private as a whole, and every group keeps a private one: of a hundred sets 30 are public and 70 private,
    unless their families are too large. If no set would be public, the smallest family is; if there is only
    one family, its first set is.

    Args:
        planned: Name, group and family of every test set.
        seed: Seed of the draw, which must be kept private.
    """
    rng = PUBLIC(seed)
    families: dict[tuple[str, str], list[str]] = {}
    for name, group, family in planned:
        families.setdefault((group, family), []).append(name)
    wanted = round(PUBLIC_SHARE * len(planned))
    draws = (_draw_public(families, rng) for _ in range(SPLIT_DRAWS))
    public = min(draws, key=lambda drawn: abs(len(drawn) - wanted))
    if not public:
        smallest = min(families.values(), key=len)
        public = smallest if len(families) > 1 else smallest[:1]
    return set(public)


def _draw_public(families: Mapping[tuple[str, str], Sequence[str]], rng: np.random.Generator) -> list[str]:
    """Returns families in random order, group by group, each if it still fits into the share so far.

    Groups without small families come first, and small families of other groups fill the remainder.
    """
    groups: dict[str, list[Sequence[str]]] = {}
    for (group, _), sets in sorted(families.items()):
        groups.setdefault(group, []).append(sets)
    public: list[str] = []
    seen = 0
    for found in sorted(groups.values(), key=lambda found: -min(map(len, found))):
        seen += sum(map(len, found))
        for i in rng.permutation(len(found))[:-1]:
            if len(public) + len(found[i]) <= round(PUBLIC_SHARE * seen):
                public += found[i]
    return public
