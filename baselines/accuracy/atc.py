"""ATC, average thresholded confidence, and the form in DataCV's kit.

Paper: Garg, Balakrishnan, Lipton, Neyshabur & Sedghi, "Leveraging Unlabeled Data to Predict
Out-of-Distribution Performance", ICLR 2022, arXiv 2201.04234. Code: github.com/saurabhgarg1996/ATC_code.
"""

import math
from typing import Any

import numpy as np

from baselines.accuracy.entropy import entropies
from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation, Source, once
from starter.observing.temperature import blocks, joined, logsumexp_of, temperature
from submission.arrays import BoolArray, FloatArray


def confidence_log_odds(observation: Observation, temperature: float = 1.0) -> FloatArray:
    """Returns log-odds of each image's largest probability, (n,), exact where a float32 softmax is 1.0."""
    return joined(row_log_odds(block.div_(temperature)) for block in blocks(observation.logits))


def row_log_odds(logits: Any) -> Any:
    """Returns the log-odds of the largest probability in each row of a tensor (n, k), which it overwrites."""
    confidence, predicted = logits.max(dim=1)
    return confidence - logsumexp_of(logits.scatter_(1, predicted[:, None], -math.inf))


@once
def atc_threshold(source: Source) -> float:
    """Returns the threshold, in log-odds, with a share of source images below it equal to its error."""
    return threshold(confidence_log_odds(source.observation), source.correct)


def threshold(scores: FloatArray, correct: BoolArray) -> float:
    """Returns the score t with as many scores (n,) below it as images are wrong; infinite if all are."""
    # The authors' code takes the next lower score, at which the source's own estimate is an image too high.
    wrong = int((~correct).sum())
    return float(np.sort(scores)[wrong]) if wrong < len(scores) else math.inf


def atc(target: Observation, source: Source) -> float:
    """Share of images above the confidence threshold of the source (Garg et al. 2022).

    Returns mean_i 1[s_i >= t], in [0, 1], where s_i is the confidence of image i in log-odds and t the
    source's threshold, see `atc_threshold`.
    """
    return float((confidence_log_odds(target) >= atc_threshold(source)).mean())


SCORES = ("confidence", "negative-entropy")
"""The scores that may be thresholded: the largest probability (as log-odds), or sum_c p_c log p_c."""


class Atc(Estimator):
    """The share of `atc`, with another score or after temperature scaling on the source (Garg et al. 2022).

    Args:
        score: Name of the score, one of SCORES.
        scaled: True to divide the logits by the temperature that fits the source best.
    """

    def __init__(self, score: str = "confidence", scaled: bool = True) -> None:
        self.score = score
        self.scaled = scaled

    def _fit(self, meta: MetaTrain) -> None:
        self._require("score", self.score in SCORES, " or ".join(SCORES))
        source = meta.source
        self.temperature_ = temperature(source) if self.scaled else 1.0
        self.threshold_ = threshold(self._scores(source.observation), source.correct)

    def _predict(self, observation: Observation) -> float:
        return float((self._scores(observation) >= self.threshold_).mean())

    def _scores(self, observation: Observation) -> FloatArray:
        """Returns the score of each image, (n,); higher means more confident."""
        if self.score == "confidence":
            return confidence_log_odds(observation, self.temperature_)
        return -entropies(observation, self.temperature_)


def atc_datacv(target: Observation, source: Source) -> float:
    """Share of images as in DataCV's starter kit, with the threshold at the accuracy's quantile.

    t = sorted(-H)[ceil(accuracy * n)] over the n source images, and the indicator is the share of the set
    with -H < t, where H is the entropy of the softmax. This is the wrong tail; it is kept so that published
    tables can be compared. The kit fails at accuracy 1; here t is then the largest score. Code:
    github.com/xingjianleng/autoeval_baselines.
    """
    scores = np.sort(-entropies(source.observation))
    threshold = scores[min(math.ceil(source.accuracy * len(scores)), len(scores) - 1)]
    return float((-entropies(target) < threshold).mean())
