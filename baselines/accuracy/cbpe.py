"""CBPE, confidence-based performance estimation, as in NannyML (github.com/NannyML/nannyml)."""

from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from baselines.accuracy.atc import confidence_log_odds
from starter.observing.observation import Observation, Source, once


def cbpe(target: Observation, source: Source) -> float:
    """Mean confidence after isotonic calibration on the source (NannyML).

    Returns mean_i g(max_c p_ic), an accuracy in [0, 1]. p (n, k) is the softmax, and g the isotonic
    regression of "classified correctly" on the confidence over the labelled source; g is interpolated between
    the source's confidences and constant beyond them. Only the confidence of the predicted class is
    calibrated, since accuracy needs no other class; NannyML calibrates each class against the rest.
    """
    return float(calibration(source).predict(expit(confidence_log_odds(target))).mean())


@once
def calibration(source: Source) -> IsotonicRegression:
    """Returns g, the isotonic regression of being right on confidence, fitted to the source."""
    g = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    g.fit(expit(confidence_log_odds(source.observation)), source.correct)
    return g
