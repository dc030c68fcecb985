"""PCA of text features in the direction of meaning and of covariates: the rival of LAID's table 3."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SHARE = 0.9


@dataclass(frozen=True, eq=False)
class TextPCA:
    """Directions along which texts differ that differ in meaning alone, or in covariates alone.

    Attributes:
        semantic: float32 (l, p), orthonormal columns.
        covariate: float32 (l, q), likewise.
    """

    semantic: Floats
    covariate: Floats

    def decompose(self, features: Floats) -> tuple[Floats, Floats]:
        """Features (n, l) -> their semantic (n, p) and covariate (n, q) parts."""
        return features @ self.semantic, features @ self.covariate


def text_pca(features: Floats, share: float = SHARE) -> TextPCA:
    """The components that hold `share` of the variance, for each direction (Long et al. 2024, appendix B).

    Args:
        features: (s, c, l), of the text of each of s meanings under each of c covariates.
        share: in (0, 1].
    """
    meaning = features - features.mean(0, keepdims=True)
    covariate = features - features.mean(1, keepdims=True)
    return TextPCA(_components(meaning, share), _components(covariate, share))


def _components(deviations: Floats, share: float) -> Floats:
    """The main directions (l, p) of deviations (s, c, l)."""
    rows = deviations.reshape(-1, deviations.shape[-1]).astype(np.float64)
    variances, directions = np.linalg.eigh(rows.T @ rows)
    variances, directions = variances[::-1].clip(0), directions[:, ::-1]
    held = np.cumsum(variances) / variances.sum()
    return directions[:, : int(np.searchsorted(held, share - 1e-12)) + 1].astype(np.float32)
