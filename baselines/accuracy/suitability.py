"""Suitability filter: has accuracy fallen by more than a margin?

Paper: Pouget, Yaghini, Rabanser & Papernot, "Suitability Filter: A Statistical Framework for Classifier
Evaluation in Real-World Deployment Settings", ICML 2025. The mean probability of being right, which it
computes, is also an estimate of the accuracy.
"""

from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import ttest_ind
from sklearn.linear_model import LogisticRegression

from baselines.accuracy.atc import row_log_odds
from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation
from starter.observing.temperature import blocks, joined
from submission.arrays import BoolArray, FloatArray

STRENGTH = 1.0
"""C of the logistic regression, the inverse of its penalty."""


def non_inferiority(target: FloatArray, reference: FloatArray, margin: float) -> float:
    """Returns the p-value of "a set's accuracy is lower by `margin` or more" (Welch's t, one-sided).

    The null hypothesis is mean(target) <= mean(reference) - margin: at a small p-value the set is suitable.
    Both are probabilities of being right, of n >= 2 images of the set (n,) and of labelled reference images
    (m,), or 1 and 0. The test covers sampling alone: natural shift may make the former wrong.

    >>> import numpy as np
    >>> reference = np.tile([1.0, 0.8], 500)
    >>> [non_inferiority(reference - fall, reference, margin=0.05) <= 0.05 for fall in (0.02, 0.1)]
    [True, False]
    """
    return float(ttest_ind(target + margin, reference, equal_var=False, alternative="greater").pvalue)


def signals(observation: Observation) -> FloatArray:
    """Returns seven numbers per image that indicate whether it is classified correctly, float64 (n, 7)."""
    return joined(_signals(block) for block in blocks(observation.logits))


def _signals(logits: Any) -> Any:
    """Returns the signals (n, 7) of each row of a block, a tensor (n, k)."""
    import torch  # not needed to list the methods

    energy = logits.logsumexp(dim=1)
    logs = logits - energy[:, None]
    p = logs.exp()
    top = p.topk(2, dim=1).values
    largest = logits.max(dim=1).values
    signals = [
        -(p * logs).sum(dim=1),
        top[:, 0] - top[:, 1],
        largest,
        logits.std(dim=1, unbiased=False),
        energy,
        (logs.sum(dim=1) - (largest - energy)) / (logits.shape[1] - 1),
        row_log_odds(logits),  # the last: it overwrites them
    ]
    return torch.stack(signals, dim=1)


class Suitability(Estimator):
    """Mean probability of being right, by a regression on the source (Pouget et al. 2025).

    It is a logistic regression on `signals`, fitted to the labelled source alone. For `non_inferiority`, pass
    `probabilities` of the set, and `reference_`: the probabilities of the reference images, each half by a
    regression fitted to the other half.
    """

    def _fit(self, meta: MetaTrain) -> None:
        source = meta.source
        rows, right = signals(source.observation), source.correct
        self.mean_ = rows.mean(axis=0)
        self.scale_ = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
        self.weights_ = self._learnt(rows, right)
        half = np.arange(len(rows)) % 2 == 0
        self.reference_ = np.empty(len(rows))
        for part in (half, ~half):
            self.reference_[part] = self._applied(rows[part], self._learnt(rows[~part], right[~part]))

    def _learnt(self, rows: FloatArray, right: BoolArray) -> FloatArray:
        """Returns the coefficients, then the intercept, (8,); the former are 0 if all or none are right."""
        none = np.zeros(rows.shape[1])
        if len(right) == 0 or right.all() or not right.any():
            share = (right.sum() + 0.5) / (len(right) + 1)
            return np.array([*none, np.log(share / (1 - share))])
        model = LogisticRegression(C=STRENGTH, max_iter=1000).fit((rows - self.mean_) / self.scale_, right)
        return np.array([*model.coef_[0], model.intercept_[0]])

    def _applied(self, rows: FloatArray, weights: FloatArray) -> FloatArray:
        return expit(((rows - self.mean_) / self.scale_) @ weights[:-1] + weights[-1])

    def probabilities(self, observation: Observation) -> FloatArray:
        """Returns each image's probability of being classified correctly, (n,)."""
        return self._applied(signals(observation), self.weights_)

    def _predict(self, observation: Observation) -> float:
        return float(self.probabilities(observation).mean())
