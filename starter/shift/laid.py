"""LAID: an orthogonal matrix that separates features of images and texts into meaning and style.

Source: Long et al., Rethinking the Evaluation of OOD Detection: A Sorites Paradox, NeurIPS 2024, section 2.1
and appendix B. The matrix is fitted on texts only, each with a meaning and a covariate (style, operation).

The module also has PCA of text features by meaning and by covariates, which table 3 compares with LAID.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.numpy import save_file
from torch import Tensor
from torch.nn.functional import cosine_similarity, relu
from tqdm import tqdm

from starter.encoders import Encoder
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import replacing
from submission.random import LAID

STEPS, BATCH, RATE = 1000, 256, 1e-3
MARGIN = 0.25
ORTHOGONAL = 0.1
"""Weight of the orthogonality term."""
LARGEST_ERROR = 1e-3
FILE = "laid.safetensors"
"""Name of the matrix's file in the folder of `unseen shift laid`."""
ALIKE = 1e-8
"""Smallest mean scatter of unit features of texts that the encoder distinguishes."""


@dataclass(frozen=True, eq=False)
class Laid:
    """An orthogonal matrix and the encoder that it belongs to.

    Attributes:
        matrix: Orthogonal matrix W, float32 (l, l), l even; the first half of its columns is semantic, the
            second covariate.
        encoder: Name of the encoder.

    Raises:
        UnusableInput: the matrix is not square, of odd size, or not orthogonal within 1e-3.
    """

    matrix: FloatArray
    encoder: str

    def __post_init__(self) -> None:
        shape = self.matrix.shape
        if len(shape) != 2 or shape[0] != shape[1] or not shape[0] or shape[0] % 2:
            raise UnusableInput(f"LAID of {self.encoder}: the matrix must be (l, l), l even, got {shape}")
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
        """Returns the matrix in a file of `save`, or in a folder of `unseen shift laid`.

        Raises:
            UnusableInput: it is another file, or the matrix belongs to another encoder than the given one.
        """
        path = path / FILE if path.is_dir() else path
        if not path.exists():
            raise UnusableInput(
                f"{path} is no LAID matrix: there is no such file; `unseen shift laid` writes one"
            )
        try:
            with safetensors.safe_open(path, framework="np") as file:
                found = cls(file.get_tensor("matrix"), (file.metadata() or {})["encoder"])
        except (OSError, KeyError, safetensors.SafetensorError) as error:
            raise UnusableInput(f"{path} is no LAID matrix: {error}") from error
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

    Raises:
        UnusableInput: there are fewer than two meanings or covariates, or l is odd.
    """
    if features.ndim != 3 or min(features.shape[:2]) < 2 or features.shape[2] % 2:
        raise UnusableInput(f"LAID needs texts (s >= 2, c >= 2, l even), got {features.shape}")
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
        if (rows**2).sum() < ALIKE * len(rows):
            told = ("meanings", "covariates")[axis]
            raise UnusableInput(f"LAID: the encoder tells no {told} of the texts apart: give others")
        scatters.append(rows.T @ rows / (rows**2).sum())
    return np.ascontiguousarray(np.linalg.eigh(scatters[0] - scatters[1])[1][:, ::-1], np.float32)


SHARE = 0.9


@dataclass(frozen=True, eq=False)
class TextPCA:
    """Directions of differences between texts with the same covariate, or with the same meaning.

    Attributes:
        semantic: Directions of meaning, float32 (l, p), orthonormal columns.
        covariate: Directions of covariates, float32 (l, q), orthonormal columns.
    """

    semantic: FloatArray
    covariate: FloatArray

    def decompose(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns the semantic (n, p) and the covariate part (n, q) of features (n, l)."""
        return features @ self.semantic, features @ self.covariate


def text_pca(features: FloatArray, share: float = SHARE) -> TextPCA:
    """Returns principal components of either kind with `share` of the variance (Long et al. 2024, app. B).

    Args:
        features: Features of the texts (s, c, l), of s meanings under c covariates each.
        share: Fraction of the variance, in (0, 1].
    """
    meaning = features - features.mean(0, keepdims=True)
    covariate = features - features.mean(1, keepdims=True)
    return TextPCA(_components(meaning, share), _components(covariate, share))


def _components(deviations: FloatArray, share: float) -> FloatArray:
    """Returns the principal directions (l, p) of deviations (s, c, l)."""
    rows = deviations.reshape(-1, deviations.shape[-1]).astype(np.float64)
    variances, directions = np.linalg.eigh(rows.T @ rows)
    variances, directions = variances[::-1].clip(0), directions[:, ::-1]
    held = np.cumsum(variances) / variances.sum()
    return directions[:, : int(np.searchsorted(held, share - 1e-12)) + 1].astype(np.float32)
