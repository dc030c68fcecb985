"""Trees of image files in a folder or a zip, which are read one by one without unpacking the zip.

`starter.data.images.reading` decodes the images.
"""

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from submission.errors import tell_once, unusable, why

SHOWN = 5  # strays that are named
_IMAGE = re.compile(r".+\.(avif|bmp|gif|heic|heif|jfif|jp2|jpe?g|p[gnp]m|png|tiff?|webp)", re.IGNORECASE)
"""Names of image files; those that Pillow cannot read here are named as unreadable, not as strays."""


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
        """Returns the image files `depth` folders down or deeper; an image above these folders is refused.

        If no file has the suffix of an image, every file `depth` folders down is regarded as an image. One
        line on the error stream lists other files.
        """
        layout = "/".join((*("<set>", "<class>")[2 - depth :], "<image>"))
        chosen = self.every_image() or tuple(file for file in self.files if file.count("/") == depth)
        if not chosen or (above := [file for file in chosen if file.count("/") < depth]):
            reason = f"{above[0]} is in no folder" if chosen else "no images"
            raise unusable(self.path, f"{reason}; images are expected as {self.path}/{layout}")
        tell_strays(self.path, sorted(set(self.files) - set(chosen)))
        return chosen

    def holds_images(self, depth: int) -> bool:
        """Returns True if an image file is `depth` folders down."""
        return any(file.count("/") == depth for file in self.every_image())

    def second_folders(self) -> dict[str, frozenset[str]]:
        """Returns the subfolders with images of each top folder; the entry is empty if it has none."""
        found = {top: [file.split("/") for file in files] for top, files in self.images_anywhere().items()}
        return {top: frozenset(p[1] for p in parts if len(p) > 2) for top, parts in found.items() if parts}

    def images_anywhere(self) -> dict[str, tuple[str, ...]]:
        """Returns the image files at any depth below each top folder; an empty folder has an empty entry."""
        folders = {*self.empty_folders(), *(file.partition("/")[0] for file in self.files if "/" in file)}
        found: dict[str, list[str]] = {folder: [] for folder in sorted(folders)}
        for file in self.every_image():
            if "/" in file:
                found[file.partition("/")[0]].append(file)
        return {folder: tuple(files) for folder, files in found.items()}

    def empty_folders(self) -> tuple[str, ...]:
        """Returns the visible top folders of a folder (not of a zip) without any file."""
        if not self.path.is_dir():
            return ()
        full = {file.partition("/")[0] for file in self.files}
        names = {path.name for path in self.path.iterdir() if path.is_dir() and _is_visible(path.name)}
        return tuple(sorted(names - full))

    def every_image(self) -> tuple[str, ...]:
        """Returns the image files at any depth."""
        return tuple(file for file in self.files if _IMAGE.fullmatch(file))

    def folders(self, depth: int) -> tuple[str, ...]:
        """Returns the top folders above `images(depth)`, sorted."""
        return tuple(sorted({file.split("/")[0] for file in self.images(depth)}))

    def tested(self) -> "Tree":
        """Returns the files below test/ if class folders are in train/ and test/, else all."""
        return self.below("test") if self.holds_images(2) and "test" in self.folders(2) else self

    def below(self, folder: str) -> "Tree":
        """Returns the files below one folder of this tree."""
        files = tuple(file[len(folder) + 1 :] for file in self.files if file.startswith(f"{folder}/"))
        return Tree(self.path / folder, files, lambda file: self.read(f"{folder}/{file}"))


def tell_strays(path: Path, strays: Sequence[str]) -> None:
    """Print one line about omitted files that are not images; the same line is printed once."""
    if strays:
        named = ", ".join(strays[:SHOWN]) + (", ..." if len(strays) > SHOWN else "")
        tell_once(f"{path}: {len(strays)} files that are no images left out: {named}")


@contextmanager
def open_tree(path: Path) -> Iterator[Tree]:
    """Yield the tree at `path`: a folder, a zip, or a folder in a zip, as ``photos.zip/animals``.

    Links below a folder are followed. A zip's members are read in memory, in the order of their names;
    nothing is extracted.
    """
    whole = container(path)
    if whole.is_dir():
        files = (Path(here, name) for here, _, names in os.walk(whole, followlinks=True) for name in names)
        yield _tree(
            whole, (file.relative_to(whole).as_posix() for file in files), lambda f: (whole / f).read_bytes()
        )
        return
    try:
        zipped = zipfile.ZipFile(whole)
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        raise unusable(path, f"not a folder, a zip or an .npz that can be read ({why(error)})") from error
    with zipped:
        inside = path.relative_to(whole).as_posix()
        members = (name for name in zipped.namelist() if not name.endswith("/"))
        tree = _tree(whole, members, zipped.read)
        yield tree if inside == "." else tree.below(inside)


def _tree(path: Path, files: Iterator[str], read: Callable[[str], bytes]) -> Tree:
    """Returns the tree of the visible ones of these files; an error in reading one names it."""

    def read_named(file: str) -> bytes:
        try:
            return read(file)
        except Exception as error:  # a damaged, encrypted or strangely compressed member
            raise unusable(path / file, f"cannot be read ({why(error)})") from error

    return Tree(path, tuple(sorted(f for f in files if all(map(_is_visible, f.split("/"))))), read_named)


def container(path: Path) -> Path:
    """Returns the folder at `path`, the file at `path`, or the file (a zip) that `path` leads into."""
    for whole in (path, *path.parents):
        if whole.is_file() or (whole == path and whole.is_dir()):
            return whole
    raise unusable(path, "no such file or folder")


def _is_visible(part: str) -> bool:
    return not part.startswith(".") and part != "__MACOSX"
