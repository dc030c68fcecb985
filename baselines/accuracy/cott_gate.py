"""COTT with two class priors, weighted by how much of a set's distance a change of prior explains.

COTT: Lu et al., "Characterizing Out-of-Distribution Error via Optimal Transport", NeurIPS 2023. Frechet
distance: Deng & Zheng, "Are Labels Always Necessary for Classifier Accuracy Evaluation?", CVPR 2021. The gate
was developed for this kit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from baselines.accuracy.cot import cott, cott_threshold
from baselines.accuracy.cott_prior import CottPrior, cott_under
from baselines.accuracy.fd import frechet_distance
from baselines.accuracy.priors import source_prior
from starter.observing.observation import MetaTrain, Moments, Observation
from starter.observing.temperature import temperature
from submission.arrays import FloatArray, IntArray


class ClassMoments:
    """Means (k, d) and second moments (k, d, d) of the labelled features (n, d) of each class."""

    def __init__(self, features: FloatArray, labels: IntArray, k: int) -> None:
        values, self.n = features.astype(np.float64), len(labels)
        members = [values[labels == c] for c in range(k)]
        d = values.shape[1]
        self.means = np.array([rows.mean(axis=0) if len(rows) else np.zeros(d) for rows in members])
        self.squares = np.array([rows.T @ rows / max(len(rows), 1) for rows in members])
        self.present = np.array([len(rows) > 0 for rows in members])

    def under(self, q: FloatArray) -> Moments:
        """Returns the moments that the features would have if the classes had the shares q (k,).

        Classes without an image are left out.
        """
        shares = np.where(self.present, q, 0.0)
        shares = shares / shares.sum() if shares.sum() > 0 else self.present / self.present.sum()
        mean = shares @ self.means
        covariance = np.tensordot(shares, self.squares, 1) - np.outer(mean, mean)
        return Moments(mean, (covariance + covariance.T) / 2, self.n)


def explained(own: Moments, source: Moments, reweighted: Moments) -> float:
    """Returns lambda = 1 - FD(set, source reweighted to q) / FD(set, source), clipped to [0, 1].

    It is 0 if both distances are 0. A true change of prior explains the set's distance, so that lambda is
    near 1. A classifier that collapses to a few classes predicts such a prior too, but then the features are
    not near those of these classes in the source, and lambda is near 0.

    Args:
        own: Moments of the set.
        source: Moments of the source.
        reweighted: Moments of the source under the set's estimated class prior q.
    """
    distance = frechet_distance(source, own)
    return float(np.clip(1 - frechet_distance(reweighted, own) / distance, 0, 1)) if distance > 0 else 0.0


class CottGate(CottPrior):
    """lambda * COTT with the set's estimated class prior + (1 - lambda) * COTT with the source's prior.

    `explained` gives lambda, from the classifier's penultimate features (n, d) of source and set.

    Args:
        prior: Name of the way to estimate the class prior, one of PRIORS.
    """

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The penultimate features, their moments, and the fields that the prior needs."""
        return ("features", "moments", *super().needs)

    def _fit(self, meta: MetaTrain) -> None:
        super()._fit(meta)
        self._know_classes()

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        self._know_classes()

    def _know_classes(self) -> None:
        """Store the moments of the classes and of the source, whose factor is computed once for all sets."""
        seen = self.source_.observation
        assert seen.features is not None
        self._classes = ClassMoments(seen.features, self.source_.labels, seen.logits.shape[1])
        self._own = self._classes.under(source_prior(self.source_))

    def _predict(self, observation: Observation) -> float:
        q = self.prior_of(observation)
        weight = self.weight(observation, q)
        own = cott_under(q, observation, temperature(self.source_), cott_threshold(self.source_))
        plain = cott(observation, self.source_)
        return weight * own + (1 - weight) * plain

    def weight(self, observation: Observation, q: FloatArray) -> float:
        """Returns lambda of a set with the class prior q (k,), in [0, 1]."""
        assert observation.moments is not None
        return explained(observation.moments, self._own, self._classes.under(q))
