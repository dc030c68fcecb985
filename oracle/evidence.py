"""What there is to say of every image of an unlabelled set: evidence of whether the classifier is right.

By the classifier's own logits and, where there is one, a referee's probabilities, before and after EM has
adapted them to the set's class prior (Saerens, Latinne & Decaestecker, Neural Computation 2002).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from baselines.accuracy.priors import bias_corrected, calibrated, em_prior, reweighted, source_prior
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput

EDGE = 1e-4
"""Probabilities nearer than this to 0 or 1 count as that near."""
OWN = [0, 1, 2, 3]
"""Columns of a table by which the classifier alone is judged."""
BOTH = [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 8, 9]
"""Columns by which it is with the referee, whose class prior is the set's or the source's."""
SURE, AGREES = 4, 10
"""The columns of the referee's largest probability under the source's prior, and of whom it agrees about."""


@dataclass(frozen=True)
class Evidence:
    """How evidence is read, which the labelled source alone decides.

    Attributes:
        prior: the source's class prior, (k,).
        own: the classifier's calibration, (1 + k,), see `bias_corrected`.
        referee: the referee's calibration likewise; empty where the source was observed without one.
    """

    prior: FloatArray
    own: FloatArray
    referee: FloatArray

    @classmethod
    def of(cls, source: Source) -> "Evidence":
        """Returns the evidence as it is read with this source."""
        prior, own, seen = source_prior(source), bias_corrected(source), source.observation
        if seen.referee is None:
            return cls(prior, own, np.zeros(0))
        return cls(prior, own, bias_corrected(replace(source, observation=_by_referee(seen))))

    def table(self, observation: Observation) -> FloatArray:
        """Returns one row of evidence an image, float64 (n, 4), with a referee (n, 11); all finite.

        The classifier's: its calibrated confidence under the set's class prior and under the source's, and
        the set's mean of the latter and mean margin of the logits. The referee's: see `_of_referee`.
        Probabilities stand there as log-odds.

        Raises:
            UnusableInput: the source was observed with a referee and the set without.
        """
        p = calibrated(observation, self.own)
        confidence = _log_odds(_of_predicted(p, observation))
        best = np.sort(observation.logits.astype(np.float64), axis=1)[:, -2:]
        columns = [
            _log_odds(_of_predicted(self._adapted(p), observation)),
            confidence,
            np.full(len(p), confidence.mean()),
            np.full(len(p), (best[:, 1] - best[:, 0]).mean()),
        ]
        if len(self.referee):
            columns += self._of_referee(observation)
        return np.column_stack(columns)

    def _of_referee(self, observation: Observation) -> list[FloatArray]:
        """Returns the referee's evidence, a list of columns, each of images with its mean over the set.

        These are its largest probability under the source's prior; its probability of the class that the
        classifier predicts, under the set's and under the source's; and by itself, 1 for images to which it
        gives the classifier's class under the set's prior, 0 for others.
        """
        q = self._by_referee(observation)
        adapted = self._adapted(q)
        found = (
            _log_odds(q.max(axis=1)),
            _log_odds(_of_predicted(adapted, observation)),
            _log_odds(_of_predicted(q, observation)),
        )
        agrees = adapted.argmax(axis=1) == observation.predicted
        pairs = [column for each in found for column in (each, np.full(len(q), each.mean()))]
        return [*pairs, agrees.astype(np.float64)]

    def _by_referee(self, observation: Observation) -> FloatArray:
        if observation.referee is None:
            raise UnusableInput(
                f"unseen-best was fitted with a referee, without which set {observation.set_name!r} "
                "was observed: observe it with the same, or fit the method without"
            )
        return calibrated(_by_referee(observation), self.referee)

    def _adapted(self, p: FloatArray) -> FloatArray:
        """Returns posteriors (n, k) under the class prior that EM finds by them."""
        return reweighted(p, self.prior, em_prior(p, self.prior))


def agreement(table: FloatArray) -> float:
    """Returns the share of images that the referee, under the set's prior, classes as the classifier does."""
    return float(table[:, AGREES].mean())


def sureness(table: FloatArray) -> float:
    """Returns the mean of the referee's largest probability under the source's prior."""
    return float(expit(table[:, SURE]).mean())


def _by_referee(observation: Observation) -> Observation:
    """Returns the set as if the referee were the classifier."""
    assert observation.referee is not None
    logits = np.log(np.maximum(observation.referee, np.finfo(np.float32).tiny)).astype(np.float32)
    return Observation(observation.set_name, observation.classifier, logits)


def _of_predicted(p: FloatArray, observation: Observation) -> FloatArray:
    """Returns what p (n, k) gives to the predicted classes, (n,)."""
    return p[np.arange(len(p)), observation.predicted]


def _log_odds(p: FloatArray) -> FloatArray:
    return logit(np.clip(p, EDGE, 1 - EDGE))
