"""A content-addressed cache of arrays: a key is the hash of everything that the arrays depend on.

The cache is a folder, or an address (`Url`) in any file system of fsspec: S3, GCS, SFTP and others.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, load_file, save, save_file

from submission.errors import UnusableInput, tell_once
from submission.files import replacing, write_text

PAUSES = (0.1, 0.4, 1.6, 6.4)
"""Pauses, in seconds, before a failed request is repeated; the fifth failure raises an error."""
T = TypeVar("T")


@dataclass(frozen=True)
class Url:
    """An address of an object or folder in a file system of fsspec.

    It has the methods of a Path that a cache uses. Writes are atomic if those of the store are, as S3's are.

    Attributes:
        url: Address, such as ``s3://bucket/folder``.
        files: File system of fsspec that holds it.
        known: Addresses of objects that exist, shared by all addresses below one root; each saves a request,
            which takes some milliseconds with S3.
    """

    url: str
    files: Any = field(repr=False, compare=False)
    known: set[str] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "Url":
        return Url(f"{self.url}/{name}", self.files, self.known)

    def exists(self) -> bool:
        """Returns True if there is an object at the address."""
        if self.url in self.known:
            return True
        try:
            self._asked(self.files.info, self.url)  # fsspec's exists takes any failure for absence
        except FileNotFoundError:
            return False
        self.known.add(self.url)
        return True

    def read_bytes(self) -> bytes:
        """Returns the bytes of the object.

        Raises:
            FileNotFoundError: There is no object at the address.
        """
        return self._asked(self.files.cat_file, self.url)

    def write_bytes(self, data: bytes) -> None:
        """Write the object, replacing an earlier one; its folder is made, none above that, and no bucket."""
        folder = self.url.rpartition("/")[0]
        try:
            self._asked(self.files.pipe_file, self.url, data)
        except FileNotFoundError:
            if "/" not in folder.partition("://")[2]:
                raise
            self._asked(self._make, folder)  # for stores such as SFTP's, where an object does not imply it
            self._asked(self.files.pipe_file, self.url, data)
        self.known.add(self.url)

    def _make(self, folder: str) -> None:
        with suppress(FileExistsError):
            self.files.mkdir(folder, create_parents=False)

    def unlink(self, missing_ok: bool = True) -> None:
        """Remove the object if there is one.

        `missing_ok` is always True in effect: S3 does not report whether an object was there.
        """
        self.known.discard(self.url)
        with suppress(FileNotFoundError):
            self._asked(self.files.rm_file, self.url)

    def look(self) -> None:
        """List all objects below the address, so that `exists` needs no request for each."""
        self.files.invalidate_cache()
        found = self._asked(self.files.find, self.url)
        self.known.update(self.files.unstrip_protocol(path) for path in found)

    def _asked(self, request: Callable[..., T], *arguments: object) -> T:
        """Returns the result of a request; a failed one is repeated after the `PAUSES`.

        Repeating is safe for every request: objects are written whole, and removing one twice does no harm.

        Raises:
            FileNotFoundError: There is no such object.
            OSError: The request failed each time, or is not allowed; the message names the address.
        """
        for pause in (*PAUSES, None):
            try:
                return request(*arguments)
            except FileNotFoundError as error:
                raise FileNotFoundError(f"{self.url}: {error}") from error
            except Exception as error:
                if pause is None or isinstance(error, PermissionError):
                    raise OSError(f"{self.url}: {type(error).__name__}: {error}") from error
                time.sleep(pause)
        raise AssertionError("the last pause is none")


@lru_cache
def open_url(url: str) -> Url:
    """Returns the address `url`, without a request to it.

    Raises:
        UnusableInput: fsspec or the library for this kind of address is not installed, or there is no such
            kind.
    """
    try:
        import fsspec

        files, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        raise UnusableInput(f'{url} needs more libraries ({error}): pip install "unseen[cluster]"') from error
    except ValueError as error:
        raise UnusableInput(f"{url} is no address that can be used: {error}") from error
    return Url(files.unstrip_protocol(path).rstrip("/"), files, set())


Arrays = dict[str, NDArray[Any]]
Layout = Mapping[str, tuple[type[np.generic], tuple[int, ...]]]
"""The arrays that an entry must hold: name -> (type, shape)."""
ELSEWHERE = "cache.txt"
"""Name of the file in a competition's folder that holds the place of its cache, if it was moved."""


@dataclass(frozen=True)
class Cache:
    """Arrays kept under ``root/<kind>/<key>.safetensors``, written atomically and never unpickled.

    A folder `root` is made with mode 0700: in the OOD track its contents tell IND from OOD images.

    Attributes:
        root: Folder or address of the cache.
    """

    root: Path | Url

    def path(self, kind: str, key: str) -> Any:
        """Returns the place of the entry `key` of `kind`, a Path or a Url."""
        return self.root / kind / f"{key}.safetensors"

    def load(self, kind: str, key: str, layout: Layout) -> Arrays | None:
        """Returns the arrays of the entry; None if it is missing or does not fit the layout.

        An entry fits if it has these arrays and all values are finite. A damaged or foreign file counts as
        missing: the caller computes the entry again.
        """
        path = self.path(kind, key)
        try:
            arrays = load(path.read_bytes()) if isinstance(path, Url) else load_file(path)
        except (FileNotFoundError, SafetensorError):
            return None
        except (KeyError, TypeError, AttributeError):  # a type of number that NumPy does not have
            return None
        return dict(arrays) if fits(arrays, layout) else None

    def store(self, kind: str, key: str, arrays: Arrays) -> None:
        """Write the entry atomically."""
        self.make()
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        path = self.path(kind, key)
        if isinstance(path, Url):
            path.write_bytes(save(contiguous))
            return
        with replacing(path) as temporary:
            try:
                save_file(contiguous, temporary)
            except SafetensorError as error:  # a full disk, mostly
                raise OSError(f"{self.root} cannot be written: {error}") from error

    def put(self, name: str, data: bytes) -> None:
        """Write bytes to ``root/name`` atomically, for others who share the cache."""
        path = self.root / name
        if isinstance(path, Url):
            path.write_bytes(data)
            return
        self.make()
        with replacing(path) as temporary:
            temporary.write_bytes(data)

    def make(self) -> None:
        """Make the folder of the cache, readable by the owner alone, if it does not exist."""
        if isinstance(self.root, Path):
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def look(self) -> None:
        """List all entries at once if the cache is at an address, where a request for each takes long."""
        if isinstance(self.root, Url):
            self.root.look()


_chosen: dict[Path, str] = {}  # where `--cache` said in this process, by the competition's folder


def cache_of(root: Path) -> Cache:
    """Returns the cache of the competition in `root`: its folder ``cache``, unless `keep_elsewhere` moved it.

    The note that `keep_elsewhere` wrote is ignored in a folder without ``private/``: it may have come with an
    archive.
    """
    root, note = root.absolute(), root / ELSEWHERE
    if root in _chosen:
        return at(_chosen[root])
    if not note.is_file():
        return Cache(root / "cache")
    place = note.read_text(encoding="utf-8", errors="replace").strip()
    if not (root / "private").is_dir():
        tell_once(
            f"{note} is not followed, for it may have come with the archive: --cache PLACE uses a place"
        )
        return Cache(root / "cache")
    tell_once(f"the cache is at {place}")
    return at(place)


def choose_place(root: Path, location: str) -> None:
    """Use `location`, a folder or an address, as the cache of the competition in `root`, in this process."""
    _chosen[root.absolute()] = location


def at(location: str) -> Cache:
    """Returns the cache in a folder, or at an address such as ``s3://bucket/folder``.

    Raises:
        UnusableInput: The library for such an address is not installed, or the kind is unknown.
    """
    return Cache(open_url(location) if "://" in location else Path(location))


def keep_elsewhere(root: Path, location: str) -> None:
    """Use `location`, a folder or an address, as the cache of the competition in `root` from now on.

    In a participant's copy this holds for the current process alone, since notes in archives are not trusted.

    Raises:
        UnusableInput: The place cannot be written to.
    """
    place = location.rstrip("/") if "://" in location else str(Path(location).absolute())
    cache, name = at(place), f".probe-{secrets.token_hex(4)}"
    try:
        cache.put(name, b"unseen")
        (cache.root / name).unlink(missing_ok=True)
    except OSError as error:
        raise UnusableInput(
            f"--cache {location} cannot be used ({error}): check that it exists, and your access to it"
        ) from error
    choose_place(root, place)
    tell_once(f"the cache is at {place}")
    if (root / "private").is_dir():
        write_text(root / ELSEWHERE, place + "\n")


def fits(arrays: Arrays, layout: Layout) -> bool:
    """Returns True if the arrays have the names, types and shapes of `layout`, and finite values alone."""
    found = {name: (array.dtype.type, array.shape) for name, array in arrays.items()}
    return found == layout and all(np.isfinite(array).all() for array in arrays.values())
