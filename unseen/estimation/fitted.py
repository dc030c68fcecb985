"""Methods fitted to labelled images, the estimate and interval that they give for a set, and its distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import norm, wasserstein_distance
from sklearn.base import clone

from baselines import BASELINES
from baselines.accuracy.atc import confidence_log_odds
from baselines.accuracy.fd import fd, frechet_distance
from baselines.accuracy.priors import bias_corrected, calibrated, em_prior, predicted_shares, source_prior
from baselines.contract.estimator import Estimator
from baselines.contract.intervals import USUAL, Remoteness, descriptions
from starter.observing.observation import MetaTrain, Moments, Observation, Source, once
from submission.arrays import FloatArray, IntArray
from unseen.estimation.estimation import NEAR, SetEstimate
from unseen.estimation.inputs import Asked

METHODS = ("atc-ne-ts", "doc-ts", "cot", "cott", "cott-em", "mlls", "cbpe", "suitability")
"""Methods that need logits alone."""
WITH_SECOND = ("gde",)
"""Methods that also need the logits of a second model."""
CENTRES = ("atc-ne-ts", "cott-em")
"""The methods whose mean, with those of a second model, is the estimate: by threshold, and by transport under
the set's own class prior. Methods that average confidences estimate too high under natural shift."""
SPREAD, FLOOR = 1.0, 0.015
BELOW, ABOVE = 0.3, 0.2
UNLIKE, MOVED = 0.1, 0.05
"""Parts of the error's standard deviation besides sampling, whose squares are added (`Fitted._interval`).

SPREAD is a factor of the standard deviation between methods, and FLOOR a constant, a fraction. BELOW and
ABOVE are factors of the estimated fall, for the lower and the upper end: accuracy falls further than logits
show. UNLIKE and MOVED, for the lower end alone, are factors of the distances of the confidences and of the
features, which may be the only sign of a shift. All were fitted on natural sets and on a table of numbers
(benchmarks/results/estimate.py).
"""
FAR = 0.75
"""Smallest distance of a set that counts as unlike the labelled images."""
APART = 0.1
"""Smallest range of the methods' estimates, a fraction, that counts as disagreement."""
FEW = 100
TINY = 1e-12
LEAST_SURE = 12
UNKNOWN = 0.02
OTHER_SHARES = 0.25
"""Smallest difference of class shares that is remarked on: half the sum of absolute differences."""
PARTS = 8
"""Number of parts of the labelled images that are compared with the rest."""
LEARNT = "gated"
Learnt = tuple[Estimator, Remoteness]
"""The method gated, fitted to meta-train sets, and the distance of a set from these sets."""


@once
def _known_confidence(source: Source) -> FloatArray:
    """Returns the log-odds of the confidence in each labelled image, (n,)."""
    return confidence_log_odds(source.observation)


@dataclass(frozen=True)
class Labelled:
    """A distance from the labelled images: nine of ten parts of them, as large as the set, are below 1.

    Large sets have small chance differences, so that a small shift gives a large distance. A part has at most
    half of the images; `usual` has the distances (3,) of parts from the rest by their size.
    """

    seen: Observation
    usual: dict[int, FloatArray] = field(default_factory=dict)

    def distance(self, observation: Observation) -> float:
        """Returns the largest of a set's distances, each divided by the usual one."""
        n = min(len(observation), len(self.seen) // 2)
        if n not in self.usual:
            rng, seen = np.random.default_rng(0), self.seen
            orders = [rng.permutation(len(seen)) for _ in range(PARTS)]
            parts = [_distances(seen.take(order[n:]), seen.take(order[:n]), n) for order in orders]
            self.usual[n] = np.quantile(parts, USUAL, axis=0)
        found, usual = _distances(self.seen, observation, n), self.usual[n]
        return float(np.divide(found, usual, out=np.zeros(3), where=usual > 0).max())


def _distances(known: Observation, seen: Observation, n: int) -> FloatArray:
    """Returns the distances by mean softmax output, mean confidence and features of `n` images; 0 without."""
    pairs = zip(descriptions(known), descriptions(seen), strict=True)
    rows = np.linspace(0, len(seen) - 1, n).astype(np.int64)
    moments = [Moments.of(each.features) for each in (known, seen.take(rows)) if each.features is not None]
    return np.array(
        [*(np.linalg.norm(a - b) for a, b in pairs), frechet_distance(*moments) if moments else 0]
    )


@dataclass(frozen=True)
class Fitted:
    """Methods fitted to the labelled images, and the distance of a set from these or from meta-train sets."""

    source: Source
    methods: Mapping[str, Estimator]
    centres: tuple[str, ...]
    outside: Labelled | Remoteness
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
        second = WITH_SECOND if seen.peers else ()
        methods = {name: clone(BASELINES[name]).fit(meta) for name in (*names, *second)}
        own = {LEARNT: learnt[0]} if learnt else {}
        centres = (*own, *CENTRES, *second)
        called = tuple(map(str, classes)) or tuple(map(str, range(k)))
        return cls(source, {**own, **methods}, centres, learnt[1] if learnt else Labelled(seen), called)

    @property
    def compared(self) -> str:
        """The name of the data that sets are compared with."""
        return "the meta-train sets" if LEARNT in self.methods else "the labelled images"

    @property
    def accuracy(self) -> float:
        """The accuracy on the labelled images, a fraction."""
        return self.source.accuracy

    def estimate(self, seen: Observation, asked: Asked) -> SetEstimate:
        """Returns the estimate of one set, its interval, and the estimate of each method."""
        found = {name: float(method.predict([seen])[0]) for name, method in self.methods.items()}
        values = np.array([found[name] for name in self.centres])
        shares = em_prior(calibrated(seen, bias_corrected(self.source)), source_prior(self.source))
        sure, known = confidence_log_odds(seen), _known_confidence(self.source)
        distance = float(wasserstein_distance(sure, known) / max(known.std(), 1e-9))
        low, high = self._interval(values, seen, distance, asked.level)
        bar = self.accuracy - asked.margin
        each = SetEstimate(
            seen.set_name,
            len(seen),
            float(values.mean()),
            low,
            high,
            float(values.mean()) - self.accuracy,
            "yes" if high < bar else "no" if low > bar else "unclear",
            tuple(map(float, shares)),
            distance,
            self.outside.distance(seen),
            found,
            (),
            tuple(map(int, np.argsort(sure, kind="stable")[:LEAST_SURE])),
        )
        fallen = "unclear" if each.doubtful and each.fallen == "no" else each.fallen
        return replace(each, fallen=fallen, remarks=self._remarks(seen, each))

    def _interval(
        self, values: FloatArray, seen: Observation, distance: float, level: float
    ) -> tuple[float, float]:
        """Returns low and high around the mean of `values`, the methods' estimates of a set.

        They are mean - z * down and mean + z * up, cut to [0, 1], with z the normal quantile of the level;
        the constants above say how the standard deviations down and up are made. Features have moved by
        sqrt(FD / trace(covariance)), with FD the squared Frechet distance from the labelled images'.
        """
        middle, moved = float(values.mean()), 0.0
        if (known := self.source.train_ref.moments) is not None:
            moved = float(np.sqrt(max(fd(seen, self.source), 0.0) / max(np.trace(known.covariance), TINY)))
        pairs = ((middle, len(seen)), (self.accuracy, len(self.source.labels)))
        sampling = sum(share * (1 - share) / n for share, n in pairs)
        common = sampling + (SPREAD * values.std()) ** 2 + FLOOR**2
        fall = middle - self.accuracy
        unseen = (UNLIKE * distance) ** 2 + (MOVED * moved) ** 2
        down = float(np.sqrt(common + (BELOW * fall) ** 2 + unseen))
        up = float(np.sqrt(common + (ABOVE * fall) ** 2))
        quantile = float(norm.ppf((1 + level) / 2))
        return max(middle - quantile * down, 0.0), min(middle + quantile * up, 1.0)

    def _remarks(self, seen: Observation, each: SetEstimate) -> tuple[str, ...]:
        """Returns the reasons for an uncertain estimate, a sentence each."""
        judging = {each.methods[name]: name for name in (*self.centres, "doc-ts") if name in each.methods}
        low, high = min(judging), max(judging)
        told = f"from {100 * low:.0f} % ({judging[low]}) to {100 * high:.0f} % ({judging[high]})"
        shares = np.array(each.shares)
        labelled = np.bincount(self.source.labels, minlength=len(shares)) > 0
        predicted = predicted_shares(seen.predicted, len(shares))
        lacking = ", ".join(self.classes[row] for row in np.flatnonzero(~labelled & (predicted > 0)))
        reasons = {
            f"the methods disagree, {told}: label some of these images": high - low >= APART,
            "the model's confidences differ from those in the labelled images: trust the estimate less": (
                each.distance >= FAR
            ),
            f"it is far from {self.compared}, {each.outside:.1f} times the usual distance: its accuracy may "
            "lie below the interval": each.outside > NEAR,
            "an estimate above the accuracy on the labelled images cannot exclude a fall in a set that is "
            "far from them: label some of these images": each.doubtful,
            "its classes have other shares than the labelled images, which cot and cott take for errors": (
                np.abs(shares - source_prior(self.source)).sum() / 2 >= OTHER_SHARES
            ),
            f"no labelled image is of class {lacking}, which some of these seem to be: label some": (
                predicted[~labelled].sum() >= UNKNOWN
            ),
            f"{len(seen)} images are few: chance alone moves their accuracy by some points": len(seen) < FEW,
        }
        return tuple(reason for reason, holds in reasons.items() if holds)
