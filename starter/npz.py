"""A set of images as an ``.npz`` file, written the same to the last byte and read without unpickling."""

from pathlib import Path

import numpy as np

from starter.imagefiles import read_arrays
from starter.imageset import ImageSet
from submission.errors import UnusableInput
from submission.files import replacing


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
    arrays = read_arrays(path)
    if "images" not in arrays:
        raise UnusableInput(f"{path} holds no array `images`")
    labels = arrays.get("labels")
    if labels is not None and not np.issubdtype(labels.dtype, np.integer):
        raise UnusableInput(f"{path}: labels must be integers, got {labels.dtype}")
    try:
        return ImageSet(
            name or path.stem, arrays["images"], None if labels is None else labels.astype(np.int64)
        )
    except ValueError as error:
        raise UnusableInput(f"{path}: {error}") from error
