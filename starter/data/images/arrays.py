"""Sets of images in ``.npz`` files, with reproducible bytes, and arrays in ``.npy`` files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starter.data.images.depth import Range, as_pixels
from starter.data.images.imageset import ImageSet
from submission.errors import unusable, why
from submission.files import replacing

CHANNELS = (1, 3, 4)
"""Numbers of channels: grey, RGB, and RGB with transparency, which is dropped."""

CHANNELS_FIRST = (1, 3)


def write_npz(path: Path, images: ImageSet) -> None:
    """Write ``images`` (and ``labels``, if known), uncompressed and atomically."""
    arrays = {"images": np.ascontiguousarray(images.images)}
    if images.labels is not None:
        arrays["labels"] = images.labels  # type: ignore[assignment]
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def read_npz(path: Path, name: str | None = None) -> ImageSet:
    """Returns the set in a file with ``images`` (n, h, w, 3) and optional integer ``labels`` (n,)."""
    return as_set(path, name or path.stem, read_arrays(path, ("images",), ("labels",)))


def as_set(path: Path, name: str, arrays: Mapping[str, np.ndarray], classes: Sequence[str] = ()) -> ImageSet:
    """Returns the set of `images`, see `as_images`, and optional `labels` (n,) or (n, 1), of `path`."""
    pixels = as_images(path, arrays["images"])
    labels = as_column(arrays["labels"]) if "labels" in arrays else None
    try:
        if labels is not None and labels.dtype.kind not in "iu":
            raise ValueError(f"labels must be whole numbers, got {labels.dtype}")
        images = ImageSet(name, pixels, None if labels is None else labels.astype(np.int64))
        if labels is not None and classes and labels.max() >= len(classes):
            raise ValueError(f"label {labels.max()} of {len(classes)} classes ({', '.join(classes)})")
    except ValueError as error:
        raise unusable(path, str(error)) from error
    return images


def as_images(path: Path, values: np.ndarray) -> np.ndarray:
    """Returns images of `path` as uint8 (n, h, w, 3), or as they are if their form is no usual one."""
    if values.dtype.kind not in "biuf" or not 3 <= values.ndim <= 4 or 0 in values.shape:
        return values
    if values.ndim == 3:
        values = values[..., None]
    elif values.shape[3] not in CHANNELS and values.shape[1] in CHANNELS_FIRST:
        values = np.moveaxis(values, 1, 3)
    if values.shape[3] not in CHANNELS:
        return values
    values = values[..., :3] if values.shape[3] > 1 else values.repeat(3, axis=3)
    if values.dtype == np.uint8:
        return values
    if values.dtype == np.bool_:
        return as_pixels(values.astype(np.uint8), 1)
    if not np.isfinite(values).all():
        raise unusable(path, "images hold values that are NaN or infinite")
    found = Range.of([(values, 0)])
    try:
        found.tell(path)
    except ValueError as error:
        raise unusable(path, f"images hold {error}") from error
    return as_pixels(values, found.white())


def as_column(labels: np.ndarray) -> np.ndarray:
    """Returns labels (n, 1) as (n,), others as they are."""
    return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels


def map_npy(path: Path) -> np.ndarray:
    """Returns the array in `path`, memory-mapped and read-only: only indexed parts are read."""
    try:
        mapped: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError) as error:
        raise unusable(path, f"cannot be read as a .npy file ({why(error)})") from error
    return mapped


def read_npy(path: Path, rows: NDArray[np.integer] | None = None) -> np.ndarray:
    """Returns the array in `path`, in memory; or only its `rows`, indices (m,) of the first axis."""
    mapped = np.atleast_1d(map_npy(path))
    return np.array(mapped) if rows is None else np.asarray(mapped)[rows]


def read_arrays(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Returns the `required` arrays of an .npz file, and the `optional` ones that it has; no pickles."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in (*required, *(set(optional) & set(archive.files)))}
    except Exception as error:  # a damaged file makes NumPy raise whatever it meets
        raise unusable(path, f"not an .npz file that can be read ({why(error)})") from error
