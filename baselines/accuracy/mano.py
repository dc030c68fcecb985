"""MaNo, the matrix norm of normalised logits.

Paper: Xie, Odonnat, Feofanov, Deng, Zhang & An, "MaNo: Exploiting Matrix Norm for Unsupervised Accuracy
Estimation Under Distribution Shifts", NeurIPS 2024, arXiv 2405.18979. Code: github.com/Renchunzi-Xie/MaNo.
"""

import numpy as np
from scipy.special import log_softmax

from baselines.contract.estimator import Regressed
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray

ORDER = 4
"""Order p of the entrywise norm, the paper's default."""
NORMALISERS = ("phi", "softmax", "taylor")
THRESHOLD = 5.0
"""eta: cross-entropy to the uniform distribution, in nats, above which the softmax is used."""


def uniform_cross_entropy(logits: FloatArray) -> float:
    """Returns Phi, the mean of -log softmax of the logits (n, k) over images and classes, in nats."""
    return float(-log_softmax(logits, axis=1).mean())


def taylor_softmax(logits: FloatArray) -> FloatArray:
    """Returns v - min(v) over its sum, v = 1 + q + q^2 / 2 of each row q (k,); uniform if all are equal."""
    values = 1 + logits + logits**2 / 2
    values -= values.min(axis=1, keepdims=True)
    sums = values.sum(axis=1, keepdims=True)
    return np.divide(values, sums, out=np.full_like(values, 1 / values.shape[1]), where=sums > 0)


def chosen_normaliser(source: Source) -> str:
    """Returns "softmax" if Phi > 5 on the source, where the logits are calibrated enough; else "taylor"."""
    phi = uniform_cross_entropy(source.observation.logits.astype(np.float64))
    return "softmax" if phi > THRESHOLD else "taylor"


def mano(target: Observation, source: Source, normaliser: str | None = None) -> float:
    """4-norm of the normalised logits (Xie et al. 2024).

    Returns (n k)^(-1/4) |Q|_4, in (0, 1], of the set's normalised logits Q (n, k). Q is the softmax, or
    `taylor_softmax`, which reduces overconfidence (eq. 6). The choice is made once, on the source, and kept
    for every set; otherwise the indicator would jump when Phi passes 5. The authors' code decides on the
    first set, averages over batches, and leaves batch normalisation in training mode; the paper does none of
    these. `normaliser` is the source's, if it is known already.
    """
    if (normaliser or chosen_normaliser(source)) == "softmax":
        normalised = target.probabilities
    else:
        normalised = taylor_softmax(target.logits.astype(np.float64))
    return float((normalised**ORDER).mean() ** (1 / ORDER))


class Mano(Regressed):
    """Regression of accuracy on `mano`; the normaliser "phi" chooses another by Phi on the source."""

    def __init__(self, normaliser: str = "phi", regressor: str = "linear") -> None:
        super().__init__(mano, (), regressor)
        self.normaliser = normaliser

    def _prepare(self, source: Source) -> None:
        self._require("normaliser", self.normaliser in NORMALISERS, ", ".join(NORMALISERS))
        self.normaliser_ = chosen_normaliser(source) if self.normaliser == "phi" else self.normaliser

    def _measure(self, observation: Observation) -> FloatArray:
        return np.array([mano(observation, self.source_, self.normaliser_)])
