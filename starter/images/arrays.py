"""A set of images as an ``.npz`` file, written the same to the last byte and read without unpickling."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from starter.images.files import read_arrays, unusable
from starter.images.imageset import ImageSet
from submission.files import replacing

_MAX_LABEL = np.iinfo(np.int64).max


def write_npz(path: Path, images: ImageSet) -> None:
    """Write ``images`` (and ``labels`` where they are known), uncompressed and atomically."""
    arrays = {"images": np.ascontiguousarray(images.images)}
    if images.labels is not None:
        arrays["labels"] = images.labels  # type: ignore[assignment]
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def read_npz(path: Path, name: str | None = None) -> ImageSet:
    """Read ``images`` (n, h, w, 3) uint8 and, where it is there, ``labels`` (n,) of any integer type.

    Raises:
        UnusableInput: the file is missing, damaged, no npz, or holds other arrays.
    """
    return as_set(path, name or path.stem, read_arrays(path, ("images",), ("labels",)))


def as_set(path: Path, name: str, arrays: Mapping[str, np.ndarray]) -> ImageSet:
    """The set `name` of the `images` and perhaps `labels` that were read from `path`.

    Raises:
        UnusableInput: they have the wrong type, shape or range.
    """
    labels = arrays.get("labels")
    if labels is not None:
        if labels.dtype.kind not in "iu":
            raise unusable(path, f"labels must be whole numbers, got {labels.dtype}")
        if labels.dtype == np.uint64 and labels.max(initial=0) > _MAX_LABEL:
            raise unusable(path, f"labels must be at most {_MAX_LABEL}, got {labels.max()}")
        labels = labels.astype(np.int64)
    try:
        return ImageSet(name, arrays["images"], labels)
    except ValueError as error:
        raise unusable(path, str(error)) from error
