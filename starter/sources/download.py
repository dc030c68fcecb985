"""Published weights, which are downloaded at the user's request, kept, and checked before use."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from submission.errors import UnusableInput
from submission.files import replacing, sha256

TIMEOUT_SECONDS = 30
BLOCK_BYTES = 1 << 18
_FIX = "; get the file some other way and pass NAME=PATH"


@dataclass(frozen=True)
class Release:
    """A published weights file: its address, its size in bytes, and its SHA-256 or the known start of it."""

    url: str
    size: int | None
    sha256: str

    @property
    def filename(self) -> str:
        """The last part of the address."""
        return self.url.rpartition("/")[2]


_RELEASES = "https://github.com/chenyaofo/pytorch-cifar-models/releases/download"

#: Architecture -> weights trained on CIFAR-10, as the DataCV challenges used them.
OFFICIAL = {
    "resnet56": Release(
        f"{_RELEASES}/resnet/cifar10_resnet56-187c023a.pt",
        size=None,
        sha256="187c023aee0c9cf3093a682d9447a538cbaf5489f7ae78a7df4edf2246ce380b",
    ),
    "repvgg_a0": Release(
        f"{_RELEASES}/repvgg/cifar10_repvgg_a0-ef08a50e.pt",
        size=31_582_451,
        sha256="ef08a50e",  # all that the publisher's file name tells
    ),
}


def cache_folder() -> Path:
    """Returns the folder of downloads: `unseen` in $XDG_CACHE_HOME, or in ~/.cache.

    Raises:
        UnusableInput: the variable is not set, and the user has no home folder.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"
    except RuntimeError as error:
        raise UnusableInput(
            "there is no home folder to keep downloads in: set XDG_CACHE_HOME to a folder"
        ) from error


def fetch(release: Release, folder: Path) -> Path:
    """Returns the path of the release's file in `folder`; it is downloaded if missing or different.

    Raises:
        UnusableInput: there is no connection or no space, the address does not exist, or the file is not the
            published one.
    """
    path = folder / release.filename
    if path.is_file() and _difference(release, path.stat().st_size, sha256(path)) is None:
        return path
    try:
        with replacing(path) as temporary:
            _download(release, temporary)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UnusableInput(f"cannot download {release.url} to {folder}: {error}{_FIX}") from error
    return path


def _download(release: Release, path: Path) -> None:
    digest = hashlib.sha256()
    size = 0
    request = urllib.request.Request(release.url, headers={"User-Agent": "unseen"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response, path.open("wb") as stream:
        kind = response.headers.get_content_type()
        total = int(response.headers.get("Content-Length") or 0) or release.size
        with tqdm(total=total, unit="B", unit_scale=True, desc=release.filename, disable=None) as bar:
            while block := response.read(BLOCK_BYTES):
                stream.write(block)
                digest.update(block)
                size += len(block)
                bar.update(len(block))
    difference = _difference(release, size, digest.hexdigest())
    if difference is not None:
        page = ", a web page" if kind == "text/html" else ""
        raise UnusableInput(
            f"{release.url} gave something other than the published file{page}: {difference}{_FIX}"
        )


def _difference(release: Release, size: int, digest: str) -> str | None:
    if release.size is not None and size != release.size:
        return f"{size} bytes instead of {release.size}"
    if not digest.startswith(release.sha256):
        return f"its SHA-256 is {digest}, expected {release.sha256}"
    return None
