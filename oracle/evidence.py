"""Evidence for each image of an unlabelled set on whether the classifier is right.

It is computed from the classifier's logits, for turned copies of the images too if they were observed, and
from the referee's probabilities if there is one, under the source's class prior and under the set's, which EM
estimates (Saerens, Latinne & Decaestecker, "Adjusting the Outputs of a Classifier to New a Priori
Probabilities", Neural Computation 2002).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from baselines.accuracy.priors import bias_corrected, calibrated, em_prior, reweighted, source_prior
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput

EDGE = 1e-4
"""Smallest distance of a probability from 0 and 1: nearer ones are clipped to it."""
OWN = list(range(8))
"""Columns of a table that come from the classifier alone."""
BOTH = [*OWN[1:], 8, 9, 10, 11], [*OWN[1:], 8, 9, 12, 13]
"""Columns of the two regressions with a referee: under the set's class prior, and under the source's."""
AGREES = 14
"""Column of the referee's agreement."""


@dataclass(frozen=True)
class Evidence:
    """Reader of evidence, calibrated on the labelled source alone.

    Attributes:
        prior: the source's class prior, (k,).
        own: calibration of the classifier: temperature and biases, (1 + k,), see `bias_corrected`.
        referee: calibration of the referee, likewise; empty if the source was observed without one.
        turned: True if the source was observed with turned copies.
    """

    prior: FloatArray
    own: FloatArray
    referee: FloatArray
    turned: bool

    @classmethod
    def of(cls, source: Source) -> "Evidence":
        """Returns the reader of evidence calibrated on this source."""
        seen = source.observation
        referee: FloatArray = np.zeros(0)
        if seen.referee is not None:
            referee = bias_corrected(replace(source, observation=_by_referee(seen)))
        return cls(source_prior(source), bias_corrected(source), referee, seen.rotations is not None)

    def table(self, observation: Observation) -> FloatArray:
        """Returns one row of evidence for each image, float64 (n, 8), or (n, 15) with a referee; all finite.

        Columns of the classifier: its calibrated confidence under the set's class prior, the same under the
        source's, the set's mean of the second, the set's mean margin of the logits, and four of turned
        copies, see `_of_turned`. Columns of the referee: see `_of_referee`. Probabilities are given as
        log-odds, log(p / (1 - p)), but for those of turned copies.
        """
        views = (
            ("a referee", len(self.referee), observation.referee),
            ("turned copies of the images", self.turned, observation.rotations),
        )
        for what, learnt, seen in views:
            if learnt and seen is None:
                raise UnusableInput(
                    f"unseen-best was fitted with {what}, without which set {observation.set_name!r} was "
                    "observed: observe it with the same, or fit the method without"
                )
        p = calibrated(observation, self.own)
        confidence = _log_odds(_of_predicted(p, observation))
        best = np.sort(observation.logits.astype(np.float64), axis=1)[:, -2:]
        columns = [
            _log_odds(_of_predicted(self._adapted(p), observation)),
            confidence,
            np.full(len(p), confidence.mean()),
            np.full(len(p), (best[:, 1] - best[:, 0]).mean()),
            *self._of_turned(observation),
        ]
        if len(self.referee):
            columns += self._of_referee(observation)
        return np.column_stack(columns)

    def _of_turned(self, observation: Observation) -> list[FloatArray]:
        """Returns the four columns of evidence from turned copies, each of shape (n,).

        Of the mean of the calibrated probabilities of an image's three turned copies, they are the one of
        the class predicted for the image, and the largest; each is followed by its mean over the set. A
        classifier that is right about an image is often sure of the same class when the image is turned.
        Without turned copies they are 0, so that regressions give them no weight.
        """
        if not self.turned:
            return [np.zeros(len(observation))] * 4
        assert observation.rotations is not None
        turned = [replace(observation, logits=logits) for logits in observation.rotations.values()]
        p = np.mean([calibrated(each, self.own) for each in turned], axis=0)
        return _with_means(_of_predicted(p, observation), p.max(axis=1))

    def _of_referee(self, observation: Observation) -> list[FloatArray]:
        """Returns the seven columns of the referee's evidence, each of shape (n,).

        Three numbers of each image, each followed by its mean over the set: the referee's largest
        probability under the source's prior, and its probability of the class that the classifier predicts,
        under the set's prior and under the source's. Last, without a mean: 1 if the referee, under the
        set's prior, predicts the same class as the classifier, else 0.
        """
        q = calibrated(_by_referee(observation), self.referee)
        adapted = self._adapted(q)
        found = (
            _log_odds(q.max(axis=1)),
            _log_odds(_of_predicted(adapted, observation)),
            _log_odds(_of_predicted(q, observation)),
        )
        agrees = adapted.argmax(axis=1) == observation.predicted
        return [*_with_means(*found), agrees.astype(np.float64)]

    def _adapted(self, p: FloatArray) -> FloatArray:
        """Returns probabilities (n, k) under the class prior that EM estimates from p, (n, k)."""
        return reweighted(p, self.prior, em_prior(p, self.prior))


def agreement(table: FloatArray) -> float:
    """Returns the share of images on which classifier and referee agree under the set's prior, in [0, 1]."""
    return float(table[:, AGREES].mean())


def _by_referee(observation: Observation) -> Observation:
    """Returns the observation with the referee's log-probabilities in place of the classifier's logits."""
    assert observation.referee is not None
    logits = np.log(np.maximum(observation.referee, np.finfo(np.float32).tiny)).astype(np.float32)
    return Observation(observation.set_name, observation.classifier, logits)


def _of_predicted(p: FloatArray, observation: Observation) -> FloatArray:
    """Returns the probabilities, (n,), that p (n, k) gives to the predicted classes."""
    return p[np.arange(len(p)), observation.predicted]


def _log_odds(p: FloatArray) -> FloatArray:
    return logit(np.clip(p, EDGE, 1 - EDGE))


def _with_means(*columns: FloatArray) -> list[FloatArray]:
    """Returns each column, (n,), followed by one that holds its mean."""
    return [column for each in columns for column in (each, np.full(len(each), each.mean()))]
