"""Functions that write files completely or not at all, read them up to a size, and hash them."""

import codecs
import csv
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import time
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from submission.errors import UnusableInput, printable, tell_once, unusable

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.tmp(-\w+)?|\.tmp[A-Za-z0-9]{6}", re.DOTALL)
"""Names of temporary files: those of `replacing`, and those that safetensors 0.8 and later makes itself."""
ABANDONED = 3600.0
"""Seconds since the last write after which a temporary file counts as the remains of a killed run."""


@contextmanager
def replacing(path: Path, private: bool = False, within: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success that file is fsynced and replaces `path`.

    With `private` its owner alone can read it. On an exception it is removed, and `path` unchanged. It lies
    `within` a folder that `sweep` cleans, if that is on the same file system and can be written to.
    """
    if path.is_dir():
        raise UnusableInput(f"{path} is a folder: name a file")
    require_writable(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent
    if within is not None and os.access(within, os.W_OK) and within.stat().st_dev == folder.stat().st_dev:
        folder = within
    temporary = temporary_in(folder, path.name)
    try:
        if private:
            temporary.touch(mode=0o600, exist_ok=False)
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL:  # the error does not name the file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def require_writable(folder: Path) -> None:
    """Refuse a folder in which nothing can be written, or that cannot be made, before any work for it."""
    there = next(place for place in (folder, *folder.absolute().parents) if Path(place).exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise UnusableInput(f"cannot write in {there.absolute()}: run in a folder of your own")


def temporary_in(folder: Path, name: str) -> Path:
    """Returns a path for a temporary file, which `sweep` removes if it stays."""
    return folder / f".{name[:64]}.{secrets.token_hex(4)}.tmp"


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk, if its file system can, so that a renaming survives a crash."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def writable(folder: Path) -> Path:
    """Returns the folder for what a competition's gets: itself, or if read-only ``unseen-NAME`` here."""
    read_only = folder.is_dir() and not os.access(folder, os.W_OK)
    return Path(f"unseen-{folder.resolve().name}") if read_only else folder


def sweep(root: Path, age: float = ABANDONED, but: Collection[str] = ()) -> None:
    """Remove killed runs' temporary files, not written for `age` seconds, but in some subfolders."""
    newest = time.time() - age
    for folder, within, names in os.walk(root):
        if folder == str(root):
            within[:] = [name for name in within if name not in but]
        for stray in (Path(folder, name) for name in names if _TEMPORARY.fullmatch(name)):
            with suppress(FileNotFoundError):
                if stray.lstat().st_mtime <= newest:
                    stray.unlink()


def write_bytes(path: Path, data: bytes, private: bool = False) -> None:
    """Write `data` to `path` atomically; see `replacing`."""
    with replacing(path, private) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    r"""Write `text` to `path` as UTF-8 with "\n" line ends, atomically."""
    write_bytes(path, text.encode())


def claim_folder(folder: Path, content: str, notes: Path | None = None) -> None:
    """Make a folder for a content, or accept an earlier run's; ``.<folder>.unseen`` in `notes` names it."""
    note = (notes or folder.parent) / f".{folder.name}.unseen"
    begun = note.is_file() and note.read_bytes() == content.encode()
    if not begun and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UnusableInput(
            f"{folder} holds other files, or was made with other settings: name another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for stray in folder.glob(".*.tmp"):
        shutil.rmtree(stray) if stray.is_dir() else stray.unlink()
    write_text(note, content)


def read_head(path: Path, count: int, follow: bool = True) -> bytes:
    """Returns the first `count` bytes of a regular file: no folder, pipe, device, or link unless `follow`."""
    # The check follows the opening: nobody can exchange the file in between, and opening never blocks.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        if not follow and path.is_symlink():
            raise UnusableInput(f"{printable(path)} is a symbolic link: hand in the file itself")
        if stat.S_ISREG(path.stat().st_mode):  # to open a device may do something
            with os.fdopen(os.open(path, flags), "rb") as stream:
                if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    return stream.read(count)
    except OSError as error:
        raise UnusableInput(f"{printable(path)} cannot be read: {error.strerror}") from error
    raise UnusableInput(f"{printable(path)} is not a file")


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


MAX_BYTES = 1 << 24


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    r"""Returns the whole text of a UTF-8 file of at most `most` bytes, with "\n" line ends."""
    data = read_head(path, most + 1)
    if len(data) > most:
        raise unusable(path, f"more than {most >> 20} MiB of text")
    return decoded(data, path)


def decoded(data: bytes, path: Path) -> str:
    r"""Returns the text of a file's UTF-8 bytes, without byte order mark and with "\n" line ends."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise unusable(path, "not UTF-8 text") from error


def read_lines(path: Path) -> list[str]:
    """Returns the lines of a text in UTF-8, UTF-16 or Windows-1252 that are not empty, stripped."""
    data = read_head(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise unusable(path, f"more than {MAX_BYTES >> 20} MiB of text")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    elif b"\0" in data:  # UTF-16 without its mark: the zeros of plain letters are its first or second bytes
        encodings = ["utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"]
    else:
        encodings = ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeError:
            continue
        if encoding == "cp1252":
            tell_once(f"{path}: not UTF-8; read as Windows-1252: save it as UTF-8 if names look wrong")
        return [line.strip() for line in text.splitlines() if line.strip()]
    raise unusable(path, "not text in UTF-8, UTF-16 or Windows-1252: save it as UTF-8")


def composed(text: str) -> str:
    """Returns a name with accents composed (NFC), as it is compared: file systems write it either way."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Returns rows of values as CSV, each line ended by a line feed."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def read_rows(
    path: Path, required: Collection[str], most: int = MAX_BYTES
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV, or by tabs, with their line numbers and stripped fields; missing are ""."""
    text = read_text(path, most)
    first = text.partition("\n")[0]
    separator = "\t" if path.suffix == ".tsv" or first.count("\t") > first.count(",") else ","
    rows = csv.DictReader(io.StringIO(text), restval="", delimiter=separator, strict=True)
    try:
        header = [str(name).strip() for name in rows.fieldnames or ()]
        if missing := [name for name in required if name not in header]:
            raise unusable(path, f"no column {missing[0]!r}; the header is {','.join(header)!r}")
        rows.fieldnames = header
        if twice := [name for name in header if name and header.count(name) > 1]:
            raise unusable(path, f"the column {twice[0]!r} is there twice")
        for row in rows:
            if any(row.pop(None, ())):
                raise unusable(path, f"line {rows.line_num}: more fields than the header's {len(header)}")
            yield rows.line_num, {name: field.strip() for name, field in row.items()}
    except csv.Error as error:
        raise unusable(path, f"line {rows.line_num}: no CSV ({error})") from error


def digest_of(*parts: object) -> str:
    """Returns 32 hexadecimal digits that depend on every part (plain JSON values) and their order."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
