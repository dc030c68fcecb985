"""Trees of image files in a folder or a zip, which are read one by one without unpacking the zip.

All checks of names and sizes apply to folders and zips alike. `starter.images.reading` decodes the images.
"""

import os
import stat
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from submission.errors import printable, unusable, why

MAX_BYTES = 8 << 30  # of one array in memory
MAX_FILE_BYTES = 64 << 20  # of one image file
MAX_DEPTH = 8  # folders in folders: a deeper one is taken for a link that leads back
SHOWN = 5  # strays that are named
BLOCK = 1 << 20  # bytes that are unpacked at a time
_SUFFIXES = {
    ".avif",
    ".bmp",
    ".gif",
    ".heic",
    ".heif",
    ".jfif",
    ".jp2",
    ".jpeg",
    ".jpg",
    ".pgm",
    ".png",
    ".pnm",
    ".ppm",
    ".tif",
    ".tiff",
    ".webp",
}
"""Suffixes of image files; those that Pillow cannot read here are named as unreadable, not as strays."""


@dataclass(frozen=True)
class Tree:
    """The files below a folder, or below a folder inside a zip.

    Attributes:
        path: Path given by the user.
        files: Relative paths with "/", sorted, without hidden files and those of macOS archives.
        read: Function that returns the bytes of one of `files`.
    """

    path: Path
    files: tuple[str, ...]
    read: Callable[[str], bytes]

    def images(self, depth: int) -> tuple[str, ...]:
        """Returns the image files `depth` folders down or deeper.

        Image files are recognised by their suffixes; if no file has one, every file `depth` folders down is
        regarded as an image. One line on the error stream lists other files.

        Raises:
            UnusableInput: an image is above these folders, or there is no image.
        """
        layout = "/".join((*("<set>", "<class>")[2 - depth :], "<image>"))
        chosen = self.every_image() or tuple(file for file in self.files if file.count("/") == depth)
        for file in chosen:
            if file.count("/") < depth:
                raise unusable(self.path / file, f"images are expected as {self.path}/{layout}")
        if not chosen:
            raise unusable(self.path, f"no images; they are expected as {self.path}/{layout}")
        tell_strays(self.path, sorted(set(self.files) - set(chosen)))
        return chosen

    def holds_images(self, depth: int) -> bool:
        """Returns True if an image file is `depth` folders down."""
        return any(file.count("/") == depth and _looks_like_image(file) for file in self.files)

    def second_folders(self) -> dict[str, frozenset[str]]:
        """Returns the subfolders with images of each top folder; the entry is empty if it has none."""
        found: dict[str, set[str]] = {}
        for file in self.every_image():
            top, *between = file.split("/")[:-1] or [""]
            found.setdefault(top, set()).update(between[:1])
        return {top: frozenset(below) for top, below in sorted(found.items()) if top}

    def images_anywhere(self) -> dict[str, tuple[str, ...]]:
        """Returns the image files at any depth below each top folder; an empty folder has an empty entry."""
        found: dict[str, list[str]] = {}
        for file in self.files:
            folder, slash, _ = file.partition("/")
            if slash:
                found.setdefault(folder, []).extend([file] if _looks_like_image(file) else [])
        return {folder: tuple(files) for folder, files in found.items()}

    def empty_folders(self) -> tuple[str, ...]:
        """Returns the visible top folders of a folder (not of a zip) without any file."""
        if not self.path.is_dir():
            return ()
        full = {file.partition("/")[0] for file in self.files}
        names = {path.name for path in self.path.iterdir() if path.is_dir() and path.name[0] != "."}
        return tuple(sorted(names - full))

    def every_image(self) -> tuple[str, ...]:
        """Returns the image files at any depth."""
        return tuple(file for file in self.files if _looks_like_image(file))

    def folders(self, depth: int) -> tuple[str, ...]:
        """Returns the top folders above `images(depth)`, sorted."""
        return tuple(sorted({file.split("/")[0] for file in self.images(depth)}))

    def below(self, folder: str) -> "Tree":
        """Returns the files below one folder of this tree."""
        files = tuple(file[len(folder) + 1 :] for file in self.files if file.startswith(f"{folder}/"))
        return Tree(self.path / folder, files, lambda file: self.read(f"{folder}/{file}"))


_told: set[tuple[Path, tuple[str, ...]]] = set()


def tell_strays(path: Path, strays: Sequence[str]) -> None:
    """Print one line about omitted files that are not images; the same line is printed once."""
    if not strays or (path, tuple(strays)) in _told:
        return
    _told.add((path, tuple(strays)))
    named = ", ".join(strays[:SHOWN]) + (", ..." if len(strays) > SHOWN else "")
    files = "1 file that is no image" if len(strays) == 1 else f"{len(strays)} files that are no images"
    print(printable(f"{path}: {files} left out: {named}"), file=sys.stderr)


def _looks_like_image(file: str) -> bool:
    return PurePosixPath(file).suffix.lower() in _SUFFIXES


@contextmanager
def open_tree(path: Path) -> Iterator[Tree]:
    """Yield the tree at `path`: a folder, a zip, or a folder in a zip, as ``photos.zip/animals``.

    Links below a folder are followed. A zip's members are read in memory, in the order of their names;
    nothing is extracted.

    Raises:
        UnusableInput: the folder or zip does not exist; a folder or file in it cannot be read, is a pipe, or
            is a broken or circular link; or a member's name is absolute, leads outside or occurs twice.
    """
    whole = container(path)
    if whole.is_dir():
        yield Tree(whole, tuple(sorted(_walk(whole))), _reader(whole))
        return
    with unzipped(whole, "a folder, a zip or an .npz") as zipped:
        inside = path.relative_to(whole).as_posix()
        tree = Tree(whole, _members(whole, zipped), _zip_reader(whole, zipped))
        yield tree if inside == "." else tree.below(inside)


@contextmanager
def unzipped(path: Path, expected: str) -> Iterator[zipfile.ZipFile]:
    """Yield the zip at `path`, open.

    Raises:
        UnusableInput: it is not a readable zip; the message says that `expected` was required.
    """
    try:
        opened = zipfile.ZipFile(path)
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        raise unusable(path, f"not {expected} that can be read ({why(error)})") from error
    with opened as zipped:
        yield zipped


def container(path: Path) -> Path:
    """Returns the folder at `path`, the file at `path`, or the file (a zip) that `path` leads into.

    Raises:
        UnusableInput: none of these exists, it is something else (a pipe, a device), or it is not accessible.
    """
    for whole in (path, *path.parents):
        mode = _mode(whole)
        if stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and whole == path):
            return whole
        if mode and not stat.S_ISDIR(mode):
            raise unusable(whole, "not a regular file or folder")
    raise unusable(path, "no such file or folder")


def _mode(path: Path) -> int:
    """Returns the mode of the file at `path`, for `stat.S_ISREG` and the like; 0 if it does not exist."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last of a null byte
        return 0
    except OSError as error:
        raise unusable(path, f"cannot be read ({why(error)})") from error


def _walk(folder: Path) -> Iterator[str]:
    """Yield the relative paths of the visible files below `folder`."""

    def refuse(error: OSError) -> None:
        raise unusable(error.filename, f"cannot be read ({why(error)})") from error

    for here, below, names in os.walk(folder, onerror=refuse, followlinks=True):
        below[:] = sorted(filter(_is_visible, below))
        inside = Path(here).relative_to(folder)
        if len(inside.parts) > MAX_DEPTH:
            raise unusable(here, f"over {MAX_DEPTH} folders deep; does a link lead back to a folder above?")
        for name in sorted(filter(_is_visible, names)):
            if not stat.S_ISREG(_mode(folder / inside / name)):
                raise unusable(folder / inside / name, "not a regular file or folder; take it away")
            yield (inside / name).as_posix()


def _is_visible(part: str) -> bool:
    return not part.startswith(".") and part != "__MACOSX"


def _members(archive: Path, zipped: zipfile.ZipFile) -> tuple[str, ...]:
    names = [name for name in zipped.namelist() if not name.endswith("/")]
    for name in names:
        parts = name.split("/")
        if "\\" in name or ":" in parts[0] or {"", ".", ".."} & set(parts):
            raise unusable(archive, f"member {name!r} is not a plain relative path; make the zip anew")
    twice, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 1))
    if times > 1:
        raise unusable(archive, f"member {twice!r} is there twice; make the zip anew")
    return tuple(sorted(name for name in names if all(map(_is_visible, name.split("/")))))


def _reader(folder: Path) -> Callable[[str], bytes]:
    def read(file: str) -> bytes:
        path = folder / file
        try:
            _check_size(path, path.stat().st_size)
            return path.read_bytes()
        except OSError as error:
            raise unusable(path, f"cannot be read ({why(error)})") from error

    return read


def _zip_reader(archive: Path, zipped: zipfile.ZipFile) -> Callable[[str], bytes]:
    def read(file: str) -> bytes:
        _check_size(archive / file, zipped.getinfo(file).file_size)
        try:
            return zipped.read(file)
        except Exception as error:  # a damaged, encrypted or strangely compressed member
            raise unusable(archive / file, f"cannot be read ({why(error)})") from error

    return read


def _check_size(path: Path, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise unusable(path, f"{size >> 20} MiB; an image file has at most {MAX_FILE_BYTES >> 20} MiB")
