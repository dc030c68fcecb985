"""FD against a general matrix root, scikit-learn's shrinkage, and samples drawn again and again."""

import numpy as np
import pytest
import scipy.linalg
from observations import seen, source_of
from sklearn.covariance import oas

from baselines.accuracy.fd import excess, fd, frechet_distance, shrunk
from starter.observing.observation import Moments


def moments(rows):
    rows = np.asarray(rows, np.float64)
    covariance = np.cov(rows, rowvar=False) if len(rows) > 1 else np.zeros((rows.shape[1],) * 2)
    return Moments(rows.mean(axis=0), covariance, len(rows))


def by_sqrtm(a, b):
    root = scipy.linalg.sqrtm(a.covariance @ b.covariance).real
    shift = a.mean - b.mean
    return shift @ shift + np.trace(a.covariance + b.covariance - 2 * root)


def fd_of(rows, reference):
    logits = np.zeros((len(rows), 2))
    return fd(seen(logits, moments=moments(rows)), source_of([[1.0, 0.0]], [0], moments=reference))


@pytest.mark.parametrize(("n", "d"), [(200, 5), (50, 64), (3, 10), (500, 32), (90, 700), (20, 64)])
def test_frechet_distance_against_sqrtm(n, d):
    rng = np.random.default_rng(n)
    a, b = moments(rng.normal(size=(1000, d))), moments(rng.normal(0.3, 2, size=(n, d)))
    assert frechet_distance(a, b) == pytest.approx(by_sqrtm(a, b), rel=1e-6)
    assert frechet_distance(b, a) == pytest.approx(frechet_distance(a, b), rel=1e-8)


def test_one_image_has_the_references_spread_for_a_distance_beside_the_shift():
    a, b = moments(np.random.default_rng(0).normal(size=(50, 8))), moments(np.ones((1, 8)))
    expected = np.sum((a.mean - 1) ** 2) + np.trace(a.covariance)
    assert frechet_distance(a, b) == pytest.approx(expected)


def test_few_images_on_both_sides_and_repeated_ones_have_the_same_roots():
    """Ranks below the numbers of images less one, and a reference without Cholesky's decomposition."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(30, 90)), np.repeat(rng.normal(1, 2, size=(12, 90)), 3, axis=0)
    a, b = moments(first), moments(second)
    products = scipy.linalg.eigvals(a.covariance @ b.covariance)
    expected = np.sum((a.mean - b.mean) ** 2) + np.trace(a.covariance + b.covariance)
    expected -= 2 * np.sqrt(np.sort(products.real)[-11:]).sum()
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(b, a) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("n", "d"), [(5, 40), (30, 16), (2, 3)])
def test_shrinkage_against_scikit_learn(n, d):
    rows = np.random.default_rng(n).normal(size=(n, d)) * np.arange(1, d + 1)
    found, weight = shrunk(moments(rows))
    assert weight == pytest.approx(oas(rows)[1])
    np.testing.assert_allclose(found.covariance * (n - 1) / n, oas(rows)[0], rtol=1e-9, atol=1e-12)
    assert found.n == n


def test_shrinkage_of_no_spread_and_of_a_multiple_of_the_identity_changes_nothing():
    for covariance in (np.zeros((3, 3)), 2 * np.eye(3)):
        np.testing.assert_allclose(shrunk(Moments(np.zeros(3), covariance, 4))[0].covariance, covariance)


def roots(a, b):
    values = scipy.linalg.eigvals(a.covariance @ b.covariance).real
    return np.sqrt(np.clip(np.sort(values), 0, None))


def test_excess_is_what_few_samples_add_on_average():
    """The truth is known here, and 4,000 samples of 60 are drawn from it."""
    rng = np.random.default_rng(0)
    d, n = 5, 60
    spread = rng.normal(size=(2, d, d)) / np.sqrt(d)
    reference, truth = (Moments(np.ones(d), each @ each.T + 0.1 * np.eye(d), n) for each in spread)
    rows = rng.multivariate_normal(truth.mean, truth.covariance, size=(4000, n))
    distances = np.array([frechet_distance(reference, moments(sample)) for sample in rows])
    added = distances.mean() - by_sqrtm(reference, truth)
    sampling_error = distances.std() / np.sqrt(len(distances))
    assert added > 20 * sampling_error
    assert excess(truth, roots(reference, truth)) == pytest.approx(added, abs=4 * sampling_error, rel=0.05)


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_the_bias_is_small_around_2d_images_whatever_the_spectrum(power):
    """Sets like the reference have a distance of 0; in shares of the trace, on average over 40 of them."""
    rng, d = np.random.default_rng(0), 16
    scales = np.arange(1, d + 1) ** (-power / 2)
    reference, trace = Moments(np.zeros(d), np.diag(scales**2), 10**6), (scales**2).sum()
    found = {
        n: np.mean([fd_of(rng.normal(size=(n, d)) * scales, reference) for _ in range(40)]) / trace
        for n in (d // 2, 2 * d - 1, 2 * d, 100 * d)
    }
    assert abs(found[d // 2]) < 0.1
    assert abs(found[2 * d - 1]) < 0.06
    assert abs(found[2 * d] - found[2 * d - 1]) < 0.06
    assert abs(found[100 * d]) < 0.01


def test_fd_is_taken_from_the_training_images_and_shrinks_below_2d_only():
    rng = np.random.default_rng(0)
    reference = moments(rng.normal(size=(50, 3)))
    for n, expected in ((6, lambda rows: (rows, 0.0)), (5, shrunk)):
        rows = rng.normal(5, 1, size=(n, 3))
        used, weight = expected(moments(rows))
        correction = excess(used, roots(reference, used), weight)
        assert fd_of(rows, reference) == pytest.approx(by_sqrtm(reference, used) - correction, rel=1e-6)


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((1, 4)),
        np.ones((20, 4)),
        np.zeros((2, 4)),
        1e4 * np.random.default_rng(0).choice([-1.0, 1.0], size=(30, 4)),
        np.eye(3, 4),
    ],
    ids=["n = 1", "one point", "zeros", "+-1e4", "n < d"],
)
@pytest.mark.parametrize("reference", [np.zeros((9, 4)), np.random.default_rng(1).normal(size=(100, 4))])
def test_fd_is_finite_on_adversarial_features(rows, reference):
    assert np.isfinite(fd_of(rows, moments(reference)))
