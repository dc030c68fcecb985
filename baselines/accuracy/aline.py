"""ALine: agreement-on-the-line.

Paper: Baek, Jiang, Raghunathan & Kolter, "Agreement-on-the-Line: Predicting the Performance of Neural
Networks under Distribution Shift", NeurIPS 2022. For pairs of networks, the probit of their agreement on
shifted images is a linear function of the probit of their agreement on the source; the probits of their
accuracies are related by the same line. Agreement needs no labels, so the line can be fitted, and then it
gives the accuracy.
"""

from itertools import combinations

import numpy as np
from scipy.stats import norm

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation, Source
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput

FORMS = ("d", "s")
"""ALine-D solves for the accuracies of all networks together; ALine-S reads each off the line."""
RIDGE = 1e-3
"""Penalty of the ridge regressions that give the random heads, relative to the mean squared feature."""


def probits(shares: FloatArray, n: int) -> FloatArray:
    """Returns Phi^-1 of shares of n images, same shape; shares are kept half an image away from 0 and 1."""
    return norm.ppf(np.clip(shares, 0.5 / n, 1 - 0.5 / n))


def agreements(predicted: IntArray) -> FloatArray:
    """Returns the share of images on which each pair of m networks agrees, (m (m - 1) / 2,).

    Args:
        predicted: Predicted classes (m, n).
    """
    return np.array([(a == b).mean() for a, b in combinations(predicted, 2)])


def line(known: FloatArray, shifted: FloatArray) -> tuple[float, float]:
    """Returns slope and intercept of `shifted` on `known`, probits of agreement (pairs,), by least squares.

    The slope is 1 for fewer than three pairs, or if least squares gives a negative one.
    """
    spread = ((known - known.mean()) ** 2).sum()
    slope = ((known - known.mean()) * shifted).sum() / spread if len(known) > 2 and spread > 0 else 1.0
    slope = float(slope) if slope > 0 else 1.0
    return slope, float(shifted.mean() - slope * known.mean())


def aline_s(agreed: FloatArray, right: FloatArray, shifted: FloatArray) -> FloatArray:
    """Returns ALine-S: probits of the accuracies on the set, slope * right + intercept, (m,).

    Args:
        agreed: Probits of each pair's agreement on the source, (m (m - 1) / 2,).
        right: Probits of each network's accuracy on the source, (m,).
        shifted: Probits of each pair's agreement on the set, (m (m - 1) / 2,).
    """
    slope, intercept = line(agreed, shifted)
    return slope * right + intercept


def aline_d(agreed: FloatArray, right: FloatArray, shifted: FloatArray) -> FloatArray:
    """Returns ALine-D: probits x (m,) of the accuracies of m >= 3 networks that fit all pairs best.

    They solve (x_i + x_j) / 2 = shifted_ij + slope ((right_i + right_j) / 2 - agreed_ij) for all pairs (i, j)
    by least squares. The arguments are those of `aline_s`.
    """
    slope, _ = line(agreed, shifted)
    pairs = list(combinations(range(len(right)), 2))
    halves = np.zeros((len(pairs), len(right)))
    for row, pair in zip(halves, pairs, strict=True):
        row[list(pair)] = 0.5
    return np.linalg.lstsq(halves, shifted + slope * (halves @ right - agreed), rcond=None)[0]


def random_heads(features: FloatArray, labels: IntArray, k: int, count: int, seed: int) -> FloatArray:
    """Returns `count` linear heads (count, d + 1, k) on features (n, d), each fitted to a few random images.

    They are ridge regressions of one-hot labels, fitted to 2, 4, 8, ... images per class, so that they differ
    in accuracy and span a long line; after the largest size the sizes start again, with other images.
    """
    rng = np.random.default_rng(seed)
    design, wanted = _design(features), np.eye(k)[labels]
    sizes = [k * 2**i for i in range(1, 20) if k * 2**i <= len(labels)] or [len(labels)]
    heads = []
    for i in range(count):
        rows = rng.choice(len(labels), sizes[i % len(sizes)], replace=False)
        x = design[rows]
        gram = x.T @ x / len(rows) + RIDGE * np.trace(x.T @ x) / len(rows) / x.shape[1] * np.eye(x.shape[1])
        heads.append(np.linalg.solve(gram, x.T @ wanted[rows] / len(rows)))
    return np.array(heads)


def _design(features: FloatArray) -> FloatArray:
    values = features.astype(np.float64)
    return np.hstack([values, np.ones((len(values), 1))])


class Aline(Estimator):
    """The classifier's accuracy by agreement-on-the-line with other classifiers or with random heads.

    Random heads on the classifier's own penultimate features take the place of other networks if there are
    none (Saxena et al., "Predicting the Performance of Foundation Models via Agreement-on-the-Line", NeurIPS
    2024). They are trained on every second reference image; agreement on the source is measured on the other
    images. A single pair gives no slope, so the slope is 1 and ALine-S is used.

    Args:
        heads: Number of random heads to use in place of the other classifiers; 0 to use these.
        form: "d" (ALine-D) or "s" (ALine-S).
        seed: Seed of the heads.
    """

    def __init__(self, heads: int = 0, form: str = "d", seed: int = 0) -> None:
        self.heads = heads
        self.form = form
        self.seed = seed

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The other classifiers' logits, or the features for the heads."""
        return ("features",) if self.heads else ("peers",)

    def _fit(self, meta: MetaTrain) -> None:
        if self.form not in FORMS:
            raise UnusableInput(f"aline: form must be {' or '.join(FORMS)}, got {self.form!r}")
        if not 0 <= self.heads <= 1000 or self.seed < 0:
            raise UnusableInput(f"aline: heads must lie in 0..1000 and seed be at least 0, got {self.heads}")
        source = meta.source
        self.heads_ = self._learnt_heads(source)
        rows = np.arange(1, len(source.labels), 2) if self.heads else np.arange(len(source.labels))
        rows = rows if len(rows) else np.arange(len(source.labels))
        predicted = self._votes(source.observation)[:, rows]
        self.agreed_ = probits(agreements(predicted), len(rows))
        self.right_ = probits((predicted == source.labels[rows]).mean(axis=1), len(rows))
        self.right_[0] = probits(np.array([source.accuracy]), len(source.labels))[0]

    def _learnt_heads(self, source: Source) -> FloatArray:
        seen = source.observation
        if not self.heads:
            return np.zeros((0, 0, 0))
        assert seen.features is not None
        every = slice(None, None, 2)
        k = seen.logits.shape[1]
        return random_heads(seen.features[every], source.labels[every], k, self.heads, self.seed)

    def _votes(self, observation: Observation) -> IntArray:
        """Returns the predicted classes of the classifier (first row) and of the others, int64 (m, n)."""
        if self.heads:
            assert observation.features is not None
            others = [_design(observation.features) @ head for head in self.heads_]
        else:
            assert observation.peers is not None
            others = list(observation.peers.values())
        return np.array([observation.predicted, *(logits.argmax(axis=1) for logits in others)])

    def _predict(self, observation: Observation) -> float:
        shifted = probits(agreements(self._votes(observation)), len(observation))
        solve = aline_d if self.form == "d" and len(self.right_) > 2 else aline_s
        return float(norm.cdf(solve(self.agreed_, self.right_, shifted)[0]))
