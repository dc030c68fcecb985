"""FD: the Frechet distance between a set's features and the training images' (Deng & Zheng, CVPR 2021)."""

import numpy as np

from starter.observation import Moments, Observation, Source


def frechet_distance(a: Moments, b: Moments) -> float:
    """Squared 2-Wasserstein distance between two Gaussians given by their moments (SYP eqs. 6-7, squared).

    |mu_a - mu_b|^2 + Tr(S_a + S_b - 2 (S_a S_b)^(1/2)); the trace of the root is the sum of the square
    roots of the eigenvalues of the symmetric S_a^(1/2) S_b S_a^(1/2), so no general matrix root is needed.
    The root of S_a is kept with `a`: pass the common reference first.
    """
    product = a.root @ b.covariance @ a.root
    trace_of_root = np.sqrt(np.clip(np.linalg.eigvalsh(product), 0, None)).sum()
    shift = a.mean - b.mean
    distance = shift @ shift + np.trace(a.covariance) + np.trace(b.covariance) - 2 * trace_of_root
    return float(max(distance, 0.0))


def fd(target: Observation, source: Source) -> float:
    """Frechet distance of the set's penultimate features from the (unlabelled) training images'.

    It grows as sets shrink (the covariance of n images is noisier), so compare sets of about one size.
    """
    assert source.train_ref.moments is not None
    assert target.moments is not None
    return frechet_distance(source.train_ref.moments, target.moments)
