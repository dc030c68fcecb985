"""DoC, difference of confidences.

Paper: Guillory, Shankar, Ebrahimi, Darrell & Schmidt, "Predicting with Confidence on Unseen Distributions",
ICCV 2021, arXiv 2107.03315.
"""

from scipy.special import expit

from baselines.accuracy.atc import confidence_log_odds
from starter.observing.observation import Observation, Source, once
from starter.observing.temperature import temperature


def doc(target: Observation, source: Source) -> float:
    """Source accuracy plus the difference of mean confidences (Guillory et al. 2021).

    Returns accuracy(source) + mean_set max_c p_c - mean_source max_c p_c, where p (n, k) is the softmax.
    """
    confidence = target.probabilities.max(axis=1).mean()
    return float(source.accuracy + confidence - source.observation.probabilities.max(axis=1).mean())


def doc_ts(target: Observation, source: Source) -> float:
    """The estimate of `doc` after temperature scaling on the source (Garg et al. 2022).

    Guillory et al. also use the difference of mean entropies. It differs from `entropy` by a constant, so a
    regression on either gives the same predictions.
    """
    return _confidence(target, source) + missing_confidence(source)


@once
def missing_confidence(source: Source) -> float:
    """Returns the source's accuracy less its mean confidence at its temperature."""
    return source.accuracy - _confidence(source.observation, source)


def _confidence(observation: Observation, source: Source) -> float:
    return float(expit(confidence_log_odds(observation, temperature(source))).mean())
