"""Trees of image files in a folder or a zip, which are read one by one without unpacking the zip."""

import io
import os
import re
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

from starter.data.images.imageset import in_order
from submission.errors import UnusableInput, tell_once, unusable, why
from submission.files import composed

SHOWN = 5  # strays that are named
SUFFIXES = frozenset(
    (
        *(".jpe", ".jpeg", ".jpg", ".jfi", ".jfif", ".jif"),
        *(".j2c", ".j2k", ".jp2", ".jpc", ".jpf", ".jpx"),
        *(".apng", ".png", ".gif", ".webp", ".avif", ".avifs", ".heic", ".heif"),
        *(".bmp", ".dib", ".ico", ".pcx", ".qoi", ".tga", ".tif", ".tiff"),
        *(".pbm", ".pfm", ".pgm", ".pnm", ".ppm"),
    )
)
"""Ends of the names of image files; one that Pillow cannot read is named as unreadable, not as a stray."""
PASSED_OVER = frozenset(
    (
        *("__macosx", "icon\r", "network trash folder", "temporary items"),  # macOS
        *("$recycle.bin", "recycler", "recycled", "system volume information", "found.000"),  # Windows
        *("thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini"),
        *("lost+found", "lost.dir"),  # Linux, Android
        *("@eadir", "@tmp", "@recycle", "@recently-snapshot", "@sharebin", "@__thumb"),  # file servers
        *("#recycle", "#snapshot", "~snapshot", "__pycache__"),
    )
)
"""Names, in lower case, of folders and files of systems and file servers: thumbnails, indices, bins.

Names that begin with a dot, as `.thumbnails` and AppleDouble's `._x.jpg`, are passed over too.
"""
_TYPE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}")
"""An end of a name that says what a file is; after any other end, as after none, its first bytes say it."""
_FIRST_BYTES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|BM.{4}\0{4}|RIFF.{4}WEBP|II[*+]\0|MM\0[*+]|qoif"
    rb"|P[1-6]\s+[#\d]|P[Ff]\s+\d|\0\0\0\x0cjP  |\xff\x4f\xff\x51"
    rb"|.{4}ftyp(avif|avis|heic|heix|heif|mif1|msf1)",
    re.DOTALL,
)
"""How files begin that are JPEG, PNG, GIF, BMP, WebP, TIFF, QOI, PNM, PFM, JPEG 2000, AVIF or HEIF."""
_HEAD = 64  # bytes


@dataclass(frozen=True)
class Tree:
    """The files below a folder, or below a folder inside a zip: visible ones, sorted, accents composed."""

    path: Path
    files: tuple[str, ...]
    visited: tuple[str, ...]
    open_file: Callable[[str], IO[bytes]]

    def read(self, file: str, count: int = -1) -> bytes:
        """Returns the bytes of one of `files`, or the first `count` of them; an error names the file."""
        try:
            with self.open_file(file) as stream:
                return stream.read(count)
        except Exception as error:  # a damaged, encrypted or strangely compressed member
            raise unusable(self.path / file, f"cannot be read ({why(error)})") from error

    def images(self, depth: int) -> tuple[str, ...]:
        """Returns the images `depth` folders down or deeper, and tells of other files; none may be above."""
        layout = "/".join((*("<set>", "<class>")[2 - depth :], "<image>"))
        chosen = self.every_image
        if not chosen or (above := [file for file in chosen if file.count("/") < depth]):
            reason = f"{above[0]} is in no folder" if chosen else "no images"
            raise unusable(self.path, f"{reason}; images are expected as {self.path}/{layout}")
        tell_strays(self.path, sorted(set(self.files) - set(chosen)))
        return chosen

    def holds_images(self, depth: int) -> bool:
        """Returns True if an image file is `depth` folders down."""
        return any(file.count("/") == depth for file in self.every_image)

    def second_folders(self) -> dict[str, frozenset[str]]:
        """Returns the subfolders with images of each top folder; the entry is empty if it has none."""
        found = {top: [file.split("/") for file in files] for top, files in self.images_anywhere().items()}
        return {top: frozenset(p[1] for p in parts if len(p) > 2) for top, parts in found.items() if parts}

    def images_anywhere(self) -> dict[str, tuple[str, ...]]:
        """Returns the image files at any depth below each top folder; an empty folder has an empty entry."""
        folders = {*self.empty_folders(), *(file.partition("/")[0] for file in self.files if "/" in file)}
        found: dict[str, list[str]] = {folder: [] for folder in sorted(folders)}
        for file in self.every_image:
            if "/" in file:
                found[file.partition("/")[0]].append(file)
        return {folder: tuple(files) for folder, files in found.items()}

    def empty_folders(self) -> tuple[str, ...]:
        """Returns the visible top folders without any file."""
        full = {file.partition("/")[0] for file in self.files}
        return tuple(sorted({folder.partition("/")[0] for folder in self.visited} - full))

    @cached_property
    def every_image(self) -> tuple[str, ...]:
        """The image files at any depth: by their suffix, or if that says nothing by their first bytes."""
        ends = {file: PurePosixPath(file).suffix.lower() for file in self.files}
        sure = {file for file, end in ends.items() if end in SUFFIXES}
        open_to = {file for file, end in ends.items() if not (sure and _TYPE.fullmatch(end))} - sure
        return tuple(sorted(sure | {file for file in open_to if self._begins_as_image(file)}))

    def _begins_as_image(self, file: str) -> bool:
        try:
            return _FIRST_BYTES.match(self.read(file, _HEAD)) is not None
        except UnusableInput:
            return False

    def folders(self, depth: int) -> tuple[str, ...]:
        """Returns the top folders above `images(depth)`, in the order of classes."""
        return in_order({file.split("/")[0] for file in self.images(depth)})

    def tested(self) -> "Tree":
        """Returns the files below test/ if class folders are in train/ and test/, else all."""
        return self.below("test") if self.holds_images(2) and "test" in self.folders(2) else self

    def below(self, folder: str) -> "Tree":
        """Returns the files below one folder of this tree."""
        files, visited = (
            tuple(name[len(folder) + 1 :] for name in names if name.startswith(f"{folder}/"))
            for names in (self.files, self.visited)
        )
        return Tree(self.path / folder, files, visited, lambda file: self.open_file(f"{folder}/{file}"))


def tell_strays(path: Path, strays: Sequence[str]) -> None:
    """Print one line about omitted files that are not images; the same line is printed once."""
    if strays:
        tell_once(f"{path}: {len(strays)} files that are no images left out: {_first(strays)}")


def _first(names: Sequence[str]) -> str:
    """Returns the first names of many for a message."""
    return ", ".join([*names[:SHOWN], *(["..."] if len(names) > SHOWN else [])])


@contextmanager
def open_tree(path: Path) -> Iterator[Tree]:
    """Yield the tree of a folder, of a zip, which is read in memory, or of a folder in it, as ``x.zip/a``."""
    whole = container(path)
    if whole.is_dir():
        files, folders = _walk(whole)
        names = _named(whole, ((file, str(whole / file)) for file in files))
        yield Tree(whole, tuple(sorted(names)), folders, lambda file: io.FileIO(names[file]))
        return
    try:
        zipped = zipfile.ZipFile(whole)
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        raise unusable(path, f"not a folder, a zip or an .npz that can be read ({why(error)})") from error
    with zipped:
        inside = composed(on_disk(path).relative_to(whole).as_posix())
        tree = _zip_tree(whole, zipped)
        yield tree if inside == "." else tree.below(inside)


def _zip_tree(path: Path, zipped: zipfile.ZipFile) -> Tree:
    """Returns the tree of a zip's visible members."""
    members = [(_member_name(info), info.filename) for info in zipped.infolist()]
    parts = [[part for part in name.split("/") if part not in ("", ".")] for name, _ in members]
    seen = [
        ("/".join(each), own, name.endswith("/"))
        for each, (name, own) in zip(parts, members, strict=True)
        if each and all(map(is_visible, each))
    ]
    names = _named(path, ((name, own) for name, own, is_folder in seen if not is_folder))
    folders = {composed(name) for name, _, is_folder in seen if is_folder}
    return Tree(path, tuple(sorted(names)), tuple(sorted(folders)), lambda file: zipped.open(names[file]))


def _member_name(info: zipfile.ZipInfo) -> str:
    """Returns a member's path with "/", in the UTF-8 that some programs write without saying so."""
    name = info.filename
    if not info.flag_bits & 0x800:  # zipfile took it for code page 437
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    return name.replace("\\", "/")


def _named(path: Path, files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns where each file is, by its relative path with composed accents; two of one name are refused."""
    names: dict[str, str] = {}
    for file, place in files:
        if names.setdefault(composed(file), place) != place:
            both = f"{names[composed(file)]!a} and {place!a}"
            raise unusable(path, f"{both} are one name, written in two ways: rename one of them")
    return names


def _walk(root: Path) -> tuple[list[str], tuple[str, ...]]:
    """Returns visible files and folders, each once by its real path; links count last, and make no circle."""
    waiting = deque([("", os.path.realpath(root))])
    links, seen = deque[tuple[str, str]](), dict[str, str]()
    files, linked = dict[str, str](), dict[str, str]()
    repeats = list[tuple[str, str]]()
    while waiting or links:
        name, place = waiting.popleft() if waiting else links.popleft()
        if seen.setdefault(place, name) != name:
            repeats.append((name, place))
            continue
        for entry in _entries(root / name):
            below, real = f"{name}/{entry.name}".lstrip("/"), f"{place}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append((below, real))
            elif _leads_to_folder(entry):
                target = os.path.realpath(real)
                inside_itself = f"{place}/".startswith(f"{target.rstrip('/')}/")
                (repeats if inside_itself else links).append((below, target))
            elif entry.is_symlink():
                linked[below] = os.path.realpath(real)
            elif entry.is_file():  # no pipe or device
                files[real] = below
    repeats += [(name, real) for name, real in linked.items() if real in files]
    if repeats:
        named = _first([name for name, _ in repeats])
        tell_once(f"{root}: {len(repeats)} links to what is there anyhow passed over: {named}")
    own = [*files.values(), *(name for name, real in linked.items() if real not in files)]
    return own, tuple(sorted(composed(name) for name in seen.values() if name))


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or to where nobody may look
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Returns the visible entries of a folder by their names."""
    try:
        with os.scandir(folder) as entries:
            return sorted((each for each in entries if is_visible(each.name)), key=lambda each: each.name)
    except OSError as error:
        raise unusable(folder, f"cannot be listed ({why(error)})") from error


def cache_folder() -> Path:
    """Returns the folder of downloads: `unseen` in $XDG_CACHE_HOME, or in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"


def container(path: Path) -> Path:
    """Returns the folder at `path`, the file at `path`, or the file (a zip) that `path` leads into."""
    path = on_disk(path)
    for whole in (path, *path.parents):
        if whole.is_file() or (whole == path and whole.is_dir()):
            return whole
    raise unusable(path, "no such file or folder")


def on_disk(path: Path) -> Path:
    """Returns a path with its accents composed or decomposed as they are in the names on the disk."""
    if str(path).isascii() or path.exists():
        return path
    folder = on_disk(path.parent)
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    return folder / next((name for name in names if composed(name) == composed(path.name)), path.name)


def is_visible(part: str) -> bool:
    """Returns True for the name of a file or folder that is the user's own."""
    return not (part.startswith(".") or part.endswith("~") or part.casefold() in PASSED_OVER)
