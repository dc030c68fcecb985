"""The contract of every method, and base classes that make a method from a set-level indicator.

The module is long because authors of a method need all of it: fitting, prediction, saving and
cross-validation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from baselines.contract.families import Fold, folds, half, subset
from baselines.contract.intervals import CrossConformal, CrossFit, Remoteness
from baselines.contract.regressors import make_regressor
from baselines.contract.saved import misfit, read_saved, write_saved
from starter.observing.observation import MetaTrain, Seen, Source, unmet
from submission import Competition
from submission.arrays import FloatArray
from submission.errors import UnusableInput

Indicator = Callable[[Any, Source], float]
"""A set-level indicator: a function of an unlabelled set and the labelled source that returns one number.

The set is an `Observation`, or in the OOD track a `ScoredMix`.
"""
MADE_OF = ("indicator", "needs")
"""Constructor arguments of the kit's methods that are no parameters for `--set`."""
PERCENTAGES = 2.0
"""Smallest prediction that is refused as a percentage; predictions slightly outside [0, 1] are clipped."""


class Estimator(BaseEstimator):
    """Learns from meta-train sets, then predicts the accuracy on unlabelled sets, one set at a time.

    A subclass stores its constructor's arguments in attributes of the same names (scikit-learn's convention,
    so that `get_params` and `clone` work) and defines `_fit(meta)` and `_predict(observation)`; in the OOD
    track the observation is a `ScoredMix`. Predictions slightly outside [0, 1] are clipped.

    Attributes:
        needs: Names of the fields of an observation that the method reads besides the logits; the other
            fields may be None.
        wants: Names of fields that the method reads if the competition has them, and can do without.
        learns_images: True if `_fit` learns from single images. Cross-validation then fits on one half of the
            base images and tests on the other half.
        refits: True if `predict_interval` takes as long as many fits.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    wants: ClassVar[tuple[str, ...]] = ()
    learns_images: ClassVar[bool] = False
    refits: ClassVar[bool] = True

    def fit(self, meta: MetaTrain) -> "Estimator":
        """Learn from the meta-train sets.

        Raises:
            ValueError: the source lacks a field that `needs` names.
        """
        self._check_needs(meta.source.observation)
        self._fit(meta)
        self.fitted_ = True
        self._meta: MetaTrain = meta
        self._conformal: CrossConformal | None = None
        return self

    def predict(self, observations: Sequence[Seen]) -> FloatArray:
        """Returns the predicted accuracy of each set, float64 (m,), clipped to [0, 1].

        Every set is predicted by itself: ``predict([a, b])`` is ``predict([a])`` and ``predict([b])``.

        Raises:
            ValueError: `fit` was not called, an observation lacks a field that `needs` names, or a
                prediction is not a finite number or is 2 or more, like a percentage; the message names the
                set.
        """
        if not getattr(self, "fitted_", False):
            raise self._unfitted("predict")
        values = np.empty(len(observations))
        for i, observation in enumerate(observations):
            self._check_needs(observation)
            values[i] = self._predict_named(observation)
            if not np.isfinite(values[i]):
                raise ValueError(
                    f"{type(self).__name__} predicts {values[i]} for set {observation.set_name!r}"
                )
            if values[i] >= PERCENTAGES:
                raise ValueError(
                    f"{type(self).__name__} predicts {values[i]:g} for set {observation.set_name!r}, which "
                    "looks like a percentage: predict fractions in [0, 1]"
                )
        return np.clip(values, 0.0, 1.0)

    def predict_interval(self, observations: Sequence[Seen], level: float = 0.9) -> FloatArray:
        """Returns an interval for the accuracy of each set, float64 (m, 2): low and high ends in [0, 1].

        The intervals contain the predictions. They are computed from the errors on meta-train sets of
        left-out operations (see `CrossConformal`), so that they should contain the accuracy of a share
        `level` of the sets of a new operation. For sets that are farther from the meta-train sets they widen
        in proportion to the distance (`Remoteness`). There is no guarantee, since families (other
        corruptions, natural shift) are not drawn from one population; `unseen report` shows the coverage on
        the validation sets.

        The first call fits the method again without each operation of the meta-train sets in turn. This takes
        that many times as long as `fit`, except for methods that see sets through indicators alone.

        Args:
            observations: The sets.
            level: Share of sets whose accuracy the intervals should contain, between 0 and 1.

        Raises:
            ValueError: as `predict`; or `level` is not between 0 and 1, or there are too few meta-train sets.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level}")
        points = self.predict(observations)
        if not hasattr(self, "_meta"):
            raise self._unfitted("predict_interval")
        if self._conformal is None:
            self._conformal = self._make_conformal(self._meta)
        ends = [self._conformal.interval(observation, level) for observation in observations]
        low, high = np.array(ends).reshape(-1, 2).T
        return np.clip(np.column_stack([np.minimum(low, points), np.maximum(high, points)]), 0.0, 1.0)

    def save(self, path: Path | str) -> None:
        """Write the fitted method to one file, atomically: its parameters and fitted state, without pickle.

        Raises:
            ValueError: `fit` was not called.
            UnusableInput: an attribute has a type that cannot be saved; the message names it.
        """
        if not getattr(self, "fitted_", False):
            raise self._unfitted("save")
        write_saved(Path(path), self._kind, self._parameters(), self._state())

    def load(self, path: Path | str) -> "Estimator":
        """Read the parameters and the fitted state of the same method from a file that `save` wrote.

        It then predicts like the saved method; for `predict_interval` it has to be fitted again.

        Raises:
            UnusableInput: the file is missing or damaged, holds another method, or lacks a value that this
                version of the kit needs.
        """
        path = Path(path)
        parameters, state = read_saved(path, self._kind)
        self.__dict__.pop("_meta", None)  # of an earlier fit, on which the intervals of `path` do not depend
        try:
            self.set_params(**parameters)
            self._restore(state)
        except UnusableInput:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise misfit(path, error) from error
        self.fitted_, self._loaded = True, path
        return self

    def _unfitted(self, asked: str) -> ValueError:
        """Returns the error of a method that is asked for something before it is fitted."""
        own = "" if type(self).fit is Estimator.fit else ": a method defines _fit and _predict, not fit"
        return ValueError(f"{type(self).__name__}: call fit before {asked}{own}")

    def _predict_named(self, observation: Seen) -> float:
        """Returns the prediction of `_predict`; an error about a missing attribute names the loaded file."""
        try:
            return self._predict(observation)
        except AttributeError as error:
            loaded = getattr(self, "_loaded", None)
            if loaded is not None and error.obj is self and (error.name or "").endswith("_"):
                raise misfit(loaded, error) from error
            raise

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields of an observation that the method may see besides the logits: `needs` and `wants`."""
        return (*self.needs, *self.wants)

    @property
    def _kind(self) -> str:
        """The name that identifies the method in a saved file."""
        return type(self).__name__

    def _parameters(self) -> dict[str, Any]:
        """Returns the parameters of the constructor."""
        return self.get_params(deep=False)

    def _state(self) -> dict[str, Any]:
        """Returns the fitted state to save: the attributes that end in an underscore (see `saved.State`)."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name != "fitted_"}

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set the attributes that `_state` returned."""
        self.__dict__.update(state)

    def _fit(self, meta: MetaTrain) -> None:
        """Compute the state that `_predict` uses, and store it in attributes that end in an underscore."""

    def _predict(self, observation: Any) -> float:
        raise TypeError(f"{type(self).__name__} must define _predict(observation) -> float")

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        parts = folds(meta.families)
        known, tested = (half(meta, 0), half(meta, 1)) if self.learns_images else (meta, meta)
        crossed = self._cross_fit(known, tested, parts)
        pairs = zip(crossed.held_out, parts, strict=True)
        residuals = [np.abs(values - tested.targets[fold.test]) for values, fold in pairs]
        return CrossConformal(crossed, residuals, Remoteness.of(tested.sets, parts))

    def _cross_fit(self, known: MetaTrain, tested: MetaTrain, parts: Sequence[Fold]) -> CrossFit:
        """Returns copies of this method, each fitted on `known` without the sets of its fold on `tested`."""
        models = [clone(self).fit(subset(known, fold.train)) for fold in parts]
        return CrossFit(
            [
                model.predict(subset(tested, fold.test).sets)
                for model, fold in zip(models, parts, strict=True)
            ],
            lambda observation: np.array([model.predict([observation])[0] for model in models]),
        )

    def _check_needs(self, observation: Seen) -> None:
        if need := observation.lacking(self.needs):
            raise ValueError(
                f"{type(self).__name__} needs `{need}`, "
                f"which set {observation.set_name!r} was observed without"
            )


def asked(methods: Collection[Estimator], competition: Competition) -> tuple[str, ...]:
    """Returns the fields to observe: those that methods need, and those wanted that the competition has."""
    found = {need for method in methods for need in method.needs}
    found |= {want for method in methods for want in method.wants if not unmet((want,), competition)}
    return tuple(sorted(found))


@dataclass(frozen=True)
class Table:
    """The training data of `Measured`: r rows, of which the first m are the meta-train sets in order.

    Attributes:
        rows: Numbers that describe each set, float64 (r, p), finite.
        targets: Accuracies, float64 (r,).
        families: Operations of each row.
        of: Index of the meta-train set from which each row was made, int64 (r,); -1 for none.
    """

    rows: FloatArray
    targets: FloatArray
    families: Sequence[frozenset[str]]
    of: NDArray[np.int64]

    def without(self, sets: NDArray[np.int64]) -> "Table":
        """Returns the rows that were not made from any of these meta-train sets (indices)."""
        kept = np.flatnonzero(~np.isin(self.of, sets))
        return Table(
            self.rows[kept], self.targets[kept], [self.families[int(i)] for i in kept], self.of[kept]
        )


class Measured(Estimator, ABC):
    """A method that sees a set through a row of numbers, so that cross-validation measures each set once.

    A subclass defines `_measure`, `_learn` and `_estimate` in place of `_fit` and `_predict`.
    """

    refits = False

    def _fit(self, meta: MetaTrain) -> None:
        self._source = meta.source
        self._prepare(meta.source)
        self._table = self._tabulate(meta)
        self._learn(self._table.rows, self._table.targets, self._table.families)
        if np.median(self._estimate(self._table.rows)) >= PERCENTAGES:
            raise ValueError(f"{type(self).__name__} estimates percentages: estimate fractions in [0, 1]")

    def _predict(self, observation: Any) -> float:
        # Far from the meta-train sets a regression may predict any value.
        return float(np.clip(self._estimate(self._measure(observation)[None])[0], 0.0, 1.0))

    def _prepare(self, source: Source) -> None:
        """Store the parts of the source that `_measure` needs."""
        self.source_ = source

    @abstractmethod
    def _measure(self, observation: Any) -> FloatArray:
        """Returns the numbers (p,) that describe the set."""

    def _tabulate(self, meta: MetaTrain) -> Table:
        """Returns the training data, with every meta-train set measured."""
        rows = [self._finite(observation) for observation in meta.sets]
        targets = np.asarray(meta.targets, np.float64)
        return Table(np.array(rows), targets, meta.families, np.arange(len(rows)))

    def _finite(self, observation: Seen) -> FloatArray:
        row = self._measure(observation)
        if not np.isfinite(row).all():
            raise ValueError(
                f"an indicator of {type(self).__name__} is not finite on set {observation.set_name!r}"
            )
        return row

    @abstractmethod
    def _learn(self, rows: FloatArray, targets: FloatArray, families: Sequence[frozenset[str]]) -> None:
        """Fit the state of `_estimate` to the rows (r, p), accuracies (r,) and operations (r) of sets."""

    @abstractmethod
    def _estimate(self, rows: FloatArray) -> FloatArray:
        """Returns the estimated accuracies (m,) of the sets with these rows (m, p)."""

    def _state(self) -> dict[str, Any]:
        """Returns the source and the rows, from which fitting again takes hardly any time."""
        table = self._table
        families = [sorted(family) for family in table.families]
        return {"source": self._source, "rows": table.rows, "targets": table.targets, "families": families}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._source = state["source"]
        self._prepare(self._source)
        self._learn_again(state, [frozenset(family) for family in state["families"]])

    def _learn_again(self, state: Mapping[str, Any], families: Sequence[frozenset[str]]) -> None:
        """Fit to the rows and targets of a saved `state`; of which sets the rows were made is not saved."""
        rows, targets = state["rows"], state["targets"]
        self._table = Table(rows, targets, families, np.full(len(rows), -1))
        self._learn(rows, targets, families)

    def _cross_fit(self, known: MetaTrain, tested: MetaTrain, parts: Sequence[Fold]) -> CrossFit:
        models = [clone(self) for _ in parts]
        for model, fold in zip(models, parts, strict=True):
            others = self._table.without(fold.test)
            model._learn(others.rows, others.targets, others.families)

        def predict(observation: Seen) -> FloatArray:
            row = self._measure(observation)[None]
            return np.clip([model._estimate(row)[0] for model in models], 0.0, 1.0)

        held_out = [
            np.clip(model._estimate(self._table.rows[fold.test]), 0.0, 1.0)
            for model, fold in zip(models, parts, strict=True)
        ]
        return CrossFit(held_out, predict)


class Direct(Estimator):
    """A method whose indicator is itself an estimate of the accuracy, so that nothing is fitted.

    Args:
        indicator: The set-level indicator.
        needs: Names of the fields of an observation that the indicator reads besides the logits.
    """

    refits = False

    def __init__(self, indicator: Indicator, needs: tuple[str, ...] = ()) -> None:
        self.indicator = indicator
        self.needs = needs  # type: ignore[misc]

    def _fit(self, meta: MetaTrain) -> None:
        self.source_ = meta.source

    def _predict(self, observation: Any) -> float:
        return self.indicator(observation, self.source_)

    def _cross_fit(self, known: MetaTrain, tested: MetaTrain, parts: Sequence[Fold]) -> CrossFit:
        """Returns the same predictions for every fold, since nothing is fitted."""
        values = self.predict(tested.sets)
        return CrossFit(
            [values[fold.test] for fold in parts],
            lambda observation: np.repeat(self.predict([observation]), len(parts)),
        )

    @property
    def _kind(self) -> str:
        return f"{type(self).__name__}({self.indicator.__name__})"

    def _parameters(self) -> dict[str, Any]:
        """Returns the parameters of the constructor, except the indicator and its `needs`."""
        return {name: value for name, value in super()._parameters().items() if name not in MADE_OF}


class Regressed(Measured, Direct):
    """A regression of accuracy on one indicator, fitted to the meta-train sets.

    Args:
        indicator: The set-level indicator.
        needs: Names of the fields of an observation that the indicator reads besides the logits.
        regressor: Name of the regressor, one of REGRESSORS.
    """

    def __init__(self, indicator: Indicator, needs: tuple[str, ...] = (), regressor: str = "linear") -> None:
        super().__init__(indicator, needs)
        self.regressor = regressor

    def _measure(self, observation: Any) -> FloatArray:
        return np.array([self.indicator(observation, self.source_)])

    def _learn(self, rows: FloatArray, targets: FloatArray, families: Sequence[frozenset[str]]) -> None:
        self.regressor_ = make_regressor(self.regressor).fit(rows, targets)

    def _estimate(self, rows: FloatArray) -> FloatArray:
        return self.regressor_.predict(rows)
