"""Probes against scikit-learn's logistic regression, and calibration against a loop."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from starter.observing.probe import BINS, STRENGTH, calibrated, calibration_error, fit_linear

RNG = np.random.default_rng(0)
LABELS = RNG.integers(4, size=600)
CENTRES = RNG.normal(size=(4, 20))
SCALES = np.geomspace(0.01, 100, 20)
FEATURES = ((CENTRES[LABELS] + 2 * RNG.normal(size=(600, 20))) * SCALES + 5).astype(np.float32)


def test_the_probe_is_logistic_regression_on_standardised_features():
    weight, bias = fit_linear(FEATURES, LABELS, 4)
    scaler = StandardScaler().fit(FEATURES)
    model = LogisticRegression(C=STRENGTH, tol=1e-8, max_iter=5000).fit(scaler.transform(FEATURES), LABELS)
    found = softmax(FEATURES @ weight.T + bias, axis=1)
    np.testing.assert_allclose(found, model.predict_proba(scaler.transform(FEATURES)), atol=2e-3)


def test_where_it_starts_and_how_often_it_is_fitted_changes_nothing():
    cold = fit_linear(FEATURES, LABELS, 4)
    np.testing.assert_array_equal(cold[0], fit_linear(FEATURES, LABELS, 4)[0])
    warm = fit_linear(FEATURES, LABELS, 4, start=(cold[0] * 2, cold[1] - 1))
    first, second = (softmax(FEATURES @ w.T + b, axis=1) for w, b in (cold, warm))
    np.testing.assert_allclose(first, second, atol=2e-3)


def test_a_feature_that_never_varies_and_a_class_without_an_image_do_no_harm():
    rows = np.column_stack([FEATURES, np.full(600, 7, np.float32)])
    weight, bias = fit_linear(rows, LABELS, 5)
    judged = softmax(rows @ weight.T + bias, axis=1)
    assert np.isfinite(judged).all()
    assert judged[:, 4].max() < 0.01


def test_calibration_finds_the_likeliest_temperature():
    weight, bias = fit_linear(FEATURES, LABELS, 4)
    sharp = calibrated((weight * 9, bias * 9), FEATURES, LABELS)
    flat = calibrated((weight / 9, bias / 9), FEATURES, LABELS)
    np.testing.assert_allclose(sharp[0], flat[0], rtol=1e-3)

    def likelihood(scale):
        logits = scale * (FEATURES @ sharp[0].T + sharp[1])
        return log_softmax(logits, axis=1)[np.arange(600), LABELS].mean()

    assert likelihood(1.0) > max(likelihood(0.9), likelihood(1.1))


def test_the_calibration_error_is_that_of_a_loop():
    probabilities = RNG.dirichlet(np.full(4, 0.5), size=300)
    labels = RNG.integers(4, size=300)
    expected = 0.0
    for place in range(BINS):
        rows = [i for i in range(300) if place <= BINS * probabilities[i].max() < place + 1]
        right = [probabilities[i].argmax() == labels[i] for i in rows]
        if rows:
            expected += (
                len(rows) / 300 * abs(np.mean(right) - np.mean([probabilities[i].max() for i in rows]))
            )
    assert calibration_error(probabilities, labels) == pytest.approx(expected, abs=1e-9)
    assert calibration_error(np.eye(4)[labels], labels) == 0
