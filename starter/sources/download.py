"""Published weights, which are downloaded at the user's request, kept, and checked before use."""

import http.client
import os
from dataclasses import dataclass
from pathlib import Path

from submission.errors import UnusableInput
from submission.files import replacing, sha256


@dataclass(frozen=True)
class Release:
    """A published weights file: its address, and its SHA-256 or the known start of it."""

    url: str
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
        "187c023aee0c9cf3093a682d9447a538cbaf5489f7ae78a7df4edf2246ce380b",
    ),
    "repvgg_a0": Release(
        f"{_RELEASES}/repvgg/cifar10_repvgg_a0-ef08a50e.pt",
        "ef08a50e",  # all that the publisher's file name tells
    ),
}


def cache_folder() -> Path:
    """Returns the folder of downloads: `unseen` in $XDG_CACHE_HOME, or in ~/.cache."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"
    except RuntimeError as error:
        raise UnusableInput(
            "there is no home folder to keep downloads in: set XDG_CACHE_HOME to a folder"
        ) from error


def fetch(release: Release, folder: Path) -> Path:
    """Returns the path of the release's file in `folder`; it is downloaded if missing or different."""
    from torch.hub import download_url_to_file

    path = folder / release.filename
    if path.is_file() and sha256(path).startswith(release.sha256):
        return path
    try:
        with replacing(path) as temporary:
            download_url_to_file(release.url, str(temporary), release.sha256)
    except (OSError, RuntimeError, http.client.HTTPException) as error:
        raise UnusableInput(
            f"cannot download {release.url} to {folder}: {error}; get the file some other way and pass "
            "NAME=PATH"
        ) from error
    return path
