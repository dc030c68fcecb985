"""The contract of every method, and the two ways to make one from a set-level indicator."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression

from starter.observation import MetaTrain, Observation, Source

Indicator = Callable[[Observation, Source], float]
"""A set-level indicator: one number about an unlabelled set, given the labelled source."""


class Estimator(BaseEstimator):
    """Learns from meta-train sets, then predicts the accuracy on unlabelled sets, one set at a time.

    A subclass stores its constructor's arguments under their own names (scikit-learn's convention, so that
    `get_params` and `clone` work) and writes `_fit` and `_predict`. `needs` names the fields of an
    Observation that it reads beside the logits; the others may be None.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def fit(self, meta: MetaTrain) -> "Estimator":
        """Learn from the meta-train sets.

        Raises:
            ValueError: the source lacks a field that `needs` names.
        """
        self._check_needs(meta.source.observation)
        self._fit(meta)
        self.fitted_ = True
        return self

    def predict(self, observations: Sequence[Observation]) -> NDArray[np.float64]:
        """The predicted accuracy of each set, float64 (m,), clipped to [0, 1].

        Every set is predicted by itself: ``predict([a, b])`` is ``predict([a])`` and ``predict([b])``.

        Raises:
            ValueError: `fit` was not called, an observation lacks a field that `needs` names, or a
                prediction is not a finite number; the set is named.
        """
        if not getattr(self, "fitted_", False):
            raise ValueError(f"{type(self).__name__}: call fit before predict")
        values = np.empty(len(observations))
        for i, observation in enumerate(observations):
            self._check_needs(observation)
            values[i] = self._predict(observation)
            if not np.isfinite(values[i]):
                raise ValueError(
                    f"{type(self).__name__} predicts {values[i]} for set {observation.set_name!r}"
                )
        return np.clip(values, 0.0, 1.0)

    def _fit(self, meta: MetaTrain) -> None:
        """Compute what `_predict` uses; keep it in attributes that end in an underscore."""

    def _predict(self, observation: Observation) -> float:
        raise TypeError(f"{type(self).__name__} must define _predict(observation) -> float")

    def _check_needs(self, observation: Observation) -> None:
        for need in self.needs:
            if getattr(observation, need) is None:
                raise ValueError(
                    f"{type(self).__name__} needs `{need}`, "
                    f"which set {observation.set_name!r} was observed without"
                )


class Direct(Estimator):
    """An indicator that is an accuracy by itself: nothing is learnt from the meta-train sets."""

    def __init__(self, indicator: Indicator, needs: tuple[str, ...] = ()) -> None:
        self.indicator = indicator
        self.needs = needs  # type: ignore[misc]

    def _fit(self, meta: MetaTrain) -> None:
        self.source_ = meta.source

    def _predict(self, observation: Observation) -> float:
        return self.indicator(observation, self.source_)


class Regressed(Direct):
    """Accuracy regressed on one indicator over the meta-train sets (least squares unless told otherwise)."""

    def __init__(
        self, indicator: Indicator, needs: tuple[str, ...] = (), regressor: RegressorMixin | None = None
    ) -> None:
        super().__init__(indicator, needs)
        self.regressor = regressor

    def _fit(self, meta: MetaTrain) -> None:
        super()._fit(meta)
        values = np.array([self.indicator(observation, meta.source) for observation in meta.sets])
        if not np.isfinite(values).all():
            bad = meta.sets[int(np.flatnonzero(~np.isfinite(values))[0])].set_name
            raise ValueError(
                f"the indicator of {type(self).__name__} is not finite on meta-train set {bad!r}"
            )
        regressor = LinearRegression() if self.regressor is None else clone(self.regressor)
        self.regressor_ = regressor.fit(values[:, None], meta.targets)

    def _predict(self, observation: Observation) -> float:
        value = self.indicator(observation, self.source_)
        return float(self.regressor_.predict(np.array([[value]]))[0])
