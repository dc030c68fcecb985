"""Sets of images in the layouts of other collections: .npy files, recognised by their names.

| files in a folder | collection | sets |
|---|---|---|
| ``data.npy``, ``labels.npy`` | a validation set of DataCV | one; folders of such folders hold several |
| ``new_data_000.npy``, ..., ``labels.npy`` | DataCV's meta-train sets | one per file, with the same labels |
| ``cifar10.1_v6_data.npy``, ``cifar10.1_v6_labels.npy`` | CIFAR-10.1 | one per pair |
| ``001.npy``, ... | DataCV's test sets | one per file; ``labels.npy`` is optional |
| ``fog.npy``, ..., ``labels.npy`` | CIFAR-10-C | five per file: equal blocks, one per severity |
| ``fog_3.npy``, or any other name | a severity, or a set of one's own | one per file |

A file is of five severities if its labels are: five times the same. A single severity may have such labels
beside it. Images are uint8 (n, h, w, 3), or as `as_images` takes them; labels are class indices (n,).
Sources: the DataCV 2023 kit (github.com/xingjianleng/autoeval_baselines); CIFAR-10-C, Hendrycks & Dietterich
(ICLR 2019); CIFAR-10.1, Recht et al. (arXiv 1806.00451).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starter.data.images.arrays import as_column, as_images, as_set, map_npy, read_npy
from starter.data.images.files import is_visible
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit, tell_sameness
from submission.errors import unusable

SEVERITIES = 5
"""Number of equal blocks in a file of CIFAR-10-C, mildest first."""
_ONE_SEVERITY = re.compile(r".+[-_. ](s|sev|severity|level)?[-_ ]?[1-5]", re.IGNORECASE)
"""Names of files of one severity, as in ``gaussian_noise_3``."""
_FILES = ("[!.]*.npy", "[!.]*/data.npy", "[!.]*/[!.]*/data.npy")


@dataclass(frozen=True)
class StoredSet:
    """A set in .npy files, before reading: `path` is its folder or file of images, `name` its last part.

    A severity's path is that of the file of all five without ".npy", and the severity: ``CIFAR-10-C/fog/3``.
    `known` is False for a file of a name that no layout but CIFAR-10-C's has.
    """

    path: Path
    name: str
    images: Path
    labels: Path | None
    severity: int | None = None
    known: bool = True

    def __len__(self) -> int:
        """Returns the number of images."""
        return len(_rows(self))


def stored_sets(path: Path) -> tuple[StoredSet, ...]:
    """Returns the sets that `path` names, sorted; none where it leads to no .npy file of images.

    It is a folder as above (for ``data.npy`` up to two levels above), a file of images, or a `StoredSet.path`
    with or without the severity. Files of other names count alone, or in a folder of no other layout.
    """
    if path.is_dir():
        inside = (file for pattern in _FILES for file in path.glob(pattern) if is_visible(file.name))
        found = _sets_in(sorted(inside))
        return tuple(each for each in found if each.known) or found
    files = (path, Path(f"{path}.npy"), Path(f"{path.parent}.npy"))
    found = _sets_in([file for file in files if file.suffix.lower() == ".npy" and file.is_file()])
    return tuple(
        each
        for each in found
        if path in (each.images, each.images.with_suffix(""), each.path, each.path.parent)
    )


def stored_set(path: Path) -> StoredSet | None:
    """Returns the one set that `path` names; None where it leads to no .npy file."""
    found = stored_sets(path)
    if len(found) > 1:
        raise unusable(path, f"holds {len(found)} sets; name one, as in {found[0].path}")
    return found[0] if found else None


def load_stored(
    stored: StoredSet, classes: Sequence[str], rows: NDArray[np.integer] | None = None, fit: Fit | None = None
) -> ImageSet:
    """Returns the images of a set at `rows` (m,), with labels, indices of `classes`, if it has some."""
    chosen = np.array(_rows(stored))
    if rows is not None:
        chosen = chosen[rows]
    arrays = {"images": as_images(stored.images, read_npy(stored.images, chosen))}
    if stored.labels is not None:
        labels, count = as_column(read_npy(stored.labels)), len(map_npy(stored.images))
        if _is_tiled(labels) and len(labels) == SEVERITIES * count:
            labels = labels[:count]
        if labels.shape != (count,):
            reason = f"labels {labels.shape} for the {count:,} images of {stored.images}"
            raise unusable(stored.labels, reason)
        arrays["labels"] = labels[chosen]
    images = as_set(stored.labels or stored.images, stored.name, arrays, classes)
    tell_sameness(stored.path, images.images)
    return replace(images, images=(fit or Fit()).all(images.images))


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
            found += _severities(file, shared)
    return tuple(found)


def _severities(file: Path, labels: Path) -> list[StoredSet]:
    """Returns the five sets of a file of CIFAR-10-C, by its labels, or the one set of any other file."""
    name = file.stem
    if labels.is_file() and not _ONE_SEVERITY.fullmatch(name):
        classes = as_column(read_npy(labels))
        if _is_tiled(classes) and SEVERITIES * len(np.atleast_1d(map_npy(file))) != len(classes):
            folder, numbers = file.with_suffix(""), range(1, SEVERITIES + 1)
            return [StoredSet(folder / str(each), name, file, labels, each, known=False) for each in numbers]
    return [StoredSet(file, name, file, labels, known=False)]


def _is_tiled(labels: np.ndarray) -> bool:
    """Returns True if labels (n,) are a fifth of them five times."""
    length, rest = divmod(len(labels), SEVERITIES)
    if labels.ndim != 1 or rest or not length:
        return False
    return bool((labels.reshape(SEVERITIES, length) == labels[:length]).all())


def _rows(stored: StoredSet) -> range:
    """Returns the rows of the set's images in its file, from the file's header."""
    count = len(np.atleast_1d(map_npy(stored.images)))
    if stored.severity is None:
        return range(count)
    length, rest = divmod(count, SEVERITIES)
    if rest:
        raise unusable(
            stored.images,
            f"{count:,} images are not {SEVERITIES} severities of one length, as in CIFAR-10-C; "
            "a set of another kind belongs in a folder of its own, as data.npy and labels.npy",
        )
    return range(length * (stored.severity - 1), length * stored.severity)
