"""Sets of images in ``.npz`` files, with reproducible bytes, and arrays in ``.npy`` files.

NumPy's own parser reads the headers (NEP 1, versions 1.0 and 2.0) of arrays of numbers, booleans and strings.
Each header is checked against the size of the file before any allocation, and nothing is unpickled.
"""

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from starter.images.files import BLOCK, MAX_BYTES, container, unzipped
from starter.images.imageset import ImageSet
from submission.errors import UnusableInput, unusable, why
from submission.files import replacing

_MAX_LABEL = np.iinfo(np.int64).max


def write_npz(path: Path, images: ImageSet) -> None:
    """Write ``images`` (and ``labels``, if known), uncompressed and atomically."""
    arrays = {"images": np.ascontiguousarray(images.images)}
    if images.labels is not None:
        arrays["labels"] = images.labels  # type: ignore[assignment]
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def read_npz(path: Path, name: str | None = None) -> ImageSet:
    """Returns the set in a file with ``images`` (n, h, w, 3) uint8 and optional integer ``labels`` (n,).

    Raises:
        UnusableInput: the file is missing, damaged or not an npz, or its arrays are invalid.
    """
    return as_set(path, name or path.stem, read_arrays(path, ("images",), ("labels",)))


def as_set(path: Path, name: str, arrays: Mapping[str, np.ndarray]) -> ImageSet:
    """Returns the set `name` with the `images` and optional `labels` from the arrays of `path`.

    Raises:
        UnusableInput: an array has the wrong type, shape or range.
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


_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_LONGEST = 12 + 10_000
"""Largest number of bytes before the data: magic string, version, length, NumPy's longest header."""
_KINDS = "biufcSUV"
"""Kinds of plain arrays: booleans, numbers, strings, bytes."""


def map_npy(path: Path) -> np.ndarray:
    """Returns the array in `path`, memory-mapped and read-only: only indexed parts are read.

    Raises:
        UnusableInput: the file does not exist, cannot be read, is not a .npy of a plain array, or has another
            size than its header declares; the message names it.
    """
    if not path.is_file():
        raise UnusableInput(f"{path}: no such file")
    try:
        with path.open("rb") as stream:
            shape, fortran, dtype = read_header(stream, path.stat().st_size)
            start = stream.tell()
        if not math.prod(shape):
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")
    except OSError as error:
        raise UnusableInput(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, OverflowError) as error:
        raise UnusableInput(f"{path}: not a .npy file that can be read ({error})") from error


def read_npy(path: Path, rows: NDArray[np.integer] | None = None) -> np.ndarray:
    """Returns the array in `path`, in memory; or only its `rows`, indices (m,) of the first axis, in order.

    Raises:
        UnusableInput: see `map_npy`; or the array has no axis, or the rows take more than 8 GiB.
        IndexError: an index is beyond the array.
    """
    mapped = map_npy(path)
    if not mapped.ndim:
        raise UnusableInput(f"{path}: a single value, not an array")
    count = len(mapped) if rows is None else len(rows)
    if count * math.prod(mapped.shape[1:]) * mapped.itemsize > MAX_BYTES:
        raise UnusableInput(f"{path}: {count:,} rows take over {MAX_BYTES >> 30} GiB")
    return np.array(mapped) if rows is None else np.asarray(mapped)[rows]


def read_header(stream: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Returns shape, Fortran order and dtype of a .npy of `size` bytes; leaves `stream` at the data's start.

    Raises:
        ValueError: it is not a .npy of a plain array, or its data do not have the size of the rest.
    """
    head = io.BytesIO(stream.read(_LONGEST))  # of the file itself NumPy would read as much as it says
    version = npy.read_magic(head)
    if version not in _HEADERS:
        raise ValueError(f"format version {'.'.join(map(str, version))}; 1.0 and 2.0 are read")
    try:
        shape, fortran, dtype = _HEADERS[version](head)
    except Exception as error:  # NumPy's parser says ValueError of most bad headers, but not of all
        raise ValueError("its header is not a valid one of a plain array") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if dtype.kind not in _KINDS or dtype.fields or dtype.subdtype or min(shape, default=0) < 0:
        raise ValueError("its header is not a valid one of a plain array")
    stream.seek(head.tell())
    room = size - head.tell()
    if not dtype.itemsize or math.prod(shape) * dtype.itemsize != room:
        raise ValueError(f"{shape} {dtype} does not fit its {room:,} bytes")
    return shape, fortran, dtype


MAX_RATIO = 256  # of a set's arrays to their file, which may always unpack to 256 MiB


def read_arrays(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Returns the `required` arrays of an .npz file, and the `optional` ones that it has; no pickles.

    No other array is read. Before memory is allocated, each header is compared with the size of its data, and
    the size of all arrays with the size of the file.

    Raises:
        UnusableInput: the file is missing or damaged, lacks an array, or has an array of Python objects; or
            the arrays take over 8 GiB, or over 256 MiB and 256 times the file.
    """
    container(path)
    with unzipped(path, "an .npz file") as zipped:
        stored = {info.filename.removesuffix(".npy"): info for info in zipped.infolist()}
        for name in required:
            if name not in stored:
                there = ", ".join(sorted(stored))[:200] or "none"
                raise unusable(path, f"no array {name!r}; there are {there}")
        wanted = {name: stored[name] for name in (*required, *optional) if name in stored}
        total = sum(info.file_size for info in wanted.values())
        limit = min(MAX_BYTES, MAX_RATIO * max(path.stat().st_size, 1 << 20))
        if total > limit:
            raise unusable(path, f"{total >> 20} MiB of arrays; such a file may hold {limit >> 20}")
        arrays = {}
        for name, info in wanted.items():
            try:
                arrays[name] = _array(zipped, info)
            except Exception as error:  # a damaged, encrypted or strangely compressed member
                raise unusable(path, f"array {name!r} cannot be read ({why(error)})") from error
        return arrays


def _array(zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    with zipped.open(info) as stream:
        shape, fortran, dtype = read_header(stream, info.file_size)
        data = np.empty(info.file_size - stream.tell(), np.uint8)
        for start in range(0, len(data), BLOCK):
            part = data[start : start + BLOCK]
            block = stream.read(len(part))
            if len(block) < len(part):
                raise EOFError("it ends early")
            part[:] = np.frombuffer(block, np.uint8)
    return data.view(dtype).reshape(shape, order="F" if fortran else "C")
