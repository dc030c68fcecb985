"""A content-addressed cache of arrays in a folder."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from submission.errors import UnusableInput, tell_once
from submission.files import writable, write_bytes, write_text

Arrays = dict[str, NDArray[Any]]
Layout = Mapping[str, tuple[type[np.generic], tuple[int, ...]]]
"""The arrays that an entry must hold: name -> (type, shape)."""
NOTE = "cache.txt"
"""File with the place of a competition's cache, if that was moved."""


@dataclass(frozen=True)
class Cache:
    """Arrays under ``root/<kind>/<key>.safetensors``; a key is the hash of everything that they depend on.

    Each entry holds the SHA-256 of its name and values; one that does not fit it counts as missing.
    Writes are atomic.
    """

    root: Path

    def has(self, kind: str, key: str) -> bool:
        """Returns True if there is an entry, which may be damaged."""
        return (self.root / f"{kind}/{key}.safetensors").exists()

    def load(self, kind: str, key: str, layout: Layout) -> Arrays | None:
        """Returns the arrays of the entry; None if it is missing, damaged or does not fit the layout."""
        name = f"{kind}/{key}.safetensors"
        try:
            data = (self.root / name).read_bytes()
            arrays = load(data)
            header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
            written = header["__metadata__"]["sha256"]
        except (FileNotFoundError, SafetensorError, LookupError, TypeError, ValueError, AttributeError):
            return None
        return arrays if fits(arrays, layout) and _digest(name, arrays) == written else None

    def store(self, kind: str, key: str, arrays: Arrays) -> None:
        """Write the entry atomically; one with NaN or infinite values counts as missing."""
        name = f"{kind}/{key}.safetensors"
        contiguous = {each: np.ascontiguousarray(array) for each, array in arrays.items()}
        self.write(name, save(contiguous, {"sha256": _digest(name, contiguous)}))

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically; its folder is made, for its owner alone."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_bytes(self.root / name, data)


def cache_of(root: Path) -> Cache:
    """Returns the cache of the competition in `root`: its folder ``cache``, unless `place_cache` moved it."""
    folder = writable(root).absolute()
    if not (folder / NOTE).is_file():
        return Cache(folder / "cache")
    place = (folder / NOTE).read_text(encoding="utf-8").strip()
    tell_once(f"the cache is at {place}")
    return Cache(Path(place))


def place_cache(root: Path, place: str) -> None:
    """Use a folder as the cache of a competition from now on."""
    if "://" in place:
        raise UnusableInput(f"--cache {place} cannot be used: give a folder, not an address")
    cache, name = Cache(Path(place).absolute()), f".probe-{secrets.token_hex(4)}"
    try:
        cache.write(name, b"unseen")
        (cache.root / name).unlink()
    except OSError as error:
        raise UnusableInput(
            f"--cache {place} cannot be used ({error}): give a folder that you may write to"
        ) from error
    write_text(writable(root) / NOTE, f"{cache.root}\n")


def fits(arrays: Arrays, layout: Layout) -> bool:
    """Returns True if the arrays have the names, types and shapes of `layout`, and finite values alone."""
    shapes = {name: (array.dtype.type, array.shape) for name, array in arrays.items()}
    return shapes == layout and all(np.isfinite(array).all() for array in arrays.values())


def _digest(name: str, arrays: Arrays) -> str:
    """Returns the SHA-256 of an entry: of its name, and the bytes of its arrays in order of their names."""
    digest = hashlib.sha256(name.encode())
    for each in sorted(arrays):
        digest.update(arrays[each].data)
    return digest.hexdigest()
