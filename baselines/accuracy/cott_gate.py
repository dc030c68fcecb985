"""COTT with two class priors, weighted by how much of a set's distance a change of prior explains.

COTT: Lu et al., "Characterizing Out-of-Distribution Error via Optimal Transport", NeurIPS 2023. Frechet
distance: Deng & Zheng, "Are Labels Always Necessary for Classifier Accuracy Evaluation?", CVPR 2021. The gate
was developed for this kit.
"""

import numpy as np

from baselines.accuracy.cot import CottPrior, cott, cott_threshold, cott_under
from baselines.accuracy.fd import frechet_distance
from baselines.accuracy.priors import source_prior
from starter.observing.observation import MetaTrain, Moments, Observation
from starter.observing.temperature import temperature
from submission.arrays import FloatArray, IntArray


def moments_under(q: FloatArray, features: FloatArray, labels: IntArray) -> Moments:
    """Returns the moments that labelled features (n, d) would have if the classes had the shares q (k,).

    Classes without an image are left out. No class's own second moments (k, d, d) are kept, which would take
    34 GB for 1,000 classes and 2,048 features.
    """
    counts = np.bincount(labels, minlength=len(q))
    present = counts > 0
    shares = np.where(present, q, 0.0)
    shares = shares / shares.sum() if shares.sum() > 0 else present / present.sum()
    weights = (shares / np.maximum(counts, 1))[labels]
    mean = weights @ features
    rows = np.sqrt(weights)[:, None] * (features - mean)
    return Moments(mean, rows.T @ rows, len(rows))


def explained(own: Moments, source: Moments, reweighted: Moments) -> float:
    """Returns lambda = 1 - FD(set, source reweighted to q) / FD(set, source), clipped to [0, 1].

    It is 0 if both distances are 0. A true change of prior explains the set's distance, so that lambda is
    near 1. A classifier that collapses to a few classes predicts such a prior too, but then the features are
    not near those of these classes in the source, and lambda is near 0. `own` are the set's moments.
    """
    distance = frechet_distance(source, own)
    return float(np.clip(1 - frechet_distance(reweighted, own) / distance, 0, 1)) if distance > 0 else 0.0


class CottGate(CottPrior):
    """Mean of cott and cott-em, weighted by how much of the set's distance the prior explains.

    It is lambda * COTT with the set's estimated class prior + (1 - lambda) * COTT with the source's.
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
        self.own_ = self._moments(source_prior(meta.source))

    def _predict(self, observation: Observation) -> float:
        q = self.prior_of(observation)
        weight = self.weight(observation, q)
        own = cott_under(q, observation, temperature(self.source_), cott_threshold(self.source_))
        plain = cott(observation, self.source_)
        return weight * own + (1 - weight) * plain

    def weight(self, observation: Observation, q: FloatArray) -> float:
        """Returns lambda of a set with the class prior q (k,), in [0, 1]."""
        assert observation.moments is not None
        return explained(observation.moments, self.own_, self._moments(q))

    def _moments(self, q: FloatArray) -> Moments:
        """Returns the moments that the source would have with the class prior q (k,)."""
        features = self.source_.observation.features
        assert features is not None
        return moments_under(q, features.astype(np.float64), self.source_.labels)
