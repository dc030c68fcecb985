"""A .npy file: its header checked against its size before anything is allocated, and never unpickled.

The format is NumPy's (NEP 1, versions 1.0 and 2.0), for arrays of plain numbers, truth values and strings.
"""

import math
import re
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from submission.errors import UnusableInput

MAX_BYTES = 8 << 30  # of one array in memory
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}  # of the header's length, by format version
_MAX_HEADER = 10_000  # bytes; NumPy reads no longer ones either
# A header is a Python dict of three keys in any order. It is matched, not evaluated.
_HEADER = re.compile(
    rb"\{(?=.*'descr': *'([<>|=]?[?biufcSUVO]\d{0,9})')"
    rb"(?=.*'fortran_order': *(True|False))"
    rb"(?=.*'shape': *\(((?:(?:0|[1-9]\d*), ?)+(?:0|[1-9]\d*)?|)\))"
    rb".*\}\s*",
    re.DOTALL,
)


def map_npy(path: Path) -> np.ndarray:
    """The array in `path`, read-only and mapped: only what is indexed is read.

    Raises:
        UnusableInput: there is no such file, it cannot be read, is no .npy of a plain array, or has more or
            fewer bytes than its header declares; the message names it.
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
    """The array in `path`, in memory; or only its `rows`, indices (m,) of the first axis, in their order.

    Raises:
        UnusableInput: as `map_npy`, the array has no axis, or what is asked for takes more than 8 GiB.
        IndexError: an index lies beyond the array.
    """
    mapped = map_npy(path)
    if not mapped.ndim:
        raise UnusableInput(f"{path}: a single value, not an array")
    count = len(mapped) if rows is None else len(rows)
    if count * math.prod(mapped.shape[1:]) * mapped.itemsize > MAX_BYTES:
        raise UnusableInput(f"{path}: {count:,} rows take over {MAX_BYTES >> 30} GiB")
    return np.array(mapped) if rows is None else np.asarray(mapped)[rows]


def read_header(stream: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and dtype of a .npy of `size` bytes; then `stream` stands where its data begin.

    Raises:
        ValueError: it is no .npy of a plain array, or its data do not take the bytes that are there.
    """
    magic = stream.read(8)
    if magic[:6] != b"\x93NUMPY":
        raise ValueError("the magic string of a .npy is not there")
    length_bytes = _LENGTH_BYTES.get((*magic[6:],))
    if length_bytes is None:
        raise ValueError(f"format version {'.'.join(map(str, magic[6:]))}; 1.0 and 2.0 are read")
    length = int.from_bytes(stream.read(length_bytes), "little")
    found = _HEADER.fullmatch(stream.read(length)) if length <= _MAX_HEADER else None
    if not found:
        raise ValueError("its header is not a valid one of a plain array")
    descr, fortran, sides = found.groups()
    shape = tuple(int(side) for side in sides.split(b",") if side.strip())
    try:
        dtype = np.dtype(descr.decode())
    except TypeError as error:
        raise ValueError(f"unknown type {descr.decode()}") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    room = size - stream.tell()
    if not dtype.itemsize or math.prod(shape) * dtype.itemsize != room:
        raise ValueError(f"{shape} {dtype} does not fit its {room:,} bytes")
    return shape, fortran == b"True", dtype
