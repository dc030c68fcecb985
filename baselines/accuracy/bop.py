"""BoP, bag of prototypes: the histogram of a set's features over prototypes of the training features.

Paper: Tu, Deng, Gedeon & Zheng, "A Bag-of-Prototypes Representation for Dataset-Level Applications", CVPR
2023.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import jensenshannon

from baselines.accuracy.subsamples import subsamples
from baselines.contract.estimator import Regressed
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput


@dataclass(frozen=True)
class Codebook:
    """Prototypes (K, d) of the training images' features, and the share of these images at each, (K,)."""

    prototypes: FloatArray
    reference: FloatArray

    @classmethod
    def of(cls, source: Source, prototypes: int = 80, seed: int = 0) -> "Codebook":
        """Returns the codebook of the K-means centres of the training images' features.

        There are `prototypes` centres, or fewer if there are fewer distinct images.
        """
        from sklearn.cluster import KMeans

        features = _features(source.train_ref)
        k = min(prototypes, len(np.unique(features, axis=0)))
        centres = KMeans(k, n_init=1, max_iter=100, random_state=seed).fit(features).cluster_centers_
        return cls(centres, bag(source.train_ref, centres))


def bag(observation: Observation, prototypes: FloatArray) -> FloatArray:
    """Returns the share of images whose nearest prototype is each of the prototypes (K, d), (K,)."""
    from sklearn.metrics import pairwise_distances_argmin

    nearest = pairwise_distances_argmin(_features(observation), prototypes)
    return np.bincount(nearest, minlength=len(prototypes)) / len(observation)


def bop(target: Observation, source: Source, codebook: Codebook | None = None) -> float:
    """Returns the Jensen-Shannon divergence of the set's and the training images' bags, in [0, log 2] nats.

    JS(p, q) = (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2 for the bags p and q, (K,). The bag of few
    images is farther from any other by chance, so the result is the mean over subsamples of a common size;
    smaller sets are not subsampled. `codebook` is that of the source, if it is known already.
    """
    book = Codebook.of(source) if codebook is None else codebook
    roots = [jensenshannon(bag(part, book.prototypes), book.reference) for part in subsamples(target)]
    return float(np.mean(np.square(roots)))


class Bop(Regressed):
    """Regression of accuracy on `bop`, with one codebook for all sets.

    Args:
        prototypes: Number K of prototypes, an int >= 1 (80 in the paper for CIFAR-10).
        seed: Seed of K-means.
        regressor: Name of the regressor, one of REGRESSORS.
    """

    def __init__(self, prototypes: int = 80, seed: int = 0, regressor: str = "linear") -> None:
        super().__init__(bop, ("features",), regressor)
        self.prototypes = prototypes
        self.seed = seed

    def _prepare(self, source: Source) -> None:
        if self.prototypes < 1 or self.seed < 0:
            raise UnusableInput("bop: prototypes of at least 1 and a seed of at least 0 are needed")
        self.source_ = source
        self.codebook_ = Codebook.of(source, self.prototypes, self.seed)

    def _measure(self, observation: Observation) -> FloatArray:
        return np.array([bop(observation, self.source_, self.codebook_)])


def _features(observation: Observation) -> FloatArray:
    assert observation.features is not None
    return observation.features.astype(np.float64)
