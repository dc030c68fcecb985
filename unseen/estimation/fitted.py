"""Methods fitted to labelled images, and the estimate, interval and verdict that they give for a set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from baselines import BASELINES
from baselines.accuracy.atc import confidence_log_odds
from baselines.accuracy.priors import predicted_shares, source_prior
from baselines.accuracy.shift import Labelled, Shift, divided
from baselines.contract.estimator import Estimator
from baselines.contract.intervals import CONSTANTS, FAR, WITH_META_TRAIN, Remoteness, Signs, interval
from starter.observing.observation import MetaTrain, Observation, Source, once
from submission.arrays import FloatArray, IntArray
from unseen.estimation.estimation import SetEstimate
from unseen.estimation.inputs import Asked

METHODS = ("atc-ne-ts", "doc-ts", "cot", "cott", "cott-em", "mlls", "cbpe", "suitability")
"""Methods that need logits alone."""
CENTRES = ("atc-ne-ts", "cott-em")
"""The methods whose mean, with those of a second model, is the estimate from logits: by threshold, and by
transport under the set's own class prior. Methods that average confidences estimate too high under natural
shift. With meta-train sets the estimate is `gated`'s, and these show how sure it is."""
FEW = 100
UNKNOWN = 0.02
OTHER_SHARES = 0.25
"""Smallest difference of class shares that is remarked on: half the sum of absolute differences."""
LEARNT = "gated"
Learnt = tuple[Estimator, Remoteness]
"""The method gated, fitted to meta-train sets, and the distance of a set from these sets."""


@once
def _line(source: Source) -> tuple[float, float]:
    """Returns intercept and slope of the log-odds of being right by those of the confidence."""
    sure = confidence_log_odds(source.observation)[:, None]
    fitted = LogisticRegression().fit(np.vstack([sure, [[0.0]], [[0.0]]]), [*source.correct, True, False])
    return float(fitted.intercept_[0]), max(float(fitted.coef_[0, 0]), 0.0)


@dataclass(frozen=True)
class Reading:
    """The estimate of each method for a set, its shift, and what its interval is made of."""

    methods: Mapping[str, float]
    shift: Shift
    signs: Signs


@dataclass(frozen=True)
class Fitted:
    """Methods fitted to the labelled images, and the distance of a set from these or from meta-train sets."""

    source: Source
    methods: Mapping[str, Estimator]
    centres: tuple[str, ...]
    labelled: Labelled
    meta_train: Remoteness | None
    classes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        seen: Observation,
        labels: IntArray,
        names: tuple[str, ...] = METHODS,
        learnt: Learnt | None = None,
        classes: Sequence[str] = (),
    ) -> "Fitted":
        """Returns the methods, and those for a second model if `seen` has it, fitted to it."""
        k = seen.logits.shape[1]
        source = Source(seen, labels, seen, np.zeros((k, 1)), np.zeros(k))
        families = [frozenset({"labelled"})]
        meta = MetaTrain(source, [seen], np.array([source.accuracy]), [source.correct], families)
        second = ("gde",) if seen.peers else ()
        methods = {name: clone(BASELINES[name]).fit(meta) for name in (*names, *second)}
        own = {LEARNT: learnt[0]} if learnt else {}
        called = tuple(map(str, classes or range(k)))
        nearest = learnt[1] if learnt else None
        centres = tuple(own) or (*CENTRES, *second)
        return cls(source, {**own, **methods}, centres, Labelled(source), nearest, called)

    @property
    def compared(self) -> str:
        """The name of the data that sets are compared with."""
        return "the meta-train sets" if self.meta_train else "the labelled images"

    @property
    def accuracy(self) -> float:
        """The accuracy on the labelled images, a fraction."""
        return self.source.accuracy

    def estimate(self, seen: Observation, asked: Asked) -> SetEstimate:
        """Returns the estimate of one set, its interval and verdict, and the estimate of each method.

        No set that is far is said not to have fallen: confidences can rise while accuracy falls. A set whose
        logits seem to be scaled is read with them as they are and with the scale removed: the estimate is
        the mean of both, and the range spans both intervals.
        """
        readings = [self.read(seen)]
        shift = readings[0].shift
        if shift.scale != 1:
            readings.append(self.read(divided(seen, shift.scale)))
        constants = WITH_META_TRAIN if self.meta_train else CONSTANTS
        accuracy, low, high = interval([each.signs for each in readings], asked.level, constants)
        known = self.source.observation
        if not (self.meta_train or known.peers or np.ptp(confidence_log_odds(known))):
            low, high = 0.0, 1.0  # nothing tells right from wrong
        bar = self.accuracy - asked.margin
        outside = self.meta_train.distance(seen) if self.meta_train else shift.outside
        fallen = "yes" if high < bar else "no" if low > bar and outside <= FAR else "cannot tell"
        sure = self._sure(seen, accuracy)
        return SetEstimate(
            name=seen.set_name,
            images=len(seen),
            accuracy=accuracy,
            low=low,
            high=high,
            difference=accuracy - self.accuracy,
            fallen=fallen if shift.scale == 1 else "cannot tell",
            shares=tuple(map(float, shift.shares)),
            distance=shift.distance,
            outside=outside,
            scale=shift.scale,
            sure=sure,
            methods=readings[0].methods,
            remarks=self._remarks(seen, readings[0], outside, sure),
        )

    def read(self, seen: Observation) -> Reading:
        """Returns the estimates of all methods for a set as its logits are, and the signs of a shift."""
        found = {name: float(method.predict([seen])[0]) for name, method in self.methods.items()}
        shift, middle = self.labelled.shift(seen), float(np.mean([found[name] for name in self.centres]))
        spread = float(np.std([found[name] for name in dict.fromkeys((*self.centres, *CENTRES))]))
        pairs = ((middle, len(seen)), (self.accuracy, len(self.source.labels)))
        sampling = sum(share * (1 - share) / n for share, n in pairs) ** 0.5
        # COTT of fewer images than classes is too low, whatever their classes are
        gap = 0.0 if self.meta_train or len(seen) < len(shift.shares) else max(middle - found["cott"], 0.0)
        signs = Signs(middle, gap, spread, sampling, shift.distance, shift.moved)
        return Reading(found, shift, signs)

    def _sure(self, seen: Observation, accuracy: float) -> tuple[float, float]:
        """Returns a confidence, and the share of images above it, which are as accurate as the labelled ones.

        Each image's probability of being right comes from a regression on the labelled images' confidences,
        whose intercept is moved so that the probabilities average to the set's estimate.
        """
        intercept, slope = _line(self.source)
        sure = np.sort(confidence_log_odds(seen))[::-1]

        def right(moved: float) -> FloatArray:
            return expit(intercept + moved + slope * sure)

        moved = brentq(lambda x: right(x).mean() - np.clip(accuracy, 1e-3, 1 - 1e-3), -1000, 1000)
        means = np.cumsum(right(moved)) / np.arange(1, len(sure) + 1)
        count = int((means >= self.accuracy).sum())  # the means fall with the confidence
        return float(expit(sure[max(count, 1) - 1])), count / len(sure)

    def _remarks(
        self, seen: Observation, reading: Reading, outside: float, sure: tuple[float, float]
    ) -> tuple[str, ...]:
        """Returns the reasons for an uncertain estimate, a sentence each."""
        shift, own = reading.shift, np.array(reading.shift.shares)
        labelled = np.bincount(self.source.labels, minlength=len(own)) > 0
        predicted = predicted_shares(seen.predicted, len(own))
        lacking = ", ".join(self.classes[row] for row in np.flatnonzero(~labelled & (predicted > 0)))
        reasons = {
            f"confidences fit the labelled ones times {shift.scale:.2g}: was a temperature changed? If not, "
            "how sure the model is has changed; the range spans both": shift.scale != 1,
            f"it is far from {self.compared}, {outside:.1f} times the usual distance: its accuracy may lie "
            "outside of the range, on either side": outside > FAR,
            "its classes have other shares than the labelled images": (
                np.abs(own - source_prior(self.source)).sum() / 2 >= OTHER_SHARES
            ),
            f"no labelled image is of class {lacking}, which some of these seem to be: label some": (
                predicted[~labelled].sum() >= UNKNOWN
            ),
            f"{len(seen)} images are few: chance alone moves their accuracy by some points": len(seen) < FEW,
            f"{100 * sure[1]:.0f} % of its images have a confidence above {sure[0]:.2f}; about "
            f"{100 * self.accuracy:.1f} % of these should be right, as many as of all labelled images": (
                0 < sure[1] < 0.995 and outside <= FAR
            ),
        }
        return tuple(reason for reason, holds in reasons.items() if holds)
