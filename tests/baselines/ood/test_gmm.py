"""Two Gaussians from K-means's start, against EM by hand; and no mixture where there is one value alone."""

import numpy as np
import pytest
from mixes import gaussian_mixes
from scipy.stats import norm

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


def by_hand(ordered, steps):
    """Weights, means and variances after so many steps of EM from the halves of K-means."""
    low, high = two_means(ordered)
    shares = np.array([ordered <= (low + high) / 2, ordered > (low + high) / 2], float)
    for step in range(steps + 1):
        counts = shares.sum(1)
        weights, means = counts / len(ordered), shares @ ordered / counts
        variances = (shares * (ordered - means[:, None]) ** 2).sum(1) / counts + LEAST_VARIANCE
        joint = weights[:, None] * norm(means[:, None], np.sqrt(variances)[:, None]).pdf(ordered)
        shares = joint / joint.sum(0) if step < steps else shares
    return weights, means, variances


@pytest.mark.parametrize("name", SAMPLES)
def test_against_em_by_hand(name):
    ordered = np.sort(SAMPLES[name])
    mixture = gaussian_mixture(ordered)
    expected = by_hand(ordered, mixture.n_iter_)
    got = mixture.weights_, mixture.means_.ravel(), mixture.covariances_.ravel()
    for mine, theirs in zip(got, expected, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-6, abs=1e-9)


def test_a_score_looks_like_ind_as_the_lower_component_claims_it():
    ordered = np.sort(SAMPLES["overlap"])
    weights, means, variances = by_hand(ordered, gaussian_mixture(ordered).n_iter_)
    joint = weights[:, None] * norm(means[:, None], np.sqrt(variances)[:, None]).pdf(ordered)
    assert Gmm()._likeness(ordered) == pytest.approx(joint[means.argmin()] / joint.sum(0), abs=1e-6)


@pytest.mark.parametrize("scores", [np.zeros(300), np.full(7, 0.1), np.ones(1)])
def test_equal_scores_are_no_two_parts(scores):
    meta = gaussian_mixes(sets=10)
    assert gaussian_mixture(scores) is None
    assert (Gmm().fit(meta).gscores(scores) == 0).all()
