"""ViM: virtual-logit matching (Wang et al., CVPR 2022).

"ViM: Out-Of-Distribution with Virtual-logit Matching", arXiv 2203.10807.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from starter.observing.detectors.detector import Detector, Scores, features
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray

ROUNDING = 1e-12
"""Length of residuals, as a share of that of the features, below which they are rounding errors."""


@dataclass
class ViM(Detector):
    """alpha |R (h - u)| - log sum_c exp(f_c(h)), with penultimate features h and logits f.

    R projects onto the complement of the training features' principal space, of min(largest, d // 2)
    dimensions. u is the point at which the head's logits are 0, in least squares. alpha scales the first term
    so that its mean over the training images equals the mean of their largest logit; it is 0 if they are in
    the principal space. pytorch-ood's float32 is off by per cents if u is far away: this is float64.
    """

    largest: int = 256

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        self.weight_ = source.head_weight.astype(np.float64)
        self.bias_ = source.head_bias.astype(np.float64)
        self.origin_ = -np.linalg.pinv(self.weight_) @ self.bias_
        rows = features(source.train_ref).numpy()
        centred, d = rows - self.origin_, rows.shape[1]
        _, axes = np.linalg.eigh(centred.T @ centred)  # those of the largest eigenvalues are the last
        self.rest_ = axes[:, : d - min(self.largest, d // 2)]
        length, rounding = self._lengths(rows).mean(), ROUNDING * np.linalg.norm(centred, axis=1).mean()
        self.alpha_ = self._logits(rows).max(axis=1).mean() / length if length > rounding else 0.0

    def _score(self, observation: Observation) -> Scores:
        rows = features(observation).numpy()
        return self.alpha_ * self._lengths(rows) - logsumexp(self._logits(rows), axis=1)

    def _lengths(self, rows: FloatArray) -> FloatArray:
        """Returns |R (h - u)| of features h (n, d), (n,)."""
        return np.linalg.norm((rows - self.origin_) @ self.rest_, axis=1)

    def _logits(self, rows: FloatArray) -> FloatArray:
        """Returns the logits (n, k) of features (n, d)."""
        return rows @ self.weight_.T + self.bias_
