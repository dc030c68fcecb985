"""ATC, average thresholded confidence (Garg et al., ICLR 2022), and the form in DataCV's kit."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from baselines.accuracy.entropy import entropies
from starter.observing.observation import Observation, Source


def confidence_log_odds(observation: Observation) -> NDArray[np.float64]:
    """log(p / (1 - p)) of each image's largest softmax probability p, float64 (n,).

    It orders images as p does, but where a float32 softmax saturates at 1.0 it still tells them apart.
    """
    logits = np.sort(observation.logits.astype(np.float64), axis=1)
    return logits[:, -1] - logsumexp(logits[:, :-1], axis=1)


def atc_threshold(source: Source) -> float:
    """The threshold t in log-odds: as many source images score below t as are classified wrongly.

    With no wrong image t is the lowest score, with no right one it is infinite.
    """
    scores = np.sort(confidence_log_odds(source.observation))
    wrong = int((~source.correct).sum())
    return float(scores[wrong]) if wrong < len(scores) else math.inf


def atc(target: Observation, source: Source) -> float:
    """The fraction of the set whose confidence is at least the source's threshold, in [0, 1]."""
    return float((confidence_log_odds(target) >= atc_threshold(source)).mean())


def atc_datacv(target: Observation, source: Source) -> float:
    """The number that DataCV's kit regresses on: it cuts at the accuracy's quantile, not the error's.

    t = sorted(-H)[ceil(accuracy * n)] over the source, and the score is the fraction with -H < t: the wrong
    tail, kept here so that published tables can be compared. At accuracy 1 the kit fails; t is then the
    largest score.
    """
    scores = np.sort(-entropies(source.observation))
    threshold = scores[min(math.ceil(source.accuracy * len(scores)), len(scores) - 1)]
    return float((-entropies(target) < threshold).mean())
