"""Ruler: measures how far images are from a competition's ID images, in meaning and in style.

It consists of an encoder, given by name, and its LAID matrix, which is trained here if none is given.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders import Encoder, TwoTowerEncoder
from starter.encoders.choose import EMBEDDED, load_encoder
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache, Layout
from starter.sets.rendering import FromRecipe, Rendering
from starter.shift.degrees import NEIGHBOUR, shift_degrees
from starter.shift.laid import MARGIN, STEPS, Laid, train_laid
from starter.shift.prompts import choose_prompts
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import digest_of

VERSION = 1
"""Version of the computation, part of every key of cached degrees: raise it when the computation changes."""


@dataclass(frozen=True, eq=False)
class Ruler:
    """An encoder, its LAID matrix, and the features of the ID images from which distances are measured.

    Attributes:
        encoder: Encoder of the images.
        laid: LAID matrix of the encoder.
        known: Semantic and covariate halves of the ID images' features, float32 (m, l/2) each.
        digest: Hash of encoder, matrix and features.
        device: Device on which distances are computed.
    """

    encoder: Encoder
    laid: Laid
    known: tuple[FloatArray, FloatArray]
    digest: str
    device: str = "cpu"

    @classmethod
    def of(cls, encoder: Encoder, laid: Laid, ind: ImageSet, device: str = "cpu") -> "Ruler":
        """Returns the ruler that measures distances from the ID images `ind`.

        Raises:
            UnusableInput: The encoder cannot encode the images.
        """
        matrix = hashlib.sha256(laid.matrix.tobytes()).hexdigest()
        digest = digest_of(VERSION, NEIGHBOUR, encoder.name, matrix, ind.digest)
        return cls(encoder, laid, _halves(FromRecipe.whole(ind), encoder, laid), digest, device)

    def degrees(self, rendering: Rendering, cache: Cache | None = None) -> tuple[FloatArray, FloatArray]:
        """Returns semantic and covariate degrees of a set's images, float32 (n,) each, kept in the cache."""
        key = digest_of(self.digest, rendering.digest)
        shape = (np.float32, (len(rendering),))
        layout: Layout = {"semantic": shape, "covariate": shape}
        found = cache.load("degrees", key, layout) if cache else None
        if found is None:
            halves = _halves(rendering, self.encoder, self.laid)
            semantic, covariate = shift_degrees(halves, self.known, device=self.device)
            found = {"semantic": semantic, "covariate": covariate}
            if cache:
                cache.store("degrees", key, found)
        return found["semantic"], found["covariate"]

    def measure(
        self, renderings: Sequence[Rendering], cache: Cache, progress: bool = True, name: str = "measure"
    ) -> tuple[FloatArray, FloatArray]:
        """Returns the degrees of several sets, one after the other, and shows a tqdm bar named `name`."""
        bar = tqdm(renderings, name, unit="set", disable=None if progress else True)
        semantic, covariate = zip(*(self.degrees(each, cache) for each in bar), strict=True)
        return np.concatenate(semantic), np.concatenate(covariate)


def _halves(rendering: Rendering, encoder: Encoder, laid: Laid) -> tuple[FloatArray, FloatArray]:
    """Returns both halves of the features of a set's images, encoded chunk by chunk."""
    features = [encoder.encode_images(_channels_last(chunk)) for chunk in rendering.chunks()]
    return laid.decompose(np.concatenate(features))


def _channels_last(images: torch.Tensor) -> NDArray[np.uint8]:
    return np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())


def kept_in(root: Path) -> Path:
    """Make and return the folder of the competition in `root` for encoders and matrices trained for it."""
    Cache(root / "cache").make()
    return root / "cache/laid"


def open_laid(
    spec: str,
    folder: str,
    classes: Sequence[str],
    kept: Path,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[Encoder, Laid]:
    """Returns the encoder that `spec` names, and its LAID matrix.

    Args:
        spec: Encoder, as for `load_encoder`.
        folder: Folder that `unseen shift laid` wrote, or its file; "" to train a matrix here, on the texts of
            `choose_prompts`.
        classes: Names of the ID classes.
        kept: Folder in which a trained encoder and matrix are kept and found again.
        seed: Seed of the training.
        device: Device of encoder and training.
        progress: True to show tqdm bars.

    Raises:
        UnusableInput: As for `load_encoder`, `choose_prompts` and `read_laid`.
    """
    if folder:
        return read_laid(Path(folder), spec, device)
    encoder = load_encoder(spec, kept, seed, device, progress)
    path = kept / f"laid-{digest_of(encoder.name, list(classes), seed, STEPS, MARGIN)}.safetensors"
    if path.exists():
        return encoder, Laid.load(path, encoder)
    texts = choose_prompts(encoder, classes, seed=seed).features(encoder, progress)
    found = train_laid(texts, encoder.name, seed, device=device, progress=progress)
    found.save(path)
    return encoder, found


def read_laid(path: Path, spec: str, device: str = "cpu") -> tuple[Encoder, Laid]:
    """Returns the matrix that `unseen shift laid` wrote, and its encoder; trains nothing.

    Args:
        path: Folder or file of the matrix.
        spec: Encoder, as for `load_encoder`; "embedded" for the one that `unseen shift laid` wrote beside the
            matrix, whatever its seed.
        device: Device of the encoder, if it is CLIP.

    Raises:
        UnusableInput: Matrix or encoder cannot be read, or the matrix belongs to another encoder.
    """
    laid = Laid.load(path)
    if spec != EMBEDDED:
        encoder = load_encoder(spec, path, device=device)
        laid.require(encoder, str(path))
        return encoder, laid
    folder = path if path.is_dir() else path.parent
    beside = (TwoTowerEncoder.load(file) for file in sorted(folder.glob("encoder-*.safetensors")))
    for found in beside:
        if found.name == laid.encoder:
            return found, laid
    raise UnusableInput(
        f"{path} belongs to the encoder {laid.encoder}, which is not beside it: name that encoder "
        "(--encoder, or --grid of build)"
    )
