"""The base of all oracles, which judge every image by its indicators and average over the set."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from baselines.contract.estimator import Estimator
from oracle.indicators import (
    INDICATORS,
    KINDS,
    POOLED,
    SIX,
    ImageTable,
    Normalisation,
    indicator_names,
    indicator_table,
)
from oracle.variant import REPLACED, parts_of
from starter.observing.observation import MetaTrain, Observation
from submission.arrays import FloatArray

ESTIMATES = ("threshold", "mean")


@dataclass(eq=False, repr=False)
class Oracle(Estimator, ABC):
    """Base of oracles, which learn from an image's indicators whether the classifier is right about it."""

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"normalisation": KINDS, "estimate": ESTIMATES}
    """Values of each parameter that is a name."""
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"threshold": (0, 1)}
    """Smallest and largest value of each parameter that is a number."""
    undertrained_ = ""
    """After `fit`: how a network failed to learn, one of `oracle.ora_a.UNDERTRAINED`; "" if none did."""
    variant = "paper"
    """Which parts are as in the released code, see `oracle.variant.parts_of`."""
    learns_images: ClassVar[bool] = True
    indicators: str = SIX
    normalisation: str = "set"
    estimate: str = "threshold"
    threshold: float = 0.5

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields of an observation that the chosen indicators read."""
        return tuple(dict.fromkeys(need for name in self._names() for need in INDICATORS[name].needs))

    def probabilities(self, observation: Observation) -> FloatArray:
        """Returns the probability that each image is classified correctly, float32 (n,)."""
        table = indicator_table(observation, self.source_, self._names())
        return self._judge(self.normalisation_.apply(table))

    def _fit(self, meta: MetaTrain) -> None:
        for name, values in self.choices.items():
            self._require(name, getattr(self, name) in values, ", ".join(values))
        for name, (low, high) in self.ranges.items():
            value, whole = getattr(self, name), isinstance(getattr(type(self), name), int)
            kind: Any = Integral if whole else Real
            fits = isinstance(value, kind) and low <= value <= high
            self._require(name, fits, f"a {'whole number' if whole else 'number'} in {low:,}..{high:,}")
        self.source_ = meta.source
        table = ImageTable.of(meta, self._names(), self._scaling())
        self.normalisation_ = table.normalisation
        self._learn(table)

    def _names(self) -> tuple[str, ...]:
        """Returns the names of the indicators, the released ones in place of the paper's by the variant."""
        parts = parts_of(self.variant)
        released = {paper: other for (paper, part), other in REPLACED.items() if part in parts}
        return tuple(released.get(name, name) for name in indicator_names(self.indicators))

    def _scaling(self) -> str:
        """Returns the kind of normalisation of the indicators."""
        released = self.normalisation == "set" and "scaling" in parts_of(self.variant)
        return POOLED if released else self.normalisation

    def training_errors(self, meta: MetaTrain) -> dict[str, float]:
        """Returns errors on the meta-train sets to which the oracle was fitted, as fractions.

        "threshold" and "mean" are the RMSE with each of ESTIMATES; "image" is the root of the squared error
        over all images, which training minimises, and which the share of images above a threshold does not
        follow.
        """
        table = ImageTable.of(meta, self._names(), self._scaling())
        judged = [self._judge(part) for part in np.split(table.rows, np.cumsum(table.sizes)[:-1])]
        found = [self._estimates(part) for part in judged]
        errors = {name: np.array([each[name] for each in found]) - table.accuracy for name in ESTIMATES}
        errors["image"] = np.concatenate(judged).astype(np.float64) - table.correct
        return {name: float(np.sqrt(np.mean(each**2))) for name, each in errors.items()}

    def _predict(self, observation: Observation) -> float:
        return self._estimates(self.probabilities(observation))[self.estimate]

    def _estimates(self, probabilities: FloatArray) -> dict[str, float]:
        """Returns the accuracy estimated from the probabilities (n,) of a set's images, for all ESTIMATES."""
        return {
            "threshold": float((probabilities > self.threshold).mean()),
            "mean": float(probabilities.mean(dtype=np.float64)),
        }

    def _state(self) -> dict[str, Any]:
        reads_network = any(INDICATORS[name].of_network for name in self._names())
        return {
            "source": self.source_,  # which is saved without its classifier
            "classifier": self.source_.classifier if reads_network else None,
            "scaling": asdict(self.normalisation_),
            "model": self._model(),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.source_ = replace(state["source"], classifier=state["classifier"])
        self.normalisation_ = Normalisation(**state["scaling"])
        self._take(state["model"])

    @abstractmethod
    def _learn(self, table: ImageTable) -> None:
        """Fit the model to the meta-train images."""

    @abstractmethod
    def _judge(self, rows: FloatArray) -> FloatArray:
        """Returns the probabilities (n,) of being right, for normalised indicators (n, p)."""

    @abstractmethod
    def _model(self) -> object:
        """Returns the fitted model as arrays and text."""

    @abstractmethod
    def _take(self, model: Any) -> None:
        """Restore the model that `_model` returned."""
