"""What `gated` reads from a set without its labels: evidence of images, direct estimates, signs of the set.

All of it comes from two networks, the classifier and, where there is one, the referee. Each is read under two
class priors: the source's, and the set's own as EM finds it from that network's probabilities.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import entropy

from baselines.accuracy import priors
from baselines.accuracy.agreement import agreement
from baselines.accuracy.cot import cott_threshold, right_of_class
from baselines.contract.regressors import EDGE, log_odds
from starter.observing.observation import IMAGE_STATS, Observation, Source
from starter.observing.temperature import temperature
from submission.arrays import FloatArray

IMAGE_EDGE = 1e-4
"""Smallest distance from 0 and 1 of an image's probability of which log-odds are taken."""
TINY = 1e-6
"""Smallest divisor, and smallest statistic of an image of which a logarithm is taken."""


@dataclass(frozen=True)
class Reading:
    """What is read from a set of n images, by name."""

    images: dict[str, FloatArray]  # evidence of whether each image is classed rightly, (n,)
    estimates: dict[str, float]  # COTT; with a referee agreement and COTT under its prior
    signs: dict[str, float]  # what kind of set it is, from which the gate decides

    @property
    def has_referee(self) -> bool:
        """Whether a referee has seen the set."""
        return "agreement" in self.estimates


def of_network(network: str, plain: FloatArray, cott: float) -> dict[str, float]:
    """Returns signs: the entropy of the predicted class shares, COTT and the mean confidence in log-odds."""
    return {
        f"{network}_class_entropy": entropy(plain.mean(axis=0), base=plain.shape[1]),
        f"{network}_cott": log_odds(cott),
        f"{network}_confidence": log_odds(plain.max(axis=1).mean()),
    }


@dataclass(frozen=True)
class Reader:
    """What is known of the labelled source, by which sets are read."""

    prior: FloatArray  # of the source's classes, (k,)
    classifier: FloatArray  # its calibration on the source, (1 + k,); see `priors.bias_corrected`
    referee: FloatArray | None  # the same of the referee; None without one
    temperature: float  # of COTT
    threshold: float  # largest halved transport cost of an image that COTT counts as right

    @classmethod
    def of(cls, source: Source) -> "Reader":
        """Returns the reader of sets that are like this source, with its referee if it has one."""
        referee = None
        if source.observation.referee is not None:
            referee = priors.bias_corrected(replace(source, observation=of_referee(source.observation)))
        return cls(
            prior=priors.source_prior(source),
            classifier=priors.bias_corrected(source),
            referee=referee,
            temperature=temperature(source),
            threshold=cott_threshold(source),
        )

    def read(self, seen: Observation) -> Reading:
        """Returns what a set tells; its numbers are finite even where a network is certain."""
        plain, adapted, cott = self._posterior(seen, seen, self.classifier)
        right = self._right_of_class(self.prior, seen)
        reading = Reading(
            images=of_classifier(plain, adapted, seen),
            estimates={"cott": float(right.sum())},
            signs={
                **of_network("classifier", plain, cott),
                "between_classes": between_classes(right, self.prior),
                "dimensions": dimensions(seen.logits),
                "skewness": skewness(seen.logits),
            },
        )
        if self.referee is None:
            assert seen.image_stats is not None
            means = np.log(np.maximum(seen.image_stats, TINY)).mean(axis=0)
            stats = {name: _repeated(mean, seen) for name, mean in zip(IMAGE_STATS, means, strict=True)}
            return replace(reading, images={**reading.images, **stats})
        plain, adapted, cott = self._posterior(seen, of_referee(seen), self.referee)
        return with_referee(reading, plain, adapted, cott, seen)

    def _posterior(
        self, seen: Observation, network: Observation, calibration: FloatArray
    ) -> tuple[FloatArray, FloatArray, float]:
        """Returns a network's probabilities (n, k) under both priors, and COTT under its own."""
        plain = priors.calibrated(network, calibration)
        prior = priors.em_prior(plain, self.prior)
        cott = self._right_of_class(prior, seen).sum()
        return plain, priors.reweighted(plain, self.prior, prior), cott

    def _right_of_class(self, prior: FloatArray, seen: Observation) -> FloatArray:
        """Returns the mass (k,) that COTT counts as right in each class under a prior."""
        return right_of_class(prior, seen, self.temperature, self.threshold)


def of_classifier(plain: FloatArray, adapted: FloatArray, seen: Observation) -> dict[str, FloatArray]:
    """Returns log-odds of the confidence under both priors, and means of the second and of the margins."""
    confidence = _odds_of_predicted(plain, seen)
    margins = np.diff(np.sort(seen.logits.astype(np.float64), axis=1)[:, -2:])
    return {
        "adapted": _odds_of_predicted(adapted, seen),
        "confidence": confidence,
        "mean_confidence": _repeated(confidence.mean(), seen),
        "mean_margin": _repeated(margins.mean(), seen),
    }


def with_referee(
    reading: Reading, plain: FloatArray, adapted: FloatArray, cott: float, seen: Observation
) -> Reading:
    """Returns the reading with what the referee says under both priors, and COTT under the prior it finds."""
    evidence = {
        "referee_confidence": log_odds(plain.max(axis=1), IMAGE_EDGE),
        "referee_adapted": _odds_of_predicted(adapted, seen),
        "referee": _odds_of_predicted(plain, seen),
    }
    means = {f"mean_{name}": _repeated(values.mean(), seen) for name, values in evidence.items()}
    estimates = {
        "agreement": agreement(seen, plain),
        "agreement_adapted": agreement(seen, adapted),
        "cott_referee": float(np.clip(cott, EDGE, 1 - EDGE)),
    }
    signs = {
        **of_network("referee", plain, cott),
        "agreement": log_odds(estimates["agreement"]),
        "agreement_adapted": log_odds(estimates["agreement_adapted"]),
    }
    return Reading(
        images={**reading.images, **evidence, **means},
        estimates={**reading.estimates, **estimates},
        signs={**reading.signs, **signs},
    )


def of_referee(seen: Observation) -> Observation:
    """Returns the observation with the referee's log-probabilities in place of the classifier's logits."""
    assert seen.referee is not None, f"gated learnt with a referee, {seen.set_name!r} was seen without"
    logits = np.log(np.maximum(seen.referee, np.finfo(np.float32).tiny)).astype(np.float32)
    return Observation(seen.set_name, seen.classifier, logits)


def between_classes(right: FloatArray, prior: FloatArray) -> float:
    """Returns the share of the variance of right or wrong that lies between classes, in [0, 1].

    It is Fisher's correlation ratio eta^2 = sum_c q_c (a_c - a)^2 / (a (1 - a)) of COTT's answers q_c a_c
    (k,) under the prior q (k,), near 1 if a set has few of the source's classes. That use is the kit's own.
    """
    mean = right.sum()
    return float(((right - mean * prior) ** 2 / prior).sum() / max(mean * (1 - mean), TINY))


def dimensions(logits: FloatArray) -> float:
    """Returns the logits' number of dimensions as log_k of tr(C)^2 / tr(C^2), C their covariance (k, k).

    The ratio is the participation ratio of C's eigenvalues. It is low for a set of few classes, and does not
    change if all logits (n, k) are multiplied or moved; the use is the kit's own.
    """
    covariance = np.cov(_without_row_means(logits).T, bias=True)
    ratio = np.trace(covariance) ** 2 / max((covariance**2).sum(), TINY)
    return float(np.log(max(ratio, 1)) / np.log(len(covariance)))


def skewness(logits: FloatArray) -> float:
    """Returns the mean skewness of the classes' logits (n, k), which is high of rare classes."""
    centred = _without_row_means(logits)
    off = centred - centred.mean(axis=0)
    return float(((off / np.maximum(off.std(axis=0), TINY)) ** 3).mean())


def _without_row_means(logits: FloatArray) -> FloatArray:
    """Returns each image's logits minus their mean, float64 (n, k)."""
    return logits - logits.mean(axis=1, keepdims=True, dtype=np.float64)


def _odds_of_predicted(p: FloatArray, seen: Observation) -> FloatArray:
    """Returns the log-odds (n,) of the probability of the class that the classifier predicts."""
    return log_odds(p[np.arange(len(seen)), seen.predicted], IMAGE_EDGE)


def _repeated(value: float, seen: Observation) -> FloatArray:
    """Returns a number of the set for each of its images, (n,)."""
    return np.full(len(seen), value, dtype=np.float64)
