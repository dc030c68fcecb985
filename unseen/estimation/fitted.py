"""Methods fitted to labelled images, and the estimate, interval and verdict that they give for a set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone

from baselines import BASELINES
from baselines.accuracy.atc import confidence_log_odds
from baselines.accuracy.priors import predicted_shares, source_prior
from baselines.accuracy.shift import Labelled, Shift, divided
from baselines.contract.estimator import Estimator
from baselines.contract.intervals import (
    CONSTANTS,
    FAR,
    WITH_META_TRAIN,
    Remoteness,
    Signs,
    interval,
    least_of,
)
from starter.observing.observation import MetaTrain, Observation, Source
from submission.arrays import IntArray
from unseen.estimation.estimates import INSIDE, SetEstimate, fallen
from unseen.estimation.inputs import Asked

METHODS = ("atc-ne-ts", "doc-ts", "cot", "cott", "cott-em", "mlls", "cbpe", "suitability")
"""Methods that need logits alone."""
CENTRES = ("atc-ne-ts", "cott-em", "mlls")
"""The methods whose mean, with those of a second model, is the estimate from logits: by threshold, and by
transport and confidences under the set's own class prior. With meta-train sets the estimate is `gated`'s, and
these show how sure it is."""
FEW = 100
"""Number of images below which chance alone is remarked on."""
UNKNOWN = 0.02
"""Smallest share of a set that is predicted to be of classes without labelled images that is remarked on."""
OTHER_SHARES = 0.25
"""Smallest difference of class shares that is remarked on: half the sum of absolute differences."""
TIED = 0.25
"""Share of labelled images with one and the same largest confidence from which on no verdict is given."""
ENOUGH = 24
"""Smallest number of meta-train sets from which a level is promised."""
NAMED = 5
"""Number of classes that a remark names."""
LEARNT = "gated"
"""The method whose estimate counts where there are meta-train sets."""
Learnt = tuple[Estimator, Remoteness]
"""The method gated, fitted to meta-train sets, and the distance of a set from these sets."""


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

    @property
    def supported(self) -> bool:
        """Whether features or enough meta-train sets tell of a shift; a second model's logits do not."""
        if self.meta_train:
            return len(self.classes) > 2 and self.meta_train.sets >= ENOUGH
        features = self.source.observation.features
        return features is not None and bool(np.ptp(features))

    @cached_property
    def tied(self) -> float:
        """The share of the labelled images whose confidence is the largest one, where several have it."""
        confidences = confidence_log_odds(self.source.observation)
        count = int((confidences == confidences.max()).sum())
        return count / len(confidences) if count > 1 else 0.0

    @property
    def notes(self) -> list[str]:
        """What is wrong with the confidences, a sentence each."""
        if self.tied < TIED:
            return []
        return [
            f"{100 * self.tied:.0f} % of the labelled images have one and the same confidence, the largest: "
            "were probabilities rounded? Nothing tells which of these are wrong: give logits, or label some"
        ]

    def estimate(self, seen: Observation, asked: Asked) -> SetEstimate:
        """Returns the estimate of one set, its interval and verdict, and the estimate of each method.

        No set that is far is said not to have fallen: confidences can rise while accuracy falls. Confidences
        alone never say so. A set whose logits seem to be scaled is read with them as they are and with the
        scale removed: the estimate is the mean of both, and the range spans both intervals.
        """
        methods, shift, signs = self.read(seen)
        outside = self.meta_train.distance(seen) if self.meta_train else shift.outside
        open_below = self.tied >= TIED or outside > FAR or shift.scale != 1
        promised = self.supported and not open_below and outside <= (FAR if self.meta_train else INSIDE)
        readings = [signs] if shift.scale == 1 else [signs, self.read(divided(seen, shift.scale))[2]]
        constants = WITH_META_TRAIN if self.meta_train else CONSTANTS
        accuracy, low, high = interval(readings, asked.level, constants, promised, outside > FAR)
        low = 0.0 if self.tied == 1 and not (self.meta_train or seen.peers) else low
        high = 1.0 if self.tied >= TIED else high
        least = 0.0 if open_below else least_of(readings, constants)
        verdict = fallen(least, high, self.accuracy - asked.margin)
        return SetEstimate(
            name=seen.set_name,
            images=len(seen),
            accuracy=accuracy,
            low=low,
            high=high,
            difference=accuracy - self.accuracy,
            fallen="no sign" if verdict == "no" and not self.supported else verdict,
            least=least,
            promised=promised,
            unlabelled=(interval([signs], asked.level, constants, promised, outside > FAR)[0], high),
            shares=tuple(map(float, shift.shares)),
            distance=shift.distance,
            outside=outside,
            scale=shift.scale,
            methods=methods,
            remarks=tuple(self._remarks(seen, shift, outside)),
        )

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
            label_shift=0.0 if self.meta_train else methods["mlls"],
        )
        return methods, shift, signs

    def _remarks(self, seen: Observation, shift: Shift, outside: float) -> Iterator[str]:
        """Yields the reasons for an uncertain estimate."""
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
        moved = np.abs(shift.shares - source_prior(self.source)).sum() / 2
        if shift.other_shares and moved >= OTHER_SHARES and outside <= FAR:
            yield "its classes have other shares than the labelled images"
        predicted = predicted_shares(seen.predicted, len(shift.shares))
        lacking = np.bincount(self.source.labels, minlength=len(shift.shares)) == 0
        if predicted[lacking].sum() >= UNKNOWN:
            rows = np.flatnonzero(lacking & (predicted > 0))
            names = ", ".join(self.classes[row] for row in rows[:NAMED])
            names += f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
            yield f"no labelled image is of class {names}, which some of these seem to be: label some"
        if len(seen) < FEW:
            yield f"{len(seen)} images are few: chance alone moves their accuracy by some points"
