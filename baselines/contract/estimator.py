"""The contract of every method, and base classes that make a method from a set-level indicator."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from baselines.contract.families import Fold, folds, half, subset
from baselines.contract.intervals import CrossConformal, Remoteness
from baselines.contract.regressors import make_regressor
from baselines.contract.saved import read_saved, reading, write_saved
from starter.observing.observation import MetaTrain, Seen, Source, unmet
from submission import Competition
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.errors import UnusableInput

Indicator = Callable[[Any, Source], float]
"""A set-level indicator: one number of an unlabelled set (`Observation` or `ScoredMix`) and the source."""
Crossed = tuple[list[FloatArray], Callable[[Seen], FloatArray]]
"""Predictions for the sets that each of J folds tests on, and a function of a set: those of all J."""
PERCENTAGES = 2.0
"""Smallest prediction that is refused as a percentage; predictions slightly outside [0, 1] are clipped."""


class Estimator(BaseEstimator, ABC):
    """Learns from meta-train sets, then predicts the accuracy on unlabelled sets, one set at a time.

    A subclass stores its constructor's arguments in attributes of the same names (scikit-learn's convention,
    so that `get_params` and `clone` work) and defines `_fit(meta)` and `_predict(observation)`; in the OOD
    track the observation is a `ScoredMix`. Both see only the fields that `needs` and `wants` name. The first
    line of the docstring is the method's summary in lists.

    Attributes:
        needs: Names of the fields of an observation that the method reads besides the logits.
        wants: Names of fields that the method reads if the competition has them, and can do without.
        learns_images: True if `_fit` learns from single images. Cross-validation then fits on one half of the
            base images and tests on the other half.
        refits: True if `predict_interval` takes as long as many fits.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    wants: ClassVar[tuple[str, ...]] = ()
    learns_images: ClassVar[bool] = False
    refits: ClassVar[bool] = True

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if {"fit", "predict"} & vars(cls).keys():
            raise TypeError(f"{cls.__name__}: a method defines _fit and _predict, not fit and predict")

    def fit(self, meta: MetaTrain) -> "Estimator":
        """Learn from the meta-train sets.

        Raises:
            ValueError: the source lacks a field that `needs` names.
        """
        self._declared(meta.source.observation)
        self._meta: MetaTrain = meta.only(self.reads)
        self._conformal: CrossConformal | None = None
        self._know(self._meta)
        self._fit(self._meta)
        self.fitted_ = True
        return self

    def predict(self, observations: Sequence[Seen]) -> FloatArray:
        """Returns the predicted accuracy of each set, float64 (m,), clipped to [0, 1].

        Every set is predicted by itself: ``predict([a, b])`` is ``predict([a])`` and ``predict([b])``.

        Raises:
            ValueError: `fit` was not called, an observation lacks a field that `needs` names, or a
                prediction is an array, not a finite number or 2 or more, like a percentage; the message names
                the set.
        """
        check_is_fitted(self, "fitted_")
        return np.array([self._fraction(each) for each in observations], np.float64)

    def _fraction(self, seen: Seen) -> float:
        predicted = self._predict(self._declared(seen))
        if predicted is None:
            raise ValueError(
                f"{type(self).__name__} predicts None for set {seen.set_name!r}: end _predict with a return"
            )
        if np.ndim(predicted):
            raise ValueError(
                f"{type(self).__name__} predicts an array of shape {np.shape(predicted)} for set "
                f"{seen.set_name!r}: predict one number"
            )
        value = float(predicted)
        if not -np.inf < value < PERCENTAGES:
            raise ValueError(
                f"{type(self).__name__} predicts {value:g} for set {seen.set_name!r}: "
                "predict finite fractions in [0, 1], not percentages"
            )
        return min(max(value, 0.0), 1.0)

    def _declared(self, seen: Seen) -> Seen:
        """Returns the set with the fields that the method declares, all of which it must have."""
        if need := seen.lacking(self.needs):
            raise ValueError(
                f"{type(self).__name__} needs `{need}`, which set {seen.set_name!r} was observed without"
            )
        return seen.only(self.reads)

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
        check_is_fitted(self, "_meta")
        points = self.predict(observations)
        self._conformal = self._conformal or self._make_conformal(self._meta)
        ends = [self._conformal.interval(observation, level) for observation in observations]
        low, high = np.array(ends).reshape(-1, 2).T
        return np.clip(np.column_stack([np.minimum(low, points), np.maximum(high, points)]), 0.0, 1.0)

    def held_out(self, meta: MetaTrain, test: MetaTrain, parts: Sequence[Fold]) -> list[FloatArray]:
        """Returns, for each fold, a copy's predictions for its sets of `test`; it was fitted to `meta`'s."""
        copy = clone(self)
        copy._know(meta)
        return copy._cross_fit(meta, test, parts)[0]

    def save(self, path: Path | str) -> None:
        """Write the fitted method to one file, atomically: its parameters and fitted state, without pickle.

        Raises:
            ValueError: `fit` was not called.
            UnusableInput: an attribute has a type that cannot be saved; the message names it.
        """
        check_is_fitted(self, "fitted_")
        write_saved(Path(path), self._kind, self.parameters(), self._state())

    def load(self, path: Path | str) -> "Estimator":
        """Read the parameters and the fitted state of the same method from a file that `save` wrote.

        It then predicts like the saved method; for `predict_interval` it has to be fitted again.

        Raises:
            UnusableInput: the file is missing or damaged, holds another method, or lacks a value that this
                version of the kit needs.
        """
        with reading(Path(path)):
            parameters, state = read_saved(Path(path), self._kind)
            self.__dict__.pop("_meta", None)  # of an earlier fit, to which `state` does not belong
            self.set_parameters(parameters)
            self._restore(state)
        self.fitted_ = True
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state to pickle; the models of all folds, for intervals, are fitted again."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_conformal": None} if "_conformal" in state else state

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields of an observation that the method may see besides the logits: `needs` and `wants`."""
        return (*self.needs, *self.wants)

    @property
    def summary(self) -> str:
        """The method in one line: the first of its docstring."""
        return _first_line(type(self))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the constructor's arguments, by name; each has to be stored in an attribute of its name."""
        for name in self._get_param_names():
            if not hasattr(self, name):
                fix = f"in __init__, write self.{name} = {name}"
                raise UnusableInput(f"{type(self).__name__} has no attribute {name!r}: {fix}")
        params: dict[str, Any] = super().get_params(deep)
        return params

    def parameters(self) -> dict[str, Any]:
        """Returns the parameters that can be set (`--set`) and are saved, with their values."""
        return self.get_params(deep=False)

    def set_parameters(self, values: Mapping[str, Any]) -> None:
        """Set some of `parameters`; `fit` checks their range."""
        self.set_params(**values)

    def _require(self, name: str, allowed: bool, what: str) -> None:
        """Refuse the value of a parameter that is not `allowed`."""
        if not allowed:
            raise UnusableInput(f"{name} must be {what}, got {getattr(self, name)!r}")

    @property
    def _kind(self) -> str:
        """The name that identifies the method in a saved file."""
        return type(self).__name__

    def _state(self) -> dict[str, Any]:
        """Returns the fitted state to save: the attributes that end in an underscore (see `saved.State`)."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name != "fitted_"}

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set the attributes that `_state` returned."""
        self.__dict__.update(state)

    def _know(self, meta: MetaTrain) -> None:
        """Store what every fold of a cross-validation may know."""

    def _fit(self, meta: MetaTrain) -> None:
        """Compute the state that `_predict` uses, and store it in attributes that end in an underscore."""

    @abstractmethod
    def _predict(self, observation: Any) -> float:
        """Returns the predicted accuracy of one set, a fraction."""

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        parts = folds(meta.families)
        known, tested = (half(meta, 0), half(meta, 1)) if self.learns_images else (meta, meta)
        held_out, predict = self._cross_fit(known, tested, parts)
        pairs = zip(held_out, parts, strict=True)
        residuals = [np.abs(values - tested.targets[fold.test]) for values, fold in pairs]
        return CrossConformal(predict, residuals, Remoteness.of(tested.sets, parts))

    def _cross_fit(self, known: MetaTrain, tested: MetaTrain, parts: Sequence[Fold]) -> Crossed:
        """Returns what copies of this method, each fitted on a fold of `known`, predict."""
        models = [clone(self).fit(subset(known, fold.train)) for fold in parts]
        return (
            [
                model.predict(subset(tested, fold.test).sets)
                for model, fold in zip(models, parts, strict=True)
            ],
            lambda observation: np.array([model._fraction(observation) for model in models]),
        )


def asked(methods: Collection[Estimator], competition: Competition) -> tuple[str, ...]:
    """Returns the fields to observe: those that methods need, and those wanted that the competition has."""
    found = {need for method in methods for need in method.needs}
    found |= {want for method in methods for want in method.wants if not unmet((want,), competition)}
    return tuple(sorted(found))


def _first_line(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0].removesuffix(".").replace("`", "")


@dataclass(frozen=True)
class Table:
    """The training data of `Measured`: r rows, of which the first m are the meta-train sets in order."""

    rows: FloatArray  # numbers that describe each set, float64 (r, p), finite
    targets: FloatArray  # accuracies, float64 (r,)
    families: Sequence[frozenset[str]]  # operations of each row
    of: IntArray  # index of the meta-train set of each row, (r,); -1 for none

    def take(self, kept: BoolArray) -> "Table":
        """Returns the rows where `kept` (r,) is True."""
        families = [family for family, chosen in zip(self.families, kept, strict=True) if chosen]
        return Table(self.rows[kept], self.targets[kept], families, self.of[kept])

    def state(self) -> dict[str, Any]:
        """Returns the fields to save; of which sets the rows were made is not saved."""
        return {"rows": self.rows, "targets": self.targets, "families": list(map(sorted, self.families))}


class Measured(Estimator):
    """A method that sees a set through a row of numbers, so that cross-validation measures each set once.

    A subclass defines `_measure` in place of `_fit` and `_predict`, and if it is no regression on all numbers
    `_learn` and `_estimate`.
    """

    refits = False
    regressor: Any = "linear"

    def _know(self, meta: MetaTrain) -> None:
        self.source_ = meta.source
        self._prepare(meta.source)
        self._table = self._tabulate(meta)

    def _fit(self, meta: MetaTrain) -> None:
        self._learn(self._table)

    def _predict(self, observation: Any) -> float:
        return float(self._estimated(self._measure(observation)[None])[0])

    def _prepare(self, source: Source) -> None:
        """Compute what `_measure` needs of the source besides `source_` itself."""

    @abstractmethod
    def _measure(self, observation: Any) -> FloatArray:
        """Returns the numbers (p,) that describe the set."""

    def _tabulate(self, meta: MetaTrain) -> Table:
        """Returns the training data, with every meta-train set measured."""
        targets = np.asarray(meta.targets, np.float64)
        return Table(self._rows(meta.sets), targets, meta.families, np.arange(len(targets)))

    def _rows(self, sets: Sequence[Seen]) -> FloatArray:
        """Returns the numbers that describe each set, (m, p), all of which must be finite."""
        rows = []
        for seen in sets:
            rows.append(self._measure(seen))
            if not np.isfinite(rows[-1]).all():
                raise ValueError(f"an indicator of {self._kind} is not finite on set {seen.set_name!r}")
        return np.array(rows)

    def _learn(self, table: Table) -> None:
        """Fit the state of `_estimate` to these sets."""
        self.regressor_ = make_regressor(self.regressor).fit(table.rows, table.targets)

    def _estimate(self, rows: FloatArray) -> FloatArray:
        """Returns the estimated accuracies (m,) of the sets with these rows (m, p)."""
        return self.regressor_.predict(rows)

    def _estimated(self, rows: FloatArray) -> FloatArray:
        """Returns the estimates, clipped: far from the meta-train sets a regression may give any value."""
        return np.clip(self._estimate(rows), 0.0, 1.0)

    def _state(self) -> dict[str, Any]:
        """Returns the source and the rows, from which fitting again takes hardly any time."""
        return {"source": self.source_, **self._table.state()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.source_ = state["source"]
        self._prepare(self.source_)
        self._learn_again(state)

    def _learn_again(self, state: Mapping[str, Any]) -> None:
        """Fit to the rows of a saved `state`."""
        families = [frozenset(family) for family in state["families"]]
        self._table = Table(state["rows"], state["targets"], families, np.full(len(families), -1))
        self._learn(self._table)

    def _cross_fit(self, known: MetaTrain, tested: MetaTrain, parts: Sequence[Fold]) -> Crossed:
        table = self._table
        rows = table.rows if tested is known else self._rows(tested.sets)
        models = [clone(self) for _ in parts]
        for model, fold in zip(models, parts, strict=True):
            others = np.setdiff1d(np.arange(len(known.sets)), fold.train)
            model._learn(table.take(~np.isin(table.of, others)))

        def predict(observation: Seen) -> FloatArray:
            row = self._measure(observation)[None]
            return np.array([model._estimated(row)[0] for model in models])

        return [model._estimated(rows[fold.test]) for model, fold in zip(models, parts, strict=True)], predict


class Direct(Estimator):
    """A method whose indicator is itself an estimate of the accuracy, so that nothing is fitted."""

    refits = False

    def __init__(self, indicator: Indicator, needs: tuple[str, ...] = ()) -> None:
        self.indicator = indicator
        self.needs = needs  # type: ignore[misc]

    def _know(self, meta: MetaTrain) -> None:
        self.source_ = meta.source

    def _predict(self, observation: Any) -> float:
        return self.indicator(observation, self.source_)

    def _cross_fit(self, known: MetaTrain, tested: MetaTrain, parts: Sequence[Fold]) -> Crossed:
        """Returns the same predictions for every fold, since nothing is fitted."""
        values = np.array([self._fraction(each) for each in tested.sets])
        held_out = [values[fold.test] for fold in parts]
        return held_out, lambda observation: np.repeat(self._fraction(observation), len(parts))

    @property
    def summary(self) -> str:
        """The first line of the indicator's docstring."""
        return _first_line(self.indicator)

    @property
    def _kind(self) -> str:
        return f"{type(self).__name__}({self.indicator.__name__})"

    def parameters(self) -> dict[str, Any]:
        """Returns the parameters of the constructor, except the indicator and its `needs`."""
        return {
            name: value for name, value in super().parameters().items() if name not in ("indicator", "needs")
        }


class Regressed(Measured, Direct):
    """A regression of accuracy on one indicator, by one of REGRESSORS, fitted to the meta-train sets."""

    def __init__(self, indicator: Indicator, needs: tuple[str, ...] = (), regressor: str = "linear") -> None:
        super().__init__(indicator, needs)
        self.regressor = regressor

    @property
    def summary(self) -> str:
        """The first line of the indicator's docstring, and the regression on it."""
        return f"{super().summary}; {self.regressor} regression"

    def _measure(self, observation: Any) -> FloatArray:
        return np.array([self.indicator(observation, self.source_)])
