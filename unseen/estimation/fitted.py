"""Methods fitted to labelled images, and the estimate, interval and verdict that they give for a set."""

from collections.abc import Iterator, Mapping, Sequence
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
from unseen.estimation.estimates import SetEstimate, fallen
from unseen.estimation.inputs import Asked

METHODS = ("atc-ne-ts", "doc-ts", "cot", "cott", "cott-em", "mlls", "cbpe", "suitability")
"""Methods that need logits alone."""
CENTRES = ("atc-ne-ts", "cott-em")
"""The methods whose mean, with those of a second model, is the estimate from logits: by threshold, and by
transport under the set's own class prior. Methods that average confidences estimate too high under natural
shift. With meta-train sets the estimate is `gated`'s, and these show how sure it is."""
FEW = 100
"""Number of images below which chance alone is remarked on."""
UNKNOWN = 0.02
"""Smallest share of a set that is predicted to be of classes without labelled images that is remarked on."""
OTHER_SHARES = 0.25
"""Smallest difference of class shares that is remarked on: half the sum of absolute differences."""
NEARLY_ALL = 0.995
"""Share of sure images from which on they need no remark."""
LEAST_MEAN = 1e-3
"""Smallest distance from 0 and 1 of a mean chance of being right."""
FARTHEST = 1000
"""Largest size of an intercept in log-odds."""
LEARNT = "gated"
"""The method whose estimate counts where there are meta-train sets."""
Learnt = tuple[Estimator, Remoteness]
"""The method gated, fitted to meta-train sets, and the distance of a set from these sets."""


@once
def _slope(source: Source) -> float:
    """Returns the slope, at least 0, of the log-odds of being right by those of the confidence.

    It is that of Platt's scaling (1999), a logistic regression in which one image that is right and one that
    is wrong are added at a confidence of a half.
    """
    sure = confidence_log_odds(source.observation)[:, None]
    rows = np.vstack([sure, [[0.0]], [[0.0]]])
    line = LogisticRegression().fit(rows, [*source.correct, True, False])
    return max(float(line.coef_[0, 0]), 0.0)


def sure_images(
    confidences: FloatArray, slope: float, estimate: float, accuracy: float
) -> tuple[float, float]:
    """Returns a confidence, and the share of images above it, of which a share `accuracy` should be right.

    An image's chance of being right is expit(a + b s) of its confidence s in log-odds, with the slope b >= 0
    of the labelled images, and with the intercept a at which the chances average to the set's estimate. Of
    the images in the order of their confidence, as many are sure as still have the accuracy on average; that
    use is the kit's own.
    """
    sure = np.sort(confidences)[::-1]
    mean = np.clip(estimate, LEAST_MEAN, 1 - LEAST_MEAN)

    def chances(intercept: float) -> FloatArray:
        return expit(intercept + slope * sure)

    intercept = brentq(lambda a: chances(a).mean() - mean, -FARTHEST, FARTHEST)
    means = np.cumsum(chances(intercept)) / np.arange(1, len(sure) + 1)
    count = int((means >= accuracy).sum())  # the means fall with the confidence
    return float(expit(sure[max(count, 1) - 1])), count / len(sure)


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
        meta = MetaTrain(
            source=source,
            sets=[seen],
            targets=np.array([source.accuracy]),
            correct=[source.correct],
            families=[frozenset({"labelled"})],
        )
        second = ("gde",) if seen.peers else ()
        methods: dict[str, Estimator] = {LEARNT: learnt[0]} if learnt else {}
        methods |= {name: clone(BASELINES[name]).fit(meta) for name in (*names, *second)}
        return cls(
            source=source,
            methods=methods,
            centres=(LEARNT,) if learnt else (*CENTRES, *second),
            labelled=Labelled(source),
            meta_train=learnt[1] if learnt else None,
            classes=tuple(str(name) for name in classes or range(k)),
        )

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
        methods, shift, signs = self.read(seen)
        accuracy, low, high = self._interval(seen, signs, shift.scale, asked.level)
        outside = self.meta_train.distance(seen) if self.meta_train else shift.outside
        verdict = fallen(low, high, self.accuracy - asked.margin)
        if shift.scale != 1 or (verdict == "no" and outside > FAR):
            verdict = "cannot tell"
        sure = sure_images(confidence_log_odds(seen), _slope(self.source), accuracy, self.accuracy)
        return SetEstimate(
            name=seen.set_name,
            images=len(seen),
            accuracy=accuracy,
            low=low,
            high=high,
            difference=accuracy - self.accuracy,
            fallen=verdict,
            shares=tuple(map(float, shift.shares)),
            distance=shift.distance,
            outside=outside,
            scale=shift.scale,
            sure=sure,
            methods=methods,
            remarks=tuple(self._remarks(seen, shift, outside, sure)),
        )

    def _interval(
        self, seen: Observation, signs: Signs, scale: float, level: float
    ) -> tuple[float, float, float]:
        """Returns the estimate of a set and its interval, [0, 1] if nothing tells right from wrong."""
        readings = [signs] if scale == 1 else [signs, self.read(divided(seen, scale))[2]]
        accuracy, low, high = interval(readings, level, WITH_META_TRAIN if self.meta_train else CONSTANTS)
        known = self.source.observation
        if not (self.meta_train or known.peers or np.ptp(confidence_log_odds(known))):
            return accuracy, 0.0, 1.0
        return accuracy, low, high

    def read(self, seen: Observation) -> tuple[Mapping[str, float], Shift, Signs]:
        """Returns each method's estimate for a set as its logits are, its shift, and the interval's signs."""
        methods = {name: float(method.predict([seen])[0]) for name, method in self.methods.items()}
        shift = self.labelled.shift(seen)
        mean = float(np.mean([methods[name] for name in self.centres]))
        compared = dict.fromkeys((*self.centres, *CENTRES))
        gap = max(mean - methods["cott"], 0.0)
        if self.meta_train or len(seen) < len(shift.shares):
            gap = 0.0  # COTT of fewer images than classes is too low, whatever their classes are
        variance = mean * (1 - mean) / len(seen)
        variance_labelled = self.accuracy * (1 - self.accuracy) / len(self.source.labels)
        signs = Signs(
            mean=mean,
            gap=gap,
            spread=float(np.std([methods[name] for name in compared])),
            sampling=(variance + variance_labelled) ** 0.5,
            distance=shift.distance,
            moved=shift.moved,
        )
        return methods, shift, signs

    def _remarks(
        self, seen: Observation, shift: Shift, outside: float, sure: tuple[float, float]
    ) -> Iterator[str]:
        """Yields the reasons for an uncertain estimate, and which images are sure unless the set is far."""
        if shift.scale != 1:
            yield (
                f"confidences fit the labelled ones times {shift.scale:.2g}: was a temperature changed? If "
                "not, how sure the model is has changed; the range spans both"
            )
        if outside > FAR:
            yield (
                f"it is far from {self.compared}, {outside:.1f} times the usual distance: its accuracy may "
                "lie outside of the range, on either side"
            )
        if np.abs(shift.shares - source_prior(self.source)).sum() / 2 >= OTHER_SHARES:
            yield "its classes have other shares than the labelled images"
        predicted = predicted_shares(seen.predicted, len(shift.shares))
        lacking = np.bincount(self.source.labels, minlength=len(shift.shares)) == 0
        if predicted[lacking].sum() >= UNKNOWN:
            names = ", ".join(self.classes[row] for row in np.flatnonzero(lacking & (predicted > 0)))
            yield f"no labelled image is of class {names}, which some of these seem to be: label some"
        if len(seen) < FEW:
            yield f"{len(seen)} images are few: chance alone moves their accuracy by some points"
        confidence, share = sure
        if 0 < share < NEARLY_ALL and outside <= FAR:
            yield (
                f"{100 * share:.0f} % of its images have a confidence above {confidence:.2f}; about "
                f"{100 * self.accuracy:.1f} % of these should be right, as many as of all labelled images"
            )
