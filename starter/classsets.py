"""OOD sets by meaning: one of each near or far class of a manifest."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from starter.classimages import class_files, load_class_images
from starter.imagefiles import unusable
from starter.imageset import ImageSet
from starter.manifest import T1, T2, ClassEntry, read_manifest
from starter.oodsets import kept_sets, set_name

READINGS = {"": None, "T1": T1, "T2": T2}
"""The oodness up to which a class is ID; "" takes a manifest as assigned."""


def load_class_sets(
    manifest: str,
    root: str,
    image_size: tuple[int, int],
    reading: str = "",
    exclude: Iterable[str] = (),
    limit: int | None = None,
    seed: int = 0,
) -> dict[str, ImageSet]:
    """The OOD sets of a manifest by name, CLASS_near_SOURCE or CLASS_far_SOURCE: a class is a family.

    Args:
        manifest: the CSV file; ID and dropped classes are left out.
        root: where the sources' class folders are; see `load_class_images`.
        image_size: (h, w) to which images are resized.
        reading: a key of `READINGS`.
        exclude: names of sets to leave out.
        limit: at most so many images of a class, drawn by `seed`.
        seed: of the draw.

    Raises:
        UnusableInput: as `read_manifest` and `load_class_images`; no near or far class, two of a name, or no
            set of a name in `exclude`.
    """
    chosen = _chosen(manifest, reading, exclude)
    found = load_class_images(list(chosen.values()), Path(root), image_size, limit, seed)
    assert found.labels is not None
    return {
        name: ImageSet(name, found.images[np.flatnonzero(found.labels == row)])
        for row, name in enumerate(chosen)
    }


def count_class_images(
    manifest: str, root: str, reading: str = "", exclude: Iterable[str] = (), limit: int | None = None
) -> dict[str, int]:
    """How many images each set has that `load_class_sets` would give; none is read.

    Raises:
        UnusableInput: as `load_class_sets`, but for damaged images.
    """
    chosen = _chosen(manifest, reading, exclude)
    counts = map(len, class_files(list(chosen.values()), Path(root)))
    return {
        name: count if limit is None else min(count, limit)
        for name, count in zip(chosen, counts, strict=True)
    }


def class_set_name(entry: ClassEntry) -> str:
    """The name of a class's set: its family, up to the first underscore, is the class.

    >>> class_set_name(ClassEntry("cifar100", "pickup_truck", "", None, 2, "near"))
    'pickup-truck_near_cifar100'
    """
    name = set_name(entry.name.replace("_", "-"))
    return f"{name}_{entry.assignment}_{set_name(entry.source)}"


def _chosen(manifest: str, reading: str, exclude: Iterable[str]) -> dict[str, ClassEntry]:
    """The OOD classes by their sets' names."""
    classes: Sequence[ClassEntry] = read_manifest(manifest, READINGS[reading])
    found: dict[str, ClassEntry] = {}
    for entry in classes:
        if not entry.ood:
            continue
        name = class_set_name(entry)
        if name in found:
            raise unusable(
                Path(manifest), f"{entry.name!r} reads like {found[name].name!r}: rename one of them"
            )
        found[name] = entry
    if not found:
        raise unusable(Path(manifest), "no class is near or far, so that there is no OOD set")
    return {name: found[name] for name in kept_sets(list(found), (), exclude)}
