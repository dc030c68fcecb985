"""Sets of images in the layouts of other collections: .npy files, recognised by their names.

| files in a folder | collection | sets |
|---|---|---|
| ``data.npy``, ``labels.npy`` | a validation set of DataCV | one; folders of such folders hold several |
| ``new_data_000.npy``, ..., ``labels.npy`` | DataCV's meta-train sets | one per file, with the same labels |
| ``cifar10.1_v6_data.npy``, ``cifar10.1_v6_labels.npy`` | CIFAR-10.1 | one per pair |
| ``001.npy``, ... | DataCV's test sets | one per file; ``labels.npy`` is optional |
| ``fog.npy``, ..., ``labels.npy`` | CIFAR-10-C | five per file: equal blocks, one per severity |

Images are uint8 (n, h, w, 3), labels are class indices (n,). Sources: the DataCV 2023 kit
(github.com/xingjianleng/autoeval_baselines); CIFAR-10-C, Hendrycks & Dietterich (ICLR 2019); CIFAR-10.1,
Recht et al. (arXiv 1806.00451).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starter.images.arrays import map_npy, read_npy
from starter.images.imageset import ImageSet
from starter.images.reading import Fit
from submission.errors import unusable

SEVERITIES = 5
"""Number of equal blocks in a file of CIFAR-10-C, mildest first."""


@dataclass(frozen=True)
class StoredSet:
    """A set in .npy files, before reading.

    Attributes:
        path: Path of its folder or its file of images; for a severity, the path of the file without ".npy",
            followed by the severity, as in ``CIFAR-10-C/fog/3``.
        name: Last part of the path without the severity, as in "fog".
        images: File of the images.
        labels: File of the labels; None for none.
        severity: Severity, 1 to 5, if the file holds five blocks; else None.
    """

    path: Path
    name: str
    images: Path
    labels: Path | None
    severity: int | None = None

    def __len__(self) -> int:
        """Returns the number of images."""
        return len(_rows(self))


def stored_sets(path: Path) -> tuple[StoredSet, ...]:
    """Returns the sets that `path` names, sorted; none where it leads to no .npy file of images.

    `path` is a folder as above (for ``data.npy`` up to two levels above it), a file of images, or what
    `StoredSet.path` is, with or without the severity. Files of any other name are taken for CIFAR-10-C's; in
    a folder that holds sets of another layout they do not count.
    """
    try:
        if path.is_dir():
            found = _sets_in(_visible(path, "*.npy", "*/data.npy", "*/*/data.npy"))
            return tuple(each for each in found if each.severity is None) or found
        files = (path, Path(f"{path}.npy"), Path(f"{path.parent}.npy"))
        found = _sets_in([file for file in files if file.suffix == ".npy" and file.is_file()])
    except OSError:  # a name too long, a folder that may not be entered
        return ()
    return tuple(each for each in found if path in (each.images, each.path, each.path.parent))


def stored_set(path: Path) -> StoredSet | None:
    """Returns the one set that `path` names; None where it leads to no .npy file."""
    found = stored_sets(path)
    if len(found) > 1:
        raise unusable(path, f"holds {len(found)} sets; name one, as in {found[0].path}")
    return found[0] if found else None


def load_stored(
    stored: StoredSet,
    classes: Sequence[str],
    rows: NDArray[np.integer] | None = None,
    fit: Fit | None = None,
) -> ImageSet:
    """Returns the images of a set, with labels if it has some; other rows of its files are not read.

    Args:
        stored: Set to read.
        classes: Names of the classes in label order; those of CIFAR-10, as usual, for the collections above.
        rows: Indices (m,) of the images, in their order; None for all.
        fit: Size of the images; by default their own.
    """
    chosen = np.array(_rows(stored))
    if rows is not None:
        chosen = chosen[rows]
    labels = None if stored.labels is None else _labels(stored, stored.labels, classes)[chosen]
    images = read_npy(stored.images, chosen)
    images = (fit or Fit()).all(images)
    return ImageSet(stored.name, images, labels)


def _sets_in(files: Sequence[Path]) -> tuple[StoredSet, ...]:
    """Returns the sets in files of images, recognised by the files' names."""
    found = []
    for file in files:
        name, shared = file.stem, file.with_name("labels.npy")
        if name == "data":
            found.append(StoredSet(file.parent, file.parent.resolve().name, file, shared))
        elif name.startswith("new_data_"):
            found.append(StoredSet(file, name, file, shared))
        elif name.endswith("_data"):
            name = name.removesuffix("_data")
            found.append(StoredSet(file, name, file, file.with_name(f"{name}_labels.npy")))
        elif re.fullmatch("[0-9]+", name):
            found.append(StoredSet(file, name, file, shared if shared.is_file() else None))
        elif not name.endswith("labels"):
            folder, severities = file.with_suffix(""), range(1, SEVERITIES + 1)
            found += [StoredSet(folder / str(number), name, file, shared, number) for number in severities]
    return tuple(found)


def _visible(folder: Path, *patterns: str) -> list[Path]:
    """Returns the files below `folder` that match a pattern, sorted, without hidden files and folders."""
    files = (file for pattern in patterns for file in folder.glob(pattern))
    return sorted(
        file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )


def _rows(stored: StoredSet) -> range:
    """Returns the rows of the set's images in its file, from the file's header."""
    path, mapped = stored.images, map_npy(stored.images)
    shape = mapped.shape
    if mapped.dtype != np.uint8:
        raise unusable(path, f"images must be uint8, got {mapped.dtype}")
    if len(shape) != 4 or shape[3] != 3 or 0 in shape:
        hint = "; move the channels to the end" if len(shape) == 4 and shape[1] == 3 else ""
        raise unusable(path, f"images must be (n, h, w, 3), got {shape}{hint}")
    if stored.severity is None:
        return range(shape[0])
    if shape[0] % SEVERITIES:
        raise unusable(
            path,
            f"{shape[0]:,} images are not {SEVERITIES} severities of one length, as in CIFAR-10-C; "
            "a set of another kind belongs in a folder of its own, as data.npy and labels.npy",
        )
    length = shape[0] // SEVERITIES
    return range(length * (stored.severity - 1), length * stored.severity)


def _labels(stored: StoredSet, path: Path, classes: Sequence[str]) -> NDArray[np.int64]:
    """Returns the labels of all images in the set's file, int64 (n,)."""
    if not path.is_file():
        raise unusable(path, f"no such file; the labels of {stored.images} belong there")
    mapped, count = map_npy(path), len(map_npy(stored.images))
    if mapped.dtype.kind not in "iu":
        raise unusable(path, f"labels must be whole numbers, got {mapped.dtype}")
    if mapped.shape != (count,):
        raise unusable(path, f"labels {mapped.shape} for the {count:,} images of {stored.images}")
    labels = read_npy(path)
    for label in (labels.min(), labels.max()):
        if not 0 <= label < len(classes):
            raise unusable(path, f"label {label} of {len(classes)} classes ({', '.join(classes)})")
    blocks = labels.reshape(SEVERITIES if stored.severity else 1, -1)
    if (blocks != blocks[0]).any():
        raise unusable(path, f"the {SEVERITIES} severities of {stored.images} need the same labels in order")
    return labels.astype(np.int64)
