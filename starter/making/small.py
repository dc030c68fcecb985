"""The embedded classifier, `small`, which is trained once per user and kept, so its bytes are the same."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch

from starter.classifiers import Classifier, read_classifier, save_classifier
from starter.classifiers.networks import network, small
from starter.classifiers.networks.network import Network
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, train_small
from starter.images.imageset import ImageSet
from starter.sources.download import cache_folder
from submission import UnusableInput
from submission.files import digest_of, sha256


def kept_small(train: ImageSet, classes: Sequence[str], seed: int) -> Network:
    """Returns `small` for these images and seed: from the user's cache folder, or trained and kept there.

    Simultaneous builds may both train; they write the same bytes, each file atomically. If the folder cannot
    be written, nothing is kept; a damaged file is replaced.

    Args:
        train: Labelled training images.
        classes: Names of the classes.
        seed: Seed of the training.
    """
    path = cache_folder() / "small" / f"{_key(train, classes, seed)}.safetensors"
    if path.is_file():
        with suppress(UnusableInput):
            return read_classifier(path, "small").network
    trained = train_small(train, len(classes), seed)
    with suppress(OSError):
        save_classifier(Classifier("small", "small", trained, tuple(classes), SMALL_MEAN, SMALL_STD), path)
    return trained


def _key(train: ImageSet, classes: Sequence[str], seed: int) -> str:
    """Returns a hash of everything that the weights depend on, with the code and the settings of PyTorch."""
    code = sha256(Path(network.__file__)), sha256(Path(small.__file__))
    computes = (torch.__version__, torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())
    return digest_of(train.digest, *classes, seed, *code, *computes)
