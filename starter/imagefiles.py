"""Image files: a folder, a zip or an .npz of labelled images, read whole and never unpacked or unpickled."""

import math
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import cv2
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from submission.errors import UnusableInput

MAX_BYTES = 8 << 30  # of one array in memory
MAX_FILE_BYTES = 64 << 20  # of one image file
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
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# What damaged, truncated, encrypted and strangely compressed files raise.
_BROKEN = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


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
                raise UnusableInput(f"{self.path / file}: images are expected as {self.path}/{layout}")
        if not chosen:
            raise UnusableInput(f"{self.path}: no images; they are expected as {self.path}/{layout}")
        return chosen

    def holds_images(self, depth: int) -> bool:
        """Whether an image file lies `depth` folders down."""
        return any(file.count("/") == depth and _looks_like_image(file) for file in self.files)

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

    A zip's members are read in memory, in the order of their names; nothing is extracted.

    Raises:
        UnusableInput: there is no such folder or zip, it cannot be read, or a member's name is absolute,
            leads outside or stands twice.
    """
    whole = container(path)
    if whole.is_dir():
        files = _visible(file.relative_to(whole) for file in whole.rglob("*") if file.is_file())
        yield Tree(whole, files, _reader(whole))
        return
    try:
        opened = zipfile.ZipFile(whole)
    except _BROKEN as error:
        raise UnusableInput(f"{whole}: not a folder, a zip or an .npz that can be read ({error})") from error
    with opened as zipped:
        inside = path.relative_to(whole).as_posix()
        tree = Tree(whole, _members(whole, zipped), _zip_reader(whole, zipped))
        yield tree if inside == "." else tree.below(inside)


def container(path: Path) -> Path:
    """The folder at `path`, or the file that `path` is or leads into.

    Raises:
        UnusableInput: there is neither, or it is out of reach.
    """
    try:
        return path if path.is_dir() else next(whole for whole in (path, *path.parents) if whole.is_file())
    except StopIteration:
        raise UnusableInput(f"{path}: no such file or folder") from None
    except OSError as error:
        raise UnusableInput(f"{path}: cannot be read ({error.strerror})") from error


def _visible(paths: Iterator[PurePosixPath] | Iterator[Path]) -> tuple[str, ...]:
    kept = (
        path for path in paths if not any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
    )
    return tuple(sorted(path.as_posix() for path in kept))


def _members(archive: Path, zipped: zipfile.ZipFile) -> tuple[str, ...]:
    names = [info.filename for info in zipped.infolist() if not info.is_dir()]
    for name in names:
        parts = name.split("/")
        if "\\" in name or ":" in parts[0] or {"", ".", ".."} & set(parts):
            raise UnusableInput(f"{archive}: member {name!r} is not a plain relative path; make the zip anew")
    twice, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 1))
    if times > 1:
        raise UnusableInput(f"{archive}: member {twice!r} stands there twice; make the zip anew")
    return _visible(PurePosixPath(name) for name in names)


def _reader(folder: Path) -> Callable[[str], bytes]:
    def read(file: str) -> bytes:
        path = folder / file
        try:
            _check_size(path, path.stat().st_size)
            return path.read_bytes()
        except OSError as error:
            raise UnusableInput(f"{path}: cannot be read ({error.strerror})") from error

    return read


def _zip_reader(archive: Path, zipped: zipfile.ZipFile) -> Callable[[str], bytes]:
    def read(file: str) -> bytes:
        try:
            info = zipped.getinfo(file)
            _check_size(archive / file, info.file_size)
            return zipped.read(info)
        except _BROKEN as error:
            raise UnusableInput(f"{archive / file}: cannot be read ({error})") from error

    return read


def _check_size(path: Path, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise UnusableInput(f"{path}: {size >> 20} MiB; an image file has at most {MAX_FILE_BYTES >> 20} MiB")


def read_images(tree: Tree, files: Sequence[str], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Decode `files` of `tree`: uint8 (n, h, w, 3), RGB, in their order.

    Grey images get three equal channels, transparency is dropped, 16-bit images are reduced to 8 bits.

    Args:
        size: (h, w) to which images of another size are resized (area interpolation, proportions not kept);
            None where all must have the first one's size.

    Raises:
        UnusableInput: an image cannot be read, or differs in size; the message names it.
    """
    images: NDArray[np.uint8] | None = None
    for index, file in enumerate(tqdm(files, f"read {tree.path.name}", unit="image", delay=1)):
        image = _decode(tree.path / file, tree.read(file))
        if size:
            image = resize(image, size)
        if images is None:
            if image.nbytes * len(files) > MAX_BYTES:
                raise UnusableInput(
                    f"{tree.path}: {len(files)} images of {_side(image)} take over {MAX_BYTES >> 30} GiB"
                )
            images = np.empty((len(files), *image.shape), np.uint8)
        if image.shape != images.shape[1:]:
            raise UnusableInput(
                f"{tree.path / file}: {_side(image)} pixels, but {files[0]} has {_side(images[0])}; "
                "all images must have one size"
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
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    except cv2.error:
        image = None
    if image is None:
        raise UnusableInput(f"{path}: not an image that OpenCV can read; convert it or take it away")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def _side(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, none of them pickled.

    Each array's header is compared with the room its data take in the file before any memory is set aside.

    Raises:
        UnusableInput: the file is missing, damaged, holds Python objects or an array beyond 8 GiB.
    """
    try:
        with zipfile.ZipFile(path) as zipped:
            for info in zipped.infolist():
                _check_header(zipped, info)
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError as error:
        raise UnusableInput(f"{path}: no such file") from error
    except (*_BROKEN, ValueError) as error:
        raise UnusableInput(f"{path}: not an .npz file that can be read ({error})") from error


def _check_header(zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    with zipped.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"{info.filename} has format version {version}")
        shape, _, dtype = _HEADERS[version](stream)
        room = info.file_size - stream.tell()
    if dtype.hasobject:
        raise ValueError(f"{info.filename} holds Python objects")
    if math.prod(shape) * dtype.itemsize != room or min(shape, default=0) < 0:
        raise ValueError(f"{info.filename}: {shape} {dtype} does not fit its {room} bytes")
    if room > MAX_BYTES:
        raise ValueError(f"{info.filename} has {room >> 30} GiB; at most {MAX_BYTES >> 30} are read")
