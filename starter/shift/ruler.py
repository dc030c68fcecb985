"""Measuring how far images are from a competition's ID images, in meaning and in style.

It takes an encoder, given by name, and its LAID matrix, which is trained here if none is given.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from starter.encoders import Encoder
from starter.encoders.choose import EMBEDDED, load_encoder
from starter.encoders.two_tower import TwoTowerEncoder
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache, Layout
from starter.sets.rendering import FromRecipe, Rendering
from starter.shift.grid import NEIGHBOUR, shift_degrees
from starter.shift.laid import MARGIN, STEPS, Laid, choose_prompts, train_laid
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import digest_of

VERSION = 1
"""Version of the computation, part of every key of cached degrees: raise it when the computation changes."""


def measured_degrees(
    renderings: Sequence[Rendering],
    ind: ImageSet,
    encoder: Encoder,
    laid: Laid,
    cache: Cache,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Returns semantic and covariate degrees of the images of all sets, float32 (n,) each, set by set.

    Args:
        renderings: Sets to measure.
        ind: ID images from which distances are measured.
        encoder: Encoder of the images.
        laid: LAID matrix of the encoder.
        cache: Cache in which each set's degrees are kept.
        device: Device on which distances are computed.
        progress: True to show a progress bar.
    """
    matrix = hashlib.sha256(laid.matrix.tobytes()).hexdigest()
    digest = digest_of(VERSION, NEIGHBOUR, encoder.name, matrix, ind.digest)
    known, degrees = _halves(FromRecipe.whole(ind), encoder, laid), []
    for rendering in tqdm(renderings, "measure", unit="set", disable=None if progress else True):
        key = digest_of(digest, rendering.digest)
        shape = (np.float32, (len(rendering),))
        layout: Layout = {"semantic": shape, "covariate": shape}
        found = cache.load("degrees", key, layout)
        if found is None:
            halves = shift_degrees(_halves(rendering, encoder, laid), known, device=device)
            found = dict(zip(layout, halves, strict=True))
            cache.store("degrees", key, found)
        degrees.append((found["semantic"], found["covariate"]))
    semantic, covariate = zip(*degrees, strict=True)
    return np.concatenate(semantic), np.concatenate(covariate)


def _halves(rendering: Rendering, encoder: Encoder, laid: Laid) -> tuple[FloatArray, FloatArray]:
    """Returns both halves of the features of a set's images, encoded chunk by chunk."""
    chunks = (np.ascontiguousarray(chunk.permute(0, 2, 3, 1).numpy()) for chunk in rendering.chunks())
    return laid.decompose(np.concatenate([encoder.encode_images(chunk) for chunk in chunks]))


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
        f"{path} belongs to the encoder {laid.encoder}, which is not beside it: name that encoder (--encoder)"
    )
