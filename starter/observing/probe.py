"""A linear probe: multinomial logistic regression on an encoder's features, calibrated by one temperature."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from starter.observing.temperature import likeliest_temperature
from submission.arrays import FloatArray

STRENGTH = 0.007
"""Inverse weight C of the squared norm, like scikit-learn's: the likelihood is summed over images."""
STEPS = 300
TOLERANCE = 1e-5
"""Mean gradient of the likelihood below which fitting stops."""
BINS = 15
"""Number of bins of the calibration error."""

Linear = tuple[FloatArray, FloatArray]
"""Weight (k, d) and bias (k,): logits are features @ weight.T + bias."""


def fit_linear(
    features: FloatArray, labels: NDArray[np.int64], classes: int, start: Linear | None = None
) -> Linear:
    """Returns a multinomial logistic regression, fitted by L-BFGS on standardised features.

    It minimises |W|^2 / 2 + `STRENGTH` * (sum over images of the negative log-likelihood), no penalty on the
    bias, like scikit-learn's LogisticRegression. The standardisation is folded into the returned weights,
    so these apply to raw features. The fit is deterministic.

    Args:
        features: Features, float32 (n, d).
        labels: Class indices, int64 (n,), in 0..k - 1.
        classes: Number of classes k.
        start: Initial probe; it saves steps and does not change the optimum.
    """
    n, d = features.shape
    mean = features.mean(axis=0, dtype=np.float64)
    scale = features.std(axis=0, dtype=np.float64)
    scale[scale == 0] = 1
    rows = ((features - mean.astype(np.float32)) / scale.astype(np.float32)).astype(np.float32)
    hits = np.zeros((n, classes), np.float32)
    hits[np.arange(n), labels] = 1

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        """Returns the mean loss and its gradient."""
        weight, bias = flat[:-classes].reshape(classes, d), flat[-classes:]
        logs = log_softmax((rows @ weight.T.astype(np.float32)).astype(np.float64) + bias, axis=1)
        error = np.exp(logs).astype(np.float32) - hits
        loss = -logs[np.arange(n), labels].mean() + (weight**2).sum() / (2 * STRENGTH * n)
        slope = (error.T @ rows).astype(np.float64) / n + weight / (STRENGTH * n)
        return float(loss), np.concatenate([slope.ravel(), error.sum(axis=0, dtype=np.float64) / n])

    first = np.zeros(classes * (d + 1))
    if start is not None:
        first = np.concatenate([(start[0] * scale).ravel(), start[1] + start[0] @ mean])
    limits = {"maxiter": STEPS, "gtol": TOLERANCE, "ftol": 1e-9}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", options=limits).x
    weight = found[:-classes].reshape(classes, d) / scale
    return weight, found[-classes:] - weight @ mean


def calibrated(linear: Linear, features: FloatArray, labels: NDArray[np.int64]) -> Linear:
    """Returns the probe with its logits divided by the temperature fitted on these labelled features."""
    weight, bias = linear
    temperature = likeliest_temperature(features @ weight.T + bias, labels)
    return weight / temperature, bias / temperature


def calibration_error(probabilities: FloatArray, labels: NDArray[np.int64]) -> float:
    """Returns the expected calibration error, in [0, 1], with bins of equal width (Guo et al., ICML 2017)."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(right[place == each].sum() - confidence[place == each].sum()) for each in np.unique(place)]
    return float(sum(gaps) / len(labels))
