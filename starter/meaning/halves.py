"""Balanced halves of a manifest's classes as files: as many ID as OOD images, for validation and for test."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.meaning.images import balanced_halves
from starter.meaning.manifest import ClassEntry
from submission.files import write_text


def write_halves(
    entries: Sequence[ClassEntry],
    root: Path,
    out: Path,
    image_size: tuple[int, int] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> list[str]:
    """Write ``validation.npz``, ``test.npz`` and ``classes.csv`` into the folder `out`, which is made.

    Labels are 1 for images of near and far classes, 0 for those of ID classes; images come in the order of
    ``classes.csv``, which says how many each class (source, class, assignment) has in either half.

    Args:
        entries, root, image_size, limit, seed: as for `balanced_halves`.
        out: the folder.

    Returns:
        A line on each half.

    Raises:
        UnusableInput: as `balanced_halves`.
    """
    halves = balanced_halves(entries, root, image_size, limit, seed)
    ood = np.array([entry.ood for entry in entries])
    counts = [np.bincount(_labels(half), minlength=len(entries)) for half in halves]
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for half, count in zip(halves, counts, strict=True):
        labels = ood[_labels(half)].astype(np.int64)
        write_npz(out / f"{half.name}.npz", ImageSet(half.name, half.images, labels))
        used = [int(np.count_nonzero(count[kind])) for kind in (~ood, ood)]
        lines.append(
            f"{half.name}: {(labels == 0).sum():,} images of {used[0]} ID classes, "
            f"{labels.sum():,} of {used[1]} OOD classes"
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("source", "class", "assignment", *(half.name for half in halves)))
    for entry, *shares in zip(entries, *counts, strict=True):
        if any(shares):
            writer.writerow((entry.source, entry.name, entry.assignment, *shares))
    write_text(out / "classes.csv", text.getvalue())
    return lines


def _labels(half: ImageSet) -> np.ndarray:
    assert half.labels is not None
    return half.labels
