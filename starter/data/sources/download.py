"""Published weights, which are downloaded at the user's request, kept, and checked before use."""

import http.client
import os
from pathlib import Path

from submission.errors import UnusableInput
from submission.files import replacing, sha256

_RELEASES = "https://github.com/chenyaofo/pytorch-cifar-models/releases/download"

#: Architecture -> weights trained on CIFAR-10, as the DataCV challenges used them: their address, and their
#: SHA-256 or the known start of it.
OFFICIAL = {
    "resnet56": (
        f"{_RELEASES}/resnet/cifar10_resnet56-187c023a.pt",
        "187c023aee0c9cf3093a682d9447a538cbaf5489f7ae78a7df4edf2246ce380b",
    ),
    "repvgg_a0": (
        f"{_RELEASES}/repvgg/cifar10_repvgg_a0-ef08a50e.pt",
        "ef08a50e",  # all that the publisher's file name tells
    ),
}


def cache_folder() -> Path:
    """Returns the folder of downloads: `unseen` in $XDG_CACHE_HOME, or in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"


def fetch(url: str, digest: str, folder: Path) -> Path:
    """Returns a published file in `folder`, downloaded unless it is there with a SHA-256 from `digest` on."""
    from torch.hub import download_url_to_file

    path = folder / url.rpartition("/")[2]
    if path.is_file() and sha256(path).startswith(digest):
        return path
    try:
        with replacing(path) as temporary:
            download_url_to_file(url, str(temporary), digest)
    except (OSError, RuntimeError, http.client.HTTPException) as error:
        raise UnusableInput(
            f"cannot download {url} to {folder}: {error}; get the file some other way and pass NAME=PATH"
        ) from error
    return path
