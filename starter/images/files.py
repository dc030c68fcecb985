"""Image files: a folder, a zip or an .npz of labelled images, read whole and never unpacked or unpickled.

One module: a folder and a zip are one tree, and each check of a name or a size holds for both.
"""

import io
import os
import stat
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from tqdm import tqdm

from submission.errors import unusable, why

MAX_BYTES = 8 << 30  # of one array in memory
MAX_FILE_BYTES = 64 << 20  # of one image file
MAX_PIXELS = 64 * 10**6  # of one image
MAX_DEPTH = 8  # folders in folders: what is deeper is taken for a link that leads back
BLOCK = 1 << 20  # bytes that are unpacked at a time
_SUFFIXES = {
    ".bmp",
    ".gif",
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


@dataclass(frozen=True)
class Tree:
    """The files below a folder, or below a folder inside a zip.

    Attributes:
        path: what the user named.
        files: relative paths with "/", sorted, hidden files and those of macOS archives left out.
        read: the bytes of one of `files`.
    """

    path: Path
    files: tuple[str, ...]
    read: Callable[[str], bytes]

    def images(self, depth: int) -> tuple[str, ...]:
        """The files `depth` folders down, all taken for images; other files may be no images.

        Raises:
            UnusableInput: an image lies elsewhere, or there is none.
        """
        chosen = tuple(file for file in self.files if file.count("/") == depth)
        layout = "/".join((*("<set>", "<class>")[2 - depth :], "<image>"))
        for file in self.files:
            if file.count("/") != depth and _looks_like_image(file):
                raise unusable(self.path / file, f"images are expected as {self.path}/{layout}")
        if not chosen:
            raise unusable(self.path, f"no images; they are expected as {self.path}/{layout}")
        return chosen

    def holds_images(self, depth: int) -> bool:
        """Whether an image file lies `depth` folders down."""
        return any(file.count("/") == depth and _looks_like_image(file) for file in self.files)

    def images_anywhere(self) -> dict[str, tuple[str, ...]]:
        """The image files at any depth below each top folder; a folder without any has an empty entry."""
        found: dict[str, list[str]] = {}
        for file in self.files:
            folder, slash, _ = file.partition("/")
            if slash:
                found.setdefault(folder, []).extend([file] if _looks_like_image(file) else [])
        return {folder: tuple(files) for folder, files in found.items()}

    def empty_folders(self) -> tuple[str, ...]:
        """The top folders of a folder, not of a zip, that hold no file at all; hidden ones are left out."""
        if not self.path.is_dir():
            return ()
        full = {file.partition("/")[0] for file in self.files}
        names = {path.name for path in self.path.iterdir() if path.is_dir() and path.name[0] != "."}
        return tuple(sorted(names - full))

    def every_image(self) -> tuple[str, ...]:
        """The image files at any depth."""
        return tuple(file for file in self.files if _looks_like_image(file))

    def folders(self, depth: int) -> tuple[str, ...]:
        """The top folders above `images(depth)`, sorted."""
        return tuple(sorted({file.split("/")[0] for file in self.images(depth)}))

    def below(self, folder: str) -> "Tree":
        """The files below one folder of this tree."""
        files = tuple(file[len(folder) + 1 :] for file in self.files if file.startswith(f"{folder}/"))
        return Tree(self.path / folder, files, lambda file: self.read(f"{folder}/{file}"))


def _looks_like_image(file: str) -> bool:
    return PurePosixPath(file).suffix.lower() in _SUFFIXES


@contextmanager
def open_tree(path: Path) -> Iterator[Tree]:
    """The tree at `path`: a folder, a zip, or a folder inside a zip written as ``photos.zip/animals``.

    Links below a folder are followed. A zip's members are read in memory, in the order of their names;
    nothing is extracted.

    Raises:
        UnusableInput: there is no such folder or zip, a folder or file in it cannot be read, is a pipe or
            leads nowhere or back, or a member's name is absolute, leads outside or stands twice.
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
    """The zip at `path`, open.

    Raises:
        UnusableInput: it is no zip that can be read; `expected` says what was asked for.
    """
    try:
        opened = zipfile.ZipFile(path)
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        raise unusable(path, f"not {expected} that can be read ({why(error)})") from error
    with opened as zipped:
        yield zipped


def container(path: Path) -> Path:
    """The folder at `path`, or the file that `path` is or leads into.

    Raises:
        UnusableInput: there is neither, it is something else (a pipe, a device), or it is out of reach.
    """
    for whole in (path, *path.parents):
        mode = _mode(whole)
        if stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and whole == path):
            return whole
        if mode and not stat.S_ISDIR(mode):
            raise unusable(whole, "not a regular file or folder")
    raise unusable(path, "no such file or folder")


def _mode(path: Path) -> int:
    """The type of what is at `path`, for `stat.S_ISREG` and the like; 0 where there is nothing."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last of a null byte
        return 0
    except OSError as error:
        raise unusable(path, f"cannot be read ({why(error)})") from error


def _walk(folder: Path) -> Iterator[str]:
    """The files below `folder` that are not hidden, by their paths from there."""

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
        raise unusable(archive, f"member {twice!r} stands there twice; make the zip anew")
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


def read_images(tree: Tree, files: Sequence[str], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Decode `files` of `tree`: uint8 (n, h, w, 3), RGB, in their order.

    Grey images get three equal channels, transparency is dropped, 16-bit images are reduced to 8 bits.

    Args:
        size: (h, w) to which images of another size are resized (area interpolation, proportions not kept);
            None where all must have the first one's size.

    Raises:
        UnusableInput: an image cannot be read, has over 64 megapixels (it is not decoded then) or differs in
            size; the message names it.
    """
    images: NDArray[np.uint8] | None = None
    for index, file in enumerate(tqdm(files, f"read {tree.path.name}", unit="image", delay=1)):
        image = _decode(tree.path / file, tree.read(file))
        if size:
            image = resize(image, size)
        if images is None:
            if image.nbytes * len(files) > MAX_BYTES:
                raise unusable(
                    tree.path, f"{len(files)} images of {_side(image)} take over {MAX_BYTES >> 30} GiB"
                )
            images = np.empty((len(files), *image.shape), np.uint8)
        if image.shape != images.shape[1:]:
            raise unusable(
                tree.path / file,
                f"{_side(image)} pixels, but {files[0]} has {_side(images[0])}; all must have one size",
            )
        images[index] = image
    if images is None:
        raise ValueError("files must name at least one image")
    return images


def resize(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The image (h, w, 3) at `size`, itself (h, w); by area interpolation, proportions not kept."""
    if image.shape[:2] == size:
        return image
    return np.asarray(cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA), np.uint8)


def _decode(path: Path, data: bytes) -> NDArray[np.uint8]:
    _check_image(path, data)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    except cv2.error:
        image = None
    if image is None:
        raise unusable(path, "not an image that OpenCV can read; convert it or take it away")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def _check_image(path: Path, data: bytes) -> None:
    """Refuse what Pillow does not know, too many pixels, and a damaged PNG, before room is made for it.

    OpenCV knows more formats, some of which say nothing of their size that can be checked.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(io.BytesIO(data))
            pixels = image.width * image.height
        except Image.DecompressionBombError:
            pixels = MAX_PIXELS + 1
        except Exception as error:  # unknown, or damaged in one of many ways
            raise unusable(path, "not an image that Pillow can read; convert it or take it away") from error
    if pixels > MAX_PIXELS:
        raise unusable(path, f"over {MAX_PIXELS // 10**6} megapixels; make it smaller or take it away")
    try:
        image.verify()
    except Exception as error:
        raise unusable(path, f"not an image that is whole ({why(error)})") from error


def _side(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"
