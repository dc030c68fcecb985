"""EM of two Gaussians against scikit-learn's from the same start."""

import numpy as np
import pytest
from mixes import gaussian_mixes
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from baselines.ood.gmm import LEAST_VARIANCE, Gmm, gaussian_mixture
from baselines.ood.kmeans import two_means

RNG = np.random.default_rng(0)
SAMPLES = {
    "apart": np.concatenate([RNG.normal(size=300), RNG.normal(6, 2, 200)]),
    "overlap": np.concatenate([RNG.normal(size=300), RNG.normal(1, 1.5, 500)]),
    "skewed": -RNG.gamma(2, size=400),
    "tiny spread": 0.1 + 1e-3 * RNG.normal(size=100),
    "two values": np.repeat([0.0, 1.0], [10, 30]),
}


def by_scikit_learn(ordered):
    low, high = two_means(ordered)
    halves = [ordered[ordered <= (low + high) / 2], ordered[ordered > (low + high) / 2]]
    return GaussianMixture(
        2,
        weights_init=[len(half) / len(ordered) for half in halves],
        means_init=[[half.mean()] for half in halves],
        precisions_init=[[[1 / (half.var() + LEAST_VARIANCE)]] for half in halves],
    ).fit(ordered[:, None])


@pytest.mark.parametrize("name", SAMPLES)
def test_against_scikit_learn(name):
    ordered = np.sort(SAMPLES[name])
    mixture, expected = gaussian_mixture(ordered), by_scikit_learn(ordered)
    order = np.argsort(expected.means_.ravel())
    assert mixture.weights == pytest.approx(expected.weights_[order], rel=1e-6)
    assert mixture.means == pytest.approx(expected.means_.ravel()[order], rel=1e-6, abs=1e-9)
    assert mixture.variances == pytest.approx(expected.covariances_.ravel()[order], rel=1e-6)
    posterior = expected.predict_proba(ordered[:, None])[:, order[0]]
    assert mixture.posterior(ordered) == pytest.approx(posterior, abs=1e-6)


def test_the_joint_density_is_weight_times_density():
    mixture = gaussian_mixture(np.sort(SAMPLES["overlap"]))
    points = np.linspace(-3, 5, 20)
    for i, joint in enumerate(mixture.log_joint(points)):
        density = norm(mixture.means[i], np.sqrt(mixture.variances[i])).logpdf(points)
        assert joint == pytest.approx(np.log(mixture.weights[i]) + density)


def test_equal_scores_are_no_two_parts():
    meta = gaussian_mixes(sets=10)
    method = Gmm().fit(meta)
    assert (method._measure(type(meta.sets[0])(**{**vars(meta.sets[0]), "scores": np.zeros(300)})) == 0).all()
