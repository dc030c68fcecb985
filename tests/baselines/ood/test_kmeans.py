"""K-means in one dimension against every cut and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixes import mix, source
from sklearn.cluster import KMeans

from baselines.ood.kmeans import kmeans, two_means


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30))
def test_no_cut_is_better(values):
    ordered = np.sort(np.array(values, float))
    parts = [(ordered[:cut], ordered[cut:]) for cut in range(1, len(ordered))]
    losses = [left.var() * len(left) + right.var() * len(right) for left, right in parts]
    found = np.min((ordered[:, None] - np.asarray(two_means(ordered))) ** 2, axis=1).sum()
    assert found <= min(losses) + 1e-9 * (1 + min(losses))


def test_against_scikit_learn():
    rng = np.random.default_rng(0)
    ordered = np.sort(np.concatenate([rng.normal(size=200), rng.normal(4, 2, 150)]))
    expected = KMeans(2, n_init=10, random_state=0).fit(ordered[:, None])
    assert two_means(ordered) == pytest.approx(np.sort(expected.cluster_centers_.ravel()))
    assert kmeans(mix(ordered[::-1]), source(ordered)) == pytest.approx(np.ptp(expected.cluster_centers_))


def test_scores_far_from_zero_are_parted_alike():
    ordered = np.array([0.0, 1.0, 9.0, 11.0])
    assert np.subtract(*two_means(ordered * 1e-4 + 1e5)) == pytest.approx(-9.5e-4, rel=1e-5)
