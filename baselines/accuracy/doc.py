"""DoC, difference of confidences (Guillory et al., ICCV 2021)."""

from starter.observing.observation import Observation, Source


def doc(target: Observation, source: Source) -> float:
    """accuracy(source) + mean over the set of max_c p_c - mean over the source of max_c p_c.

    p is the softmax, (n, k). The estimate is an accuracy, a fraction; it may leave [0, 1] where the two
    confidences differ by more than the source's accuracy allows (the estimator clips it).
    """
    confidence = target.probabilities.max(axis=1).mean()
    return float(source.accuracy + confidence - source.observation.probabilities.max(axis=1).mean())
