"""LAID: an orthogonal matrix that separates features of images and texts into meaning and style.

Source: Long et al., Rethinking the Evaluation of OOD Detection: A Sorites Paradox, NeurIPS 2024, section 2.1
and appendix B. The matrix is fitted on texts only, each with a meaning and a covariate (style, operation).
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.numpy import save
from sklearn.decomposition import PCA
from torch import Tensor
from torch.nn.functional import cosine_similarity, relu

from starter.data.images.imageset import ImageSet
from starter.data.sets.rendering import FromRecipe, Rendering
from starter.models.encoders import Encoder
from starter.models.encoders.choose import clip_templates, load_encoder
from starter.models.encoders.two_tower import TwoTowerEncoder
from starter.observing.cache import Cache
from starter.studies.shift.grid import NEIGHBOUR, shift_degrees
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import digest_of, read_lines, write_bytes
from submission.progress import progress
from submission.random import LAID, PROMPTS

STEPS, BATCH, RATE = 1000, 256, 1e-3
MARGIN = 0.25
ORTHOGONAL = 0.1
"""Weight of the orthogonality term."""
FILE = "laid.safetensors"
"""Name of the matrix's file in the folder of `unseen shift laid`."""
COVARIATES = 150
"""Largest number of templates that are drawn from an encoder's captions."""
_TEXTS = 1000
VERSION = 2
"""Part of every key of cached degrees: raise it when their computation changes."""
SHARE = 0.9
"""Share of the variance that PCA keeps."""

Decompose = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""A function from features (n, l) to their semantic and their covariate part, (n, p) and (n, q)."""


@dataclass(frozen=True, eq=False)
class Laid:
    """An orthogonal matrix, float32 (l, l), whose first l/2 columns are semantic; its encoder's name."""

    matrix: FloatArray
    encoder: str

    def decompose(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns the semantic and the covariate half, (n, l/2) each, of features (n, l) (eq. 1)."""
        parts = features @ self.matrix
        half = len(self.matrix) // 2
        return parts[:, :half], parts[:, half:]

    def save(self, path: Path) -> None:
        """Write the matrix and the encoder's name as safetensors, atomically and with reproducible bytes."""
        write_bytes(path, save({"matrix": np.ascontiguousarray(self.matrix)}, {"encoder": self.encoder}))

    @classmethod
    def load(cls, path: Path) -> "Laid":
        """Returns the matrix in a file of `save`, or in a folder of `unseen shift laid`."""
        path = path / FILE if path.is_dir() else path
        try:
            with safetensors.safe_open(path, framework="np") as file:
                return cls(file.get_tensor("matrix"), (file.metadata() or {})["encoder"])
        except (OSError, KeyError, safetensors.SafetensorError) as error:
            raise UnusableInput(
                f"{path} is no LAID matrix, which `unseen shift laid` writes: {error}"
            ) from error


def triplet_losses(
    standard: Tensor, semantic: Tensor, covariate: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """Returns L_sem and L_cov of eq. 2, of features (b, l) of a text, another meaning, another covariate."""
    half = standard.shape[1] // 2

    def distance(other: Tensor, part: slice) -> Tensor:
        return 1 - cosine_similarity(standard[:, part], other[:, part], dim=1)

    meaning, style = slice(0, half), slice(half, None)
    first = distance(covariate, meaning) - distance(semantic, meaning) + margin
    second = distance(semantic, style) - distance(covariate, style) + margin
    return relu(first).mean(), relu(second).mean()


def orthogonality(matrix: Tensor) -> Tensor:
    """Returns L_orth of eq. 3: the sum of squares of W'W - I."""
    return (matrix.T @ matrix - torch.eye(len(matrix), device=matrix.device)).square().sum()


def train_laid(
    features: FloatArray, encoder: str, seed: int = 0, steps: int = STEPS, device: str = "cpu"
) -> Laid:
    """Returns the matrix fitted on features (s, c, l), of meanings under covariates (eqs. 2-3)."""
    texts, rng = torch.from_numpy(features).to(device), LAID(seed)
    matrix = torch.from_numpy(_start(features)).to(device).requires_grad_()
    optimiser = torch.optim.Adam([matrix], RATE)
    with progress(range(steps), title="LAID", unit="steps") as bar:
        for _ in bar:
            standard, semantic, covariate = (each @ matrix for each in _triplets(texts, rng))
            meaning, style = triplet_losses(standard, semantic, covariate, MARGIN)
            loss = meaning + style + ORTHOGONAL * orthogonality(matrix)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    left, _, right = np.linalg.svd(matrix.detach().cpu().numpy().astype(np.float64))
    return Laid((left @ right).astype(np.float32), encoder)


def _triplets(texts: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Returns features (b, l) each of random texts, of others in meaning, and of others in covariate."""
    meanings, covariates, _ = texts.shape
    meaning = rng.integers(meanings, size=BATCH)
    covariate = rng.integers(covariates, size=BATCH)
    other_meaning = (meaning + rng.integers(1, meanings, BATCH)) % meanings
    other_covariate = (covariate + rng.integers(1, covariates, BATCH)) % covariates
    return texts[meaning, covariate], texts[other_meaning, covariate], texts[meaning, other_covariate]


def _start(features: FloatArray) -> FloatArray:
    """Returns the eigenvectors (l, l) of the scatter of meanings less that of styles, each with trace 1."""
    length, scatters = features.shape[2], []
    for axis in (0, 1):
        rows = (features - features.mean(axis, keepdims=True)).reshape(-1, length).astype(np.float64)
        scatters.append(rows.T @ rows / (rows**2).sum())
    return np.ascontiguousarray(np.linalg.eigh(scatters[0] - scatters[1])[1][:, ::-1], np.float32)


def text_pca(features: FloatArray) -> Decompose:
    """Returns the projection of texts (s, c, l) on principal components of either kind (app. B)."""
    parts = [features - features.mean(axis, keepdims=True) for axis in (0, 1)]
    meaning, covariate = (
        PCA(SHARE, svd_solver="covariance_eigh").fit(part.reshape(-1, features.shape[2]).astype(np.float64))
        for part in parts
    )
    return lambda rows: (rows @ meaning.components_.T, rows @ covariate.components_.T)


def text_features(encoder: Encoder, meanings: Sequence[str], covariates: Sequence[str]) -> FloatArray:
    """Returns features, float32 (s, c, l), of s meanings in c templates such as "a drawing of {}"."""
    texts = [covariate.replace("{}", meaning) for meaning in meanings for covariate in covariates]
    starts = progress(range(0, len(texts), _TEXTS), title="texts")
    rows = np.concatenate([encoder.encode_texts(texts[start : start + _TEXTS]) for start in starts])
    return rows.reshape(len(meanings), len(covariates), -1)


def caption_templates(phrases: Sequence[Sequence[str]], seed: int = 0) -> tuple[str, ...]:
    """Returns at most `COVARIATES` random templates of captions' phrases; the first is the meaning alone."""
    rng, templates = PROMPTS(seed), dict.fromkeys(["{}"])
    while len(templates) < min(COVARIATES, math.prod(len(some) + 1 for some in phrases[1:])):
        covariates = [str(rng.choice(some)) for some in phrases[1:] if rng.random() < 0.5]
        templates[", ".join(["{}", *covariates])] = None
    return tuple(templates)


def choose_prompts(
    encoder: Encoder, classes: Sequence[str], labels: Path | None = None, seed: int = 0
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the classes, or lines of `labels`, and templates of the encoder's captions, or else CLIP's."""
    meanings = tuple(dict.fromkeys(read_lines(labels))) if labels else tuple(classes)
    phrases = encoder.phrases if isinstance(encoder, TwoTowerEncoder) else None
    covariates = caption_templates(phrases, seed) if phrases else clip_templates()
    if min(len(meanings), len(covariates)) < 2:
        raise UnusableInput("LAID needs two meanings or more and two templates with one {} each")
    return meanings, covariates


def measured_degrees(
    renderings: Sequence[Rendering],
    ind: ImageSet,
    encoder: Encoder,
    laid: Laid,
    cache: Cache,
    device: str = "cpu",
) -> FloatArray:
    """Returns semantic and covariate degrees of the images of all sets, float32 (2, n), set by set."""
    matrix = hashlib.sha256(laid.matrix.tobytes()).hexdigest()
    digest = digest_of(VERSION, NEIGHBOUR, encoder.name, matrix, ind.digest)
    known, degrees = _halves(FromRecipe.whole(ind), encoder, laid), []
    for rendering in progress(renderings, "measure", unit="sets"):
        key = digest_of(digest, rendering.digest)
        found = cache.load("degrees", key, {"degrees": (np.float32, (2, len(rendering)))})
        if found is None:
            found = {"degrees": shift_degrees(_halves(rendering, encoder, laid), known, device)}
            cache.store("degrees", key, found)
        degrees.append(found["degrees"])
    return np.concatenate(degrees, axis=1)


def _halves(rendering: Rendering, encoder: Encoder, laid: Laid) -> tuple[FloatArray, FloatArray]:
    """Returns both halves of the features of a set's images, encoded chunk by chunk."""
    chunks = (np.ascontiguousarray(chunk.permute(0, 2, 3, 1).numpy()) for chunk in rendering.chunks())
    return laid.decompose(np.concatenate([encoder.encode_images(chunk) for chunk in chunks]))


def open_laid(
    spec: str, folder: str, classes: Sequence[str], kept: Path, seed: int = 0, device: str = "cpu"
) -> tuple[Encoder, Laid]:
    """Returns an encoder, and its matrix in `folder`, or one that is trained here once and kept in `kept`."""
    if folder:
        return read_laid(Path(folder), spec, device)
    encoder = load_encoder(spec, device)
    path = kept / f"laid-{digest_of(encoder.name, list(classes), seed, STEPS, MARGIN)}.safetensors"
    if path.exists():
        return encoder, Laid.load(path)
    texts = text_features(encoder, *choose_prompts(encoder, classes, seed=seed))
    found = train_laid(texts, encoder.name, seed, device=device)
    found.save(path)
    return encoder, found


def read_laid(path: Path, spec: str, device: str = "cpu") -> tuple[Encoder, Laid]:
    """Returns the encoder, and its matrix that `unseen shift laid` wrote; trains nothing."""
    laid, encoder = Laid.load(path), load_encoder(spec, device)
    if encoder.name != laid.encoder:
        raise UnusableInput(f"{path} belongs to the encoder {laid.encoder}: name that one by --encoder")
    return encoder, laid
