"""Url: an address in any file system of fsspec (S3, GCS, SFTP, ...), with what a cache asks of a Path."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from submission.errors import UnusableInput


@dataclass(frozen=True)
class Url:
    """An address; objects are written whole or not at all where the store says so, as S3 does.

    Attributes:
        url: as ``s3://bucket/folder``.
        files: fsspec's file system behind it.
        known: addresses that are there for sure, shared with all addresses below the same root: asking S3
            takes some milliseconds each.
    """

    url: str
    files: Any = field(repr=False, compare=False)
    known: set[str] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "Url":
        return Url(f"{self.url}/{name}", self.files, self.known)

    def exists(self) -> bool:
        """Whether an object is there."""
        if self.url in self.known:
            return True
        try:
            with self._told():
                self.files.info(self.url)  # fsspec's exists takes any failure for absence
        except FileNotFoundError:
            return False
        self.known.add(self.url)
        return True

    def read_bytes(self) -> bytes:
        """The object. Raises FileNotFoundError where there is none."""
        with self._told():
            return self.files.cat_file(self.url)

    def write_bytes(self, data: bytes) -> None:
        """Put the object there, over what there was."""
        with self._told():
            self.files.pipe_file(self.url, data)
        self.known.add(self.url)

    def unlink(self, missing_ok: bool = True) -> None:
        """Remove the object, if it is there; S3 does not tell, so nothing else can be asked for."""
        self.known.discard(self.url)
        with suppress(FileNotFoundError), self._told():
            self.files.rm_file(self.url)

    def look(self) -> None:
        """Learn what is below in one listing, so that `exists` need not ask for it one by one."""
        with self._told():
            self.files.invalidate_cache()
            found = self.files.find(self.url)
        self.known.update(self.files.unstrip_protocol(path) for path in found)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """File systems raise what their libraries do: all of it becomes an OSError that names the address."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.url}: {error}") from error
        except Exception as error:
            raise OSError(f"{self.url}: {type(error).__name__}: {error}") from error


@lru_cache
def open_url(url: str) -> Url:
    """The address `url`, without anything being asked of it.

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
