"""SoftmaxCorr against scipy's cosine of the flattened matrices."""

import numpy as np
import pytest
from observations import LOGITS, seen, source_of
from scipy.spatial.distance import cosine
from scipy.special import softmax

from baselines.accuracy.softmaxcorr import softmaxcorr


@pytest.mark.parametrize("name", LOGITS)
def test_softmaxcorr_against_scipy(name):
    target = seen(LOGITS[name])
    k = target.logits.shape[1]
    labels = np.random.default_rng(5).integers(k, size=60)
    p = softmax(target.logits.astype(np.float64), axis=1)
    correlation = sum(np.outer(row, row) for row in p) / len(p)
    reference = np.diag([(labels == c).mean() for c in range(k)])
    value = softmaxcorr(target, source_of(np.zeros((60, k)), labels))
    assert value == pytest.approx(1 - cosine(correlation.ravel(), reference.ravel()), abs=1e-6)
    assert 0 <= value <= 1 + 1e-12


def test_softmaxcorr_is_one_where_the_predictions_are_certain_and_follow_the_prior():
    source = source_of(1e4 * np.eye(4)[[0, 1, 1, 2, 3]], [0, 1, 1, 2, 3])
    assert softmaxcorr(source.observation, source) == pytest.approx(1)


def test_softmaxcorr_is_zero_where_only_a_class_without_prior_is_predicted():
    assert softmaxcorr(seen([[1e4, 0.0]]), source_of([[0.0, 1.0]], [1])) == 0
