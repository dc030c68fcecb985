"""LAID: an orthogonal matrix that separates features of images and texts into meaning and style.

Source: Long et al., Rethinking the Evaluation of OOD Detection: A Sorites Paradox, NeurIPS 2024, section 2.1
and appendix B. The matrix is fitted on texts only, each with a meaning and a covariate (style, operation).

The module also has the texts, and PCA of their features, which table 3 compares with LAID.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import Tensor
from torch.nn.functional import cosine_similarity, relu
from tqdm import tqdm

from starter.encoders import Encoder
from starter.encoders.clip import clip_templates
from starter.encoders.two_tower import TwoTowerEncoder
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import read_text, replacing
from submission.random import LAID, PROMPTS

STEPS, BATCH, RATE = 1000, 256, 1e-3
MARGIN = 0.25
ORTHOGONAL = 0.1
"""Weight of the orthogonality term."""
LARGEST_ERROR = 1e-3
FILE = "laid.safetensors"
"""Name of the matrix's file in the folder of `unseen shift laid`."""
COVARIATES = 150
"""Largest number of templates that are drawn from an encoder's captions."""
_TEXTS = 1000
SHARE = 0.9
"""Share of the variance that PCA keeps."""

Decompose = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""A function from features (n, l) to their semantic and their covariate part, (n, p) and (n, q)."""


@dataclass(frozen=True, eq=False)
class Laid:
    """An orthogonal matrix and the encoder that it belongs to.

    Attributes:
        matrix: Orthogonal matrix W, float32 (l, l), l even; the first half of its columns is semantic, the
            second covariate.
        encoder: Name of the encoder.
    """

    matrix: FloatArray
    encoder: str

    def __post_init__(self) -> None:
        if not self.error < LARGEST_ERROR:
            raise UnusableInput(f"LAID of {self.encoder}: the matrix is not orthogonal, by {self.error:.2g}")

    @property
    def error(self) -> float:
        """Largest absolute entry of W'W - I, in float64."""
        matrix = self.matrix.astype(np.float64)
        return float(abs(matrix.T @ matrix - np.eye(len(matrix))).max())

    def decompose(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns the semantic and the covariate half, (n, l/2) each, of features (n, l) (eq. 1)."""
        parts = features @ self.matrix
        half = len(self.matrix) // 2
        return parts[:, :half], parts[:, half:]

    def save(self, path: Path) -> None:
        """Write the matrix and the encoder's name as safetensors, atomically and with reproducible bytes."""
        with replacing(path) as temporary:
            save_file({"matrix": np.ascontiguousarray(self.matrix)}, temporary, {"encoder": self.encoder})

    @classmethod
    def load(cls, path: Path, encoder: Encoder | None = None) -> "Laid":
        """Returns the matrix in a file of `save`, or in a folder of `unseen shift laid`."""
        path = path / FILE if path.is_dir() else path
        try:
            with safetensors.safe_open(path, framework="np") as file:
                found = cls(file.get_tensor("matrix"), (file.metadata() or {})["encoder"])
        except (OSError, KeyError, safetensors.SafetensorError) as error:
            raise UnusableInput(
                f"{path} is no LAID matrix, which `unseen shift laid` writes: {error}"
            ) from error
        if encoder is not None:
            found.require(encoder, str(path))
        return found

    def require(self, encoder: Encoder, name: str = "the LAID matrix") -> None:
        """Raise UnusableInput if the matrix, called `name` in the message, belongs to another encoder."""
        if self.encoder != encoder.name:
            raise UnusableInput(f"{name} belongs to the encoder {self.encoder}, not to {encoder.name}")


def triplet_losses(
    standard: Tensor, semantic: Tensor, covariate: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """Returns L_sem and L_cov of eq. 2, means over the triplets, each triplet's loss at least 0.

    Args:
        standard: Transformed features of the standard text (b, l).
        semantic: Transformed features of a text with another meaning (b, l).
        covariate: Transformed features of a text with another covariate (b, l).
        margin: Margin alpha.
    """
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
    features: FloatArray,
    encoder: str,
    seed: int = 0,
    steps: int = STEPS,
    margin: float = MARGIN,
    device: str = "cpu",
    progress: bool = True,
) -> Laid:
    """Returns the matrix fitted on the features of texts (eqs. 2-3), rounded to the nearest orthogonal one.

    Args:
        features: Features of the texts (s, c, l), of s >= 2 meanings under c >= 2 covariates each.
        encoder: Name of their encoder.
        seed: Seed of the triplets, which are the same on every device.
        steps: Number of steps of Adam, with 256 triplets each.
        margin: Margin alpha of eq. 2.
        device: Name of PyTorch's device.
        progress: True to show a progress bar.
    """
    meanings, covariates, _ = features.shape
    texts = torch.from_numpy(features).to(device)
    rng = LAID(seed)
    matrix = torch.from_numpy(_start(features)).to(device).requires_grad_()
    optimiser = torch.optim.Adam([matrix], RATE)
    with tqdm(range(steps), desc="LAID", unit="step", disable=None if progress else True) as bar:
        for _ in bar:
            own, other = (rng.integers(size, size=BATCH) for size in (meanings, covariates))
            shifted = (own + rng.integers(1, meanings, BATCH)) % meanings
            restyled = (other + rng.integers(1, covariates, BATCH)) % covariates
            standard, semantic, covariate = (
                texts[i, j] @ matrix for i, j in ((own, other), (shifted, other), (own, restyled))
            )
            losses = triplet_losses(standard, semantic, covariate, margin)
            loss = losses[0] + losses[1] + ORTHOGONAL * orthogonality(matrix)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    left, _, right = np.linalg.svd(matrix.detach().cpu().numpy().astype(np.float64))
    return Laid((left @ right).astype(np.float32), encoder)


def _start(features: FloatArray) -> FloatArray:
    """Returns an orthogonal matrix (l, l) of directions, from more scatter of meanings to more of styles.

    They are the eigenvectors of the difference of the two scatter matrices, each with trace 1.
    """
    length, scatters = features.shape[2], []
    for axis in (0, 1):
        rows = (features - features.mean(axis, keepdims=True)).reshape(-1, length).astype(np.float64)
        scatters.append(rows.T @ rows / (rows**2).sum())
    return np.ascontiguousarray(np.linalg.eigh(scatters[0] - scatters[1])[1][:, ::-1], np.float32)


def text_pca(features: FloatArray, share: float = SHARE) -> Decompose:
    """Returns the projection on principal components of either kind (Long et al. 2024, app. B).

    Components of meaning are those of texts with the same covariate, components of covariates those of texts
    with the same meaning.

    Args:
        features: Features of the texts (s, c, l), of s meanings under c covariates each.
        share: Fraction of the variance that the components have, in (0, 1].
    """
    meaning = _components(features - features.mean(0, keepdims=True), share)
    covariate = _components(features - features.mean(1, keepdims=True), share)
    return lambda rows: (rows @ meaning, rows @ covariate)


def _components(deviations: FloatArray, share: float) -> FloatArray:
    """Returns the principal directions (l, p) of deviations (s, c, l)."""
    rows = deviations.reshape(-1, deviations.shape[-1]).astype(np.float64)
    variances, directions = np.linalg.eigh(rows.T @ rows)
    variances, directions = variances[::-1].clip(0), directions[:, ::-1]
    held = np.cumsum(variances) / variances.sum()
    return directions[:, : int(np.searchsorted(held, share - 1e-12)) + 1].astype(np.float32)


@dataclass(frozen=True)
class Prompts:
    """Texts of all combinations of meanings and covariates.

    Attributes:
        meanings: At least 2 names of classes, such as "the digit 7"; s is their number.
        covariates: At least 2 templates with one "{}" for the meaning, such as "a drawing of {}"; c is their
            number.
    """

    meanings: tuple[str, ...]
    covariates: tuple[str, ...]

    def __post_init__(self) -> None:
        if min(len(self.meanings), len(self.covariates)) < 2:
            raise UnusableInput("LAID needs two or more meanings and two or more covariates")
        for template in self.covariates:
            if template.count("{}") != 1:
                raise UnusableInput(f"the template {template!r} must have {{}} once, where the meaning goes")

    def plain(self, classes: Sequence[str]) -> list[str]:
        """Returns the first template filled with each class, for zero-shot classification."""
        return [self.covariates[0].replace("{}", name) for name in classes]

    def features(self, encoder: Encoder, progress: bool = False) -> NDArray[np.float32]:
        """Returns the encoder's features of every text, float32 (s, c, l), l their dimension."""
        texts = [cov.replace("{}", meaning) for meaning in self.meanings for cov in self.covariates]
        starts = tqdm(range(0, len(texts), _TEXTS), desc="texts", disable=None if progress else True)
        rows = np.concatenate([encoder.encode_texts(texts[start : start + _TEXTS]) for start in starts])
        return rows.reshape(len(self.meanings), len(self.covariates), -1)


def caption_prompts(phrases: Sequence[Sequence[str]], seed: int = 0, count: int = COVARIATES) -> Prompts:
    """Returns prompts from captions' phrases: the meanings, and `count` covariates drawn at random.

    The first template is "{}", the meaning alone.
    """
    rng, templates = PROMPTS(seed), dict.fromkeys(["{}"])
    while len(templates) < min(count, math.prod(len(some) + 1 for some in phrases[1:])):
        covariates = [str(rng.choice(some)) for some in phrases[1:] if rng.random() < 0.5]
        templates[", ".join(["{}", *covariates])] = None
    return Prompts(tuple(phrases[0]), tuple(templates))


def choose_prompts(
    encoder: Encoder,
    classes: Sequence[str],
    labels: Path | None = None,
    templates: Path | None = None,
    seed: int = 0,
) -> Prompts:
    """Returns a command's prompts: the classes with the covariates of the encoder's captions or CLIP's 80.

    Args:
        encoder: Encoder of the texts.
        classes: Names of the source's classes.
        labels: File with a meaning per line, which replaces the classes.
        templates: File with a template per line, with "{}" for the meaning, the plainest first.
        seed: Seed of the draw of captions.
    """
    if templates:
        covariates = _lines(templates)
    elif isinstance(encoder, TwoTowerEncoder):
        covariates = caption_prompts(encoder.phrases, seed).covariates
    else:
        covariates = clip_templates()
    return Prompts(_lines(labels) if labels else tuple(classes), covariates)


def _lines(path: Path) -> tuple[str, ...]:
    found = (line.strip() for line in read_text(path).splitlines())
    return tuple(dict.fromkeys(line for line in found if line))
