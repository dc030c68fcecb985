"""FD: the Frechet distance between the penultimate features of a set and those of the training images.

Paper: Deng & Zheng, "Are Labels Always Necessary for Classifier Accuracy Evaluation?", CVPR 2021, arXiv
2007.02915.
"""

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dsygst

from starter.observing.observation import Moments, Observation, ScoredMix, Source
from submission.arrays import FloatArray

TINY = np.finfo(np.float64).tiny


def frechet_distance(a: Moments, b: Moments) -> float:
    """Returns the squared 2-Wasserstein distance of two Gaussians with these moments (SYP eqs. 6-7, squared).

    It is |mu_a - mu_b|^2 + Tr(S_a + S_b - 2 (S_a S_b)^(1/2)); the trace of the root is the sum of `_roots`.
    The factor of S_a is cached with `a`: pass the moments that several calls share as `a`.
    """
    return max(_distance(a, b, _roots(a, b)), 0.0)


def fd(target: Observation, source: Source) -> float:
    """Frechet distance to the training images' features (Deng & Zheng 2021).

    Features are penultimate, (n, d). The mean and covariance of few images deviate more by chance than those
    of many. To compare sets of all sizes, the distance is corrected to n -> infinity: `excess`, the expected
    contribution of n images, is subtracted. Below 2 d images the covariance is shrunk first. This needs the
    moments only, and on real features it predicts as well as a regression on the mean over subsamples of the
    target's size. By chance the result can be negative.

    The remaining bias is -0.05 to 0.03 of Tr S for normal features with d = 64 and 32 to 128 images.
    """
    assert source.train_ref.moments is not None
    assert target.moments is not None
    reference, moments = source.train_ref.moments, target.moments
    weight = 0.0
    if moments.n < 2 * len(moments.mean):
        moments, weight = shrunk(moments)
    roots = _roots(reference, moments)
    return _distance(reference, moments, roots) - excess(moments, roots, weight)


def shrunk(moments: Moments) -> tuple[Moments, float]:
    """Returns the moments with a covariance shrunk to the identity, and the identity's weight in [0, 1].

    The weight is that of oracle approximating shrinkage (Chen, Wiesel, Eldar & Hero, "Shrinkage Algorithms
    for MMSE Covariance Estimation", IEEE TSP 2010, eq. 23) without its terms in 2 / d, as in scikit-learn.
    """
    covariance, d = moments.covariance, len(moments.mean)
    variance, square = np.trace(covariance) / d, (covariance**2).mean()
    spread = (moments.n + 1) * (square - variance**2 / d)
    weight = min(float((square + variance**2) / spread), 1.0) if spread > 0 else 1.0
    drawn = (1 - weight) * covariance + weight * variance * np.eye(d)
    return Moments(moments.mean, drawn, moments.n), weight


def excess(moments: Moments, roots: FloatArray, weight: float = 0.0) -> float:
    """Returns the expected excess of the distance of n images over the true one, to first order in 1 / n.

    It is (Tr S + (1 - w) (sum_ij r_i r_j / (r_i + r_j) + sum_i r_i / 2) / 2) / n. The error of the mean adds
    Tr S / n; the rest is the second-order expansion, about S, of the trace of the root, since the sample
    covariance of n normal rows has a Wishart distribution. Chong & Forsyth ("Effectively Unbiased FID and
    Inception Score and Where to Find Them", CVPR 2020) show that such distances have a bias proportional to
    1 / n. S is the covariance, r (d,) the `roots` of the eigenvalues of S_ref^(1/2) S S_ref^(1/2), and w the
    `weight` of the identity in S; at the best weight a share 1 - w of the covariance's squared error remains.
    """
    pairs = roots[:, None] * roots / np.maximum(roots[:, None] + roots, TINY)
    spread = (1 - weight) * (pairs.sum() + roots.sum() / 2) / 2
    return float(np.trace(moments.covariance) + spread) / moments.n


def _roots(a: Moments, b: Moments) -> FloatArray:
    """Returns the square roots (d,) of the eigenvalues of L' S_b L, where L L' = S_a; negative ones as 0."""
    # LAPACK's sygst computes the product with a quarter of the work of two matrix products.
    product, _ = dsygst(b.covariance.T, a.factor, itype=3, lower=1)
    return np.sqrt(eigvalsh(product, check_finite=False).clip(min=0))


def _distance(a: Moments, b: Moments, roots: FloatArray) -> float:
    shift = a.mean - b.mean
    return float(shift @ shift + np.trace(a.covariance) + np.trace(b.covariance) - 2 * roots.sum())


def auto_eval(mix: ScoredMix, source: Source) -> float:
    """Frechet distance to the training images' features (Deng & Zheng 2021)."""
    return fd(mix.observation, source)
