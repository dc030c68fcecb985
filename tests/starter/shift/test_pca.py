"""Tests for `starter.shift.pca`: components against scikit-learn's, the share that they hold."""

import numpy as np
from sklearn.decomposition import PCA

from starter.shift.pca import text_pca


def texts(seed=0):
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((7, 1, 12)), rng.standard_normal((1, 5, 12))
    return (first + second + 0.1 * rng.standard_normal((7, 5, 12))).astype(np.float32)


def test_components_are_scikit_learns():
    features = texts()
    found = text_pca(features, 0.9)

    for part, axis in ((found.semantic, 0), (found.covariate, 1)):
        deviations = (features - features.mean(axis, keepdims=True)).reshape(-1, 12)
        reference = PCA(0.9, svd_solver="full").fit(deviations.astype(np.float64)).components_
        assert part.shape == reference.T.shape
        np.testing.assert_allclose(part @ part.T, reference.T @ reference, atol=1e-5)


def test_a_part_is_what_lies_along_its_directions():
    found = text_pca(texts())
    semantic, covariate = found.decompose(texts(1).reshape(-1, 12))

    assert semantic.shape == (35, found.semantic.shape[1])
    assert covariate.shape == (35, found.covariate.shape[1])
    np.testing.assert_allclose(found.semantic.T @ found.semantic, np.eye(semantic.shape[1]), atol=1e-6)
