"""CBPE, confidence-based performance estimation, with an isotonic calibration of the confidence."""

from sklearn.isotonic import IsotonicRegression

from starter.observing.observation import Observation, Source
from starter.observing.once import once


def cbpe(target: Observation, source: Source) -> float:
    """Returns mean over the set of g(max_c p_c), an accuracy in [0, 1], where p is the softmax, (n, k).

    g is the isotonic regression of "classified correctly" on confidence over the labelled source; between
    the source's confidences it is interpolated, beyond them it is constant. Only the predicted class is
    calibrated, since accuracy needs no other; NannyML, after whose `CBPE` this is named, calibrates each
    class against the rest first.
    """
    return float(calibration(source).predict(target.probabilities.max(axis=1)).mean())


@once
def calibration(source: Source) -> IsotonicRegression:
    """Returns g, from a confidence to the chance of being right, as the source has it."""
    g = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    g.fit(source.observation.probabilities.max(axis=1), source.correct)
    return g
