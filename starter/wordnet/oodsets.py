"""OOD sets by meaning: one set for each near or far class of a manifest, or for several together."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from starter.images.imageset import ImageSet
from starter.sources.oodsets import kept_sets, set_name
from starter.wordnet.images import class_files, load_class_images
from starter.wordnet.manifest import T1, T2, ClassEntry, read_manifest
from submission.errors import UnusableInput, unusable
from submission.ids import check_set_name

READINGS = {"": None, "T1": T1, "T2": T2}
"""The oodness up to which a class is ID; "" takes a manifest as assigned."""


def manifest_entries(manifest: Path, reading: str = "") -> tuple[ClassEntry, ...]:
    """Returns the classes of a manifest, after a check that no meaning is assigned in two ways.

    Args:
        manifest: CSV file.
        reading: Key of `READINGS`.
    """
    check_reading(reading)
    entries = read_manifest(manifest, READINGS[reading])
    synsets = ((entry.synset, entry) for entry in entries if entry.synset and entry.assignment != "dropped")
    _check_meanings(manifest, synsets)
    return entries


def check_reading(reading: str) -> None:
    """Raise UnusableInput if `reading` is not a key of `READINGS`."""
    if reading not in READINGS:
        raise UnusableInput(f"--id-up-to must be T1 or T2, got {reading!r}")


def load_class_sets(
    manifest: str,
    root: str,
    image_size: tuple[int, int],
    reading: str = "",
    classes_per_set: int = 1,
    exclude: Iterable[str] = (),
    limit: int | None = None,
    seed: int = 0,
) -> dict[str, ImageSet]:
    """Returns the OOD sets of a manifest by name: FAMILY_near_SOURCE or FAMILY_far_SOURCE.

    The family is the part before the first underscore and stands for a meaning. Classes of one synset have
    one family, by whatever names their sources have them, so that no split of families has a meaning on both
    sides.

    Args:
        manifest: CSV file; ID and dropped classes are left out.
        root: Folder with the sources' class folders; see `load_class_images`.
        image_size: Height and width in pixels to which images are resized.
        reading: Key of `READINGS`.
        classes_per_set: Number of meanings to join in a set, all near or all far. The set and its family are
            named after the first. Meanings are joined in the order of their synsets' ids, in which WordNet
            has related ones side by side.
        exclude: Names of sets to leave out.
        limit: Largest number of images of a set, approximately, with equally many of each class, drawn by
            `seed`. None for all.
        seed: Seed of the draw.
    """
    chosen = _chosen(manifest, reading, classes_per_set, exclude)
    entries = [entry for members in chosen.values() for entry in members]
    found = load_class_images(entries, Path(root), image_size, _per_class(limit, classes_per_set), seed)
    assert found.labels is not None
    ends = np.cumsum([len(members) for members in chosen.values()])
    place = np.searchsorted(ends, found.labels, side="right")
    return {
        name: ImageSet(name, found.images[np.flatnonzero(place == row)]) for row, name in enumerate(chosen)
    }


def count_class_images(
    manifest: str,
    root: str,
    reading: str = "",
    classes_per_set: int = 1,
    exclude: Iterable[str] = (),
    limit: int | None = None,
) -> dict[str, int]:
    """Returns the number of images of each set of `load_class_sets`, without reading an image."""
    chosen = _chosen(manifest, reading, classes_per_set, exclude)
    files = iter(class_files([entry for members in chosen.values() for entry in members], Path(root)))
    most = _per_class(limit, classes_per_set)
    return {name: sum(len(next(files)[:most]) for _ in members) for name, members in chosen.items()}


def _per_class(limit: int | None, classes_per_set: int) -> int | None:
    return None if limit is None else -(-limit // classes_per_set)


def _chosen(
    manifest: str, reading: str, classes_per_set: int, exclude: Iterable[str]
) -> dict[str, tuple[ClassEntry, ...]]:
    """Returns the OOD classes of each set, by name of the set."""
    families = _families([entry for entry in manifest_entries(Path(manifest), reading) if entry.ood])
    if classes_per_set > 1:
        _check_meanings(Path(manifest), ((name, entry) for name in families for entry in families[name]))
    found: dict[str, tuple[ClassEntry, ...]] = {}
    for name, members in _joined(families, classes_per_set) if classes_per_set > 1 else _singly(families):
        own = members[0].name
        if name in found:
            raise unusable(Path(manifest), f"{own!r} reads like {found[name][0].name!r}: rename one of them")
        try:
            found[check_set_name(name)] = members
        except ValueError as error:
            raise unusable(Path(manifest), f"{own!r} cannot name a set, rename it: {error}") from error
    if not found:
        raise unusable(Path(manifest), "no class is near or far, so that there is no OOD set")
    return {name: found[name] for name in kept_sets(list(found), (), exclude)}


Families = dict[str, list[ClassEntry]]


def _families(entries: Sequence[ClassEntry]) -> Families:
    """Returns the classes of each meaning, by its name: the first class name that is not a synset's id."""
    named: dict[str, str] = {}
    for entry in entries:
        if entry.synset and entry.name != entry.synset:
            named.setdefault(entry.synset, entry.name)
    found: Families = {}
    for entry in entries:
        found.setdefault(_plain(named.get(entry.synset, entry.name)), []).append(entry)
    return found


def _singly(families: Families) -> list[tuple[str, tuple[ClassEntry, ...]]]:
    """Returns a set for each class, named also by the class where a source has two classes of a family."""
    sets: list[tuple[str, tuple[ClassEntry, ...]]] = []
    for family, members in families.items():
        sources = [member.source for member in members]
        for entry in members:
            own = _plain(entry.name)
            twice = sources.count(entry.source) > 1 and own != family
            name = f"{family}_{entry.assignment}_{_plain(entry.source)}" + f"-{own}" * twice
            sets.append((name, (entry,)))
    return sets


def _joined(families: Families, count: int) -> list[tuple[str, tuple[ClassEntry, ...]]]:
    """Returns sets of `count` families of one assignment, or of some more where `count` leaves a rest."""
    sets: list[tuple[str, tuple[ClassEntry, ...]]] = []
    for assigned in ("near", "far"):
        chosen = [family for family, members in families.items() if members[0].assignment == assigned]
        chosen.sort(key=lambda family: (families[family][0].synset, family))
        for part in np.array_split(chosen, max(1, len(chosen) // count)) if chosen else ():
            members = tuple(entry for family in part for entry in families[family])
            sets.append((f"{part[0]}_{assigned}_{len(part)}-classes", members))
    return sets


def _check_meanings(path: Path, meanings: Iterable[tuple[str, ClassEntry]]) -> None:
    """Check that no meaning is ID in one source and OOD in another, or both near and far."""
    seen: dict[str, ClassEntry] = {}
    for meaning, entry in meanings:
        other = seen.setdefault(meaning, entry)
        if other.assignment != entry.assignment:
            raise unusable(
                path,
                f"{meaning} is {other.assignment} as {other.source}/{other.name}, but "
                f"{entry.assignment} as {entry.source}/{entry.name}: assign both alike, or drop one",
            )


def _plain(name: str) -> str:
    """Returns the name of a class or source in the form that it has in a set's name.

    >>> _plain("Pickup_truck")
    'pickup-truck'
    """
    return set_name(name.replace("_", "-")).lower()
