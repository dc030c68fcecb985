"""A content-addressed cache of arrays, in a folder or at an address in any file system of fsspec."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
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


@lru_cache
def _store(url: str) -> tuple[Any, set[str]]:
    """Returns the file system below an address, and names of objects that exist there."""
    try:
        import fsspec
        from fsspec.implementations.dirfs import DirFileSystem

        files, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        raise UnusableInput(f'{url} needs more libraries ({error}): pip install -e ".[cluster]"') from error
    except ValueError as error:
        raise UnusableInput(f"{url} is no address that can be used: {error}") from error
    return DirFileSystem(path.rstrip("/"), files), set()


@dataclass(frozen=True)
class Cache:
    """Arrays under ``root/<kind>/<key>.safetensors``; a key is the hash of everything that they depend on.

    Each entry holds the SHA-256 of its name and values; one that does not fit it counts as missing.
    Writes are atomic, in a store such as ``s3://bucket/folder`` if its own are, as S3's.
    """

    root: Path | str

    @classmethod
    def at(cls, place: str) -> "Cache":
        """Returns the cache in a folder or at an address."""
        if "://" not in place:
            return cls(Path(place).absolute())
        _store(place.rstrip("/"))
        return cls(place.rstrip("/"))

    @cached_property
    def folder(self) -> Path | None:
        """The cache's folder; None if it is at an address."""
        return self.root if isinstance(self.root, Path) else None

    def has(self, kind: str, key: str) -> bool:
        """Returns True if there is an entry, which may be damaged."""
        return self.holds(f"{kind}/{key}.safetensors")

    def load(self, kind: str, key: str, layout: Layout) -> Arrays | None:
        """Returns the arrays of the entry; None if it is missing, damaged or does not fit the layout."""
        name = f"{kind}/{key}.safetensors"
        try:
            data = self.read(name)
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

    def holds(self, name: str) -> bool:
        """Returns True if there is a file of this name; what an address holds is asked for once."""
        if self.folder:
            return (self.folder / name).exists()
        files, known = _store(str(self.root))
        if name not in known and files.exists(name):
            known.add(name)
        return name in known

    def read(self, name: str) -> bytes:
        """Returns the bytes of a file, or raises FileNotFoundError."""
        if self.folder:
            return (self.folder / name).read_bytes()
        files, _ = _store(str(self.root))
        data: bytes = files.cat_file(name)
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically; its folder is made."""
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_bytes(self.folder / name, data)
            return
        files, known = _store(str(self.root))
        try:
            files.pipe_file(name, data)
        except FileNotFoundError:  # in stores such as SFTP's an object does not imply its folder
            with suppress(FileExistsError):
                files.mkdir(name.rpartition("/")[0], create_parents=False)
            files.pipe_file(name, data)
        known.add(name)

    def remove(self, name: str) -> None:
        """Remove a file."""
        if self.folder:
            (self.folder / name).unlink()
        else:
            files, known = _store(str(self.root))
            files.rm_file(name)
            known.discard(name)

    def look(self) -> None:
        """List what an address holds at once: a request for each entry takes long."""
        if not self.folder:
            files, known = _store(str(self.root))
            known.update(files.find(""))


def cache_of(root: Path) -> Cache:
    """Returns the cache of the competition in `root`: its folder ``cache``, unless `place_cache` moved it."""
    folder = writable(root).absolute()
    if not (folder / NOTE).is_file():
        return Cache(folder / "cache")
    place = (folder / NOTE).read_text(encoding="utf-8").strip()
    tell_once(f"the cache is at {place}")
    return Cache.at(place)


def place_cache(root: Path, place: str) -> None:
    """Use a folder or an address as the cache of a competition from now on."""
    cache, name = Cache.at(place), f".probe-{secrets.token_hex(4)}"
    try:
        cache.write(name, b"unseen")
        cache.remove(name)
    except Exception as error:  # each store has errors of its own
        raise UnusableInput(
            f"--cache {place} cannot be used ({error}): check that it exists, and your access to it"
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
