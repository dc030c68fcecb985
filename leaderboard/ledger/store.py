"""The submitted files, kept under their SHA-256 in ``private/submissions``, each on disk before its row.

A file is written as ``private/entering`` and linked to its name in the transaction that adds its row. If a
process is killed in between, ``entering`` shows the next process which file may have no row.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from submission.files import sha256, sync_folder

_ENTERING = "entering"


def kept_file(private: Path, digest: str) -> Path:
    """Returns the path of the kept file with this SHA-256."""
    return private / "submissions" / digest


def keep(private: Path, data: bytes) -> str:
    """Keep a file, readable by the organizer alone, inside a transaction, and return its SHA-256."""
    digest = hashlib.sha256(data).hexdigest()
    path, entering = kept_file(private, digest), private / _ENTERING
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700)
        sync_folder(private)
    try:
        with os.fdopen(os.open(entering, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(entering, path)
        except FileExistsError:  # handed in before; what is there may have been damaged since
            if sha256(path) != digest:
                entering.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        entering.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return digest


def settle_entering(private: Path, named: Callable[[str], bool]) -> None:
    """Remove ``private/entering``, and the kept file if a killed process left it without its row.

    Only a process with exclusive access to the ledger may call it, since ``entering`` may belong to another
    process.

    Args:
        private: Path of the folder ``private/``.
        named: Function that returns True if a row names the file with this SHA-256.
    """
    entering = private / _ENTERING
    if entering.is_file():
        digest = sha256(entering)
        path = kept_file(private, digest)
        if not named(digest) and path.is_file() and path.samefile(entering):
            path.unlink()
        entering.unlink()


def held_files(private: Path) -> tuple[Path, ...]:
    """Returns the paths of all kept files, except the one that is being entered now."""
    folder, entering = private / "submissions", private / _ENTERING
    if not folder.is_dir():
        return ()
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    now = ""
    with contextlib.suppress(FileNotFoundError):
        now = sha256(entering)
    return tuple(path for path in found if path.name != now)
