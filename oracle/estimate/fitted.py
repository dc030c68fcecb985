"""What methods learn from labelled images, and what they make of a set: its estimate and interval."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, wasserstein_distance
from sklearn.base import clone

from baselines import BASELINES
from baselines.accuracy.atc import confidence_log_odds
from baselines.accuracy.cott_prior import CottPrior
from baselines.accuracy.priors import (
    calibrated,
    em_prior,
    predicted_shares,
    source_prior,
)
from baselines.contract.estimator import Estimator
from oracle.estimate.estimation import SetEstimate
from starter.observing.observation import MetaTrain, Observation, Source
from submission.arrays import FloatArray, IntArray

METHODS = ("atc-ne-ts", "doc-ts", "cot", "cott", "cott-em", "mlls", "cbpe", "suitability")
"""What needs logits alone, of the kit's methods."""
WITH_SECOND = ("gde",)
"""What needs a second model's logits besides."""
CENTRES = ("atc-ne-ts", "cott-em")
"""The methods whose mean, with those of a second model, is the estimate: by threshold, and by transport under
the set's own class prior. What averages confidences tells too high an accuracy under natural shift."""
SPREAD, FLOOR = 1.0, 0.015
BELOW, ABOVE = 0.3, 0.2
UNLIKE = 0.1
"""A standard deviation of the error, beside sampling: this share of the methods' own standard deviation, and
a part that is never certain; a share of the fall that they tell, downwards and upwards, since accuracy falls
further than logits let see; and downwards a share of the distance, which may be all that they let see. Found
on natural sets (benchmarks/results/estimate.py).
"""
FAR = 0.75
"""A distance from which on a set counts as unlike what was labelled."""
APART = 0.1
"""A range of estimates from which on the methods count as disagreeing."""
FEW = 100
LEAST_SURE = 12
UNKNOWN = 0.02
OTHER_SHARES = 0.25
"""The share of images that would have to be of another class from which on class shares count as others."""


@dataclass(frozen=True)
class Fitted:
    """Methods that have learnt from the labelled images, and what a set is compared with."""

    source: Source
    methods: Mapping[str, Estimator]

    @classmethod
    def of(cls, seen: Observation, labels: IntArray, names: tuple[str, ...] = METHODS) -> "Fitted":
        """Returns what methods learn from labelled images (n) and their labels (n,)."""
        k = seen.logits.shape[1]
        source = Source(seen, labels, seen, np.zeros((k, 1)), np.zeros(k))
        families = [frozenset({"labelled"})]
        meta = MetaTrain(source, [seen], np.array([source.accuracy]), [source.correct], families)
        every = (*names, *(WITH_SECOND if seen.peers else ()))
        return cls(source, {name: clone(BASELINES[name]).fit(meta) for name in every})

    @property
    def accuracy(self) -> float:
        """On the labelled images."""
        return self.source.accuracy

    @property
    def _calibration(self) -> FloatArray:
        """Of the probabilities, as COTT under the set's prior has found it."""
        method = self.methods["cott-em"]
        assert isinstance(method, CottPrior)
        return method.calibration_

    def estimate(
        self, seen: Observation, margin: float, level: float, learnt: Mapping[str, Estimator] | None = None
    ) -> SetEstimate:
        """Returns the estimate of one set, its interval, and what it is made of."""
        every = {**(learnt or {}), **self.methods}
        found = {name: float(method.predict([seen])[0]) for name, method in every.items()}
        values = np.array(
            [found[name] for name in (*(learnt or {}), *CENTRES, *WITH_SECOND) if name in found]
        )
        middle = float(values.mean())
        difference = middle - self.accuracy
        shares = em_prior(calibrated(seen, self._calibration), source_prior(self.source))
        sure, known = confidence_log_odds(seen), confidence_log_odds(self.source.observation)
        distance = float(wasserstein_distance(sure, known) / max(known.std(), 1e-9))
        low, high = self._interval(values, len(seen), distance, level)
        bar = self.accuracy - margin
        return SetEstimate(
            seen.set_name,
            len(seen),
            middle,
            low,
            high,
            difference,
            "yes" if high < bar else "no" if low > bar else "unclear",
            tuple(map(float, shares)),
            distance,
            found,
            tuple(self._remarks(seen, found, shares, distance)),
            tuple(map(int, np.argsort(sure, kind="stable")[:LEAST_SURE])),
        )

    def _interval(
        self, values: FloatArray, images: int, distance: float, level: float
    ) -> tuple[float, float]:
        """Returns low and high around the mean of the methods' estimates of a set."""
        middle = float(values.mean())
        pairs = ((middle, images), (self.accuracy, len(self.source.labels)))
        sampling = sum(share * (1 - share) / n for share, n in pairs)
        common = sampling + (SPREAD * values.std()) ** 2 + FLOOR**2
        fall = middle - self.accuracy
        down = float(np.sqrt(common + (BELOW * fall) ** 2 + (UNLIKE * distance) ** 2))
        up = float(np.sqrt(common + (ABOVE * fall) ** 2))
        quantile = float(norm.ppf((1 + level) / 2))
        return max(middle - quantile * down, 0.0), min(middle + quantile * up, 1.0)

    def _remarks(
        self, seen: Observation, found: Mapping[str, float], shares: FloatArray, distance: float
    ) -> Iterator[str]:
        """Yield the reasons for an uncertain estimate, in plain words."""
        judging = {name: found[name] for name in (*CENTRES, "doc-ts", *WITH_SECOND) if name in found}
        low, high = min(judging, key=judging.__getitem__), max(judging, key=judging.__getitem__)
        if judging[high] - judging[low] >= APART:
            told = f"from {100 * judging[low]:.0f} % ({low}) to {100 * judging[high]:.0f} % ({high})"
            yield f"the methods disagree, {told}: label some of these images"
        if distance >= FAR:
            yield "the model is sure of these images in another way than of the labelled ones: trust it less"
        prior = source_prior(self.source)
        if np.abs(shares - prior).sum() / 2 >= OTHER_SHARES:
            yield "its classes have other shares than the labelled images, which cot and cott take for errors"
        labelled = np.bincount(self.source.labels, minlength=len(shares)) > 0
        predicted = predicted_shares(seen.predicted, len(shares))
        if predicted[~labelled].sum() >= UNKNOWN:
            classes = ", ".join(map(str, np.flatnonzero(~labelled & (predicted > 0))))
            yield f"no labelled image is of class {classes}, which some of these seem to be: label some"
        if len(seen) < FEW:
            yield f"{len(seen)} images are few: chance alone moves their accuracy by some points"
