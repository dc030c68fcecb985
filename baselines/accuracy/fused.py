"""Fused: the expected accuracy by the fused posteriors of classifier and referee, with the set's class prior.

The posteriors softmax(a z_classifier + b z_referee) are a product of experts (Hinton, "Training Products of
Experts by Minimizing Contrastive Divergence", Neural Computation 2002), whose prior EM adapts to the set
(`baselines.accuracy.priors`). The fusion was developed for this kit.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax

from baselines.accuracy.priors import em_prior, expected_accuracy, reweighted, source_prior
from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation
from submission.arrays import BoolArray, FloatArray

TINY = np.finfo(np.float64).tiny
ROUNDS = 3
"""Number of rounds of fitting the weights; each round takes EM's priors with the last weights."""
LARGEST = 20.0
"""Largest value of a weight."""


def voices_of(observation: Observation) -> FloatArray:
    """Returns the log-probabilities of the classifier and of the referee, (2, n, k)."""
    assert observation.referee is not None
    own = log_softmax(observation.logits.astype(np.float64), axis=1)
    return np.array([own, np.log(np.maximum(observation.referee, TINY))])


def fused(voices: FloatArray, weights: FloatArray) -> FloatArray:
    """Returns softmax(a own + b referee) with weights (a, b), (n, k)."""
    return softmax(weights[0] * voices[0] + weights[1] * voices[1], axis=1)


def correctness_loss(
    weights: FloatArray, voices: FloatArray, correct: BoolArray, tilt: FloatArray
) -> tuple[float, FloatArray]:
    """Returns the mean negative log-likelihood of being right, and its gradient (2,) in the weights (a, b).

    The chance of being right is the predicted class's softmax of a z_own + b z_referee + tilt, where `tilt`
    (k,) is the logarithm of the ratio of the set's class prior to the source's.
    """
    rows = np.arange(len(correct))
    predicted = voices[0].argmax(axis=1)
    scores = weights[0] * voices[0] + weights[1] * voices[1] + tilt
    others = scores.copy()
    others[rows, predicted] = -np.inf
    odds = scores[rows, predicted] - logsumexp(others, axis=1)
    rest = softmax(others, axis=1)
    sign = np.where(correct, 1.0, -1.0)
    slope = -sign * expit(-sign * odds)
    gradient = [(slope * (voice[rows, predicted] - (rest * voice).sum(axis=1))).mean() for voice in voices]
    return float(np.logaddexp(0, -sign * odds).mean()), np.array(gradient)


def learnt_weights(
    sets: Sequence[tuple[FloatArray, BoolArray]], pi: FloatArray, start: FloatArray
) -> FloatArray:
    """Returns the weights (a, b), >= 0, that maximise the mean over sets of the likelihood of being right."""
    weights, tilts = start, [np.zeros(len(pi))] * len(sets)
    for _ in range(ROUNDS):

        def loss(tried: FloatArray, tilts: Sequence[FloatArray] = tuple(tilts)) -> tuple[float, FloatArray]:
            parts = [
                correctness_loss(tried, voices, correct, tilt)
                for (voices, correct), tilt in zip(sets, tilts, strict=True)
            ]
            return float(np.mean([each for each, _ in parts])), np.mean([slope for _, slope in parts], axis=0)

        weights = minimize(loss, weights, jac=True, method="L-BFGS-B", bounds=[(0, LARGEST)] * 2).x
        priors = [em_prior(fused(voices, weights), pi) for voices, _ in sets]
        tilts = [np.log(np.maximum(q, TINY) / pi) for q in priors]
    return weights


class Fused(Estimator):
    """Expected accuracy by classifier and referee together, with the class prior that EM finds in the set.

    The weights a and b are fitted to the meta-train sets, whose referee probabilities come from probes that
    were trained neither on their images nor on their operations. The clean source alone would not do, since
    the classifier makes hardly any errors there.

    Args:
        most: Largest number of images of each meta-train set to fit to; the first ones are used.
    """

    needs = ("referee",)
    learns_images: ClassVar[bool] = True

    def __init__(self, most: int = 500) -> None:
        self.most = most

    def _fit(self, meta: MetaTrain) -> None:
        self.prior_ = source_prior(meta.source)
        sets = [
            (voices_of(observation)[:, : self.most], correct[: self.most])
            for observation, correct in zip(meta.sets, meta.correct, strict=True)
        ]
        self.weights_ = learnt_weights(sets, self.prior_, np.array([1.0, 0.5]))

    def _predict(self, observation: Observation) -> float:
        p = fused(voices_of(observation), self.weights_)
        return expected_accuracy(reweighted(p, self.prior_, em_prior(p, self.prior_)), observation.predicted)
