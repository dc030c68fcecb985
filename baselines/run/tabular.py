"""A scikit-learn regressor on the table of features, as a method."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.pipeline import Pipeline

from baselines.contract.estimator import Measured
from baselines.run.features import FEATURES, NEEDS, measure_of
from starter.observing.observation import Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput, why


class Tabular(Measured):
    """A regression of accuracy on the features of a set, by any regressor or pipeline that ends in one.

    It is fitted on a DataFrame with one row per meta-train set and the columns of `measure_of`, and predicts
    one row at a time; predictions are clipped to [0, 1]. A saved method holds the regressor in the format of
    skops: reading it runs no code and accepts only classes of scikit-learn, NumPy and SciPy.

    Args:
        regressor: Unfitted regressor, which is cloned.
        track: "accuracy" or "ood".
    """

    def __init__(self, regressor: RegressorMixin, track: str = "accuracy") -> None:
        self.regressor = regressor
        self.track = track

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields of an observation from which the columns are computed."""
        return NEEDS[self.track]

    def _prepare(self, source: Source) -> None:
        self._columns = measure_of(self.track, source)

    def _measure(self, observation: Any) -> FloatArray:
        return np.array(list(self._columns(observation).values()))

    def _learn(self, rows: FloatArray, targets: FloatArray, families: Sequence[frozenset[str]]) -> None:
        self.regressor_ = clone(self.regressor).fit(self._framed(rows), targets)

    def _estimate(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.regressor_.predict(self._framed(rows)), np.float64)

    def _framed(self, rows: FloatArray) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=list(FEATURES[self.track]))

    @property
    def _kind(self) -> str:
        return f"{type(self).__name__}({type(self.regressor).__name__})"

    def _parameters(self) -> dict[str, Any]:
        return {"track": self.track}

    def _state(self) -> dict[str, Any]:
        from skops.io import dumps

        learnt = np.frombuffer(dumps(self.regressor_), np.uint8)
        return {"source": self._source, "regressor": learnt}

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            found = _read(state["regressor"].tobytes())
        except UnusableInput:
            raise
        except Exception as error:  # a damaged file makes skops raise whatever it meets
            raise ValueError(why(error)) from error
        self._prepare(state["source"])
        self._source = state["source"]
        self.regressor_ = found


def _read(data: bytes) -> RegressorMixin:
    """Returns the regressor in the bytes of skops; raises UnusableInput if it has classes of others."""
    from skops.io import get_untrusted_types, loads

    unusual = get_untrusted_types(data=data)
    if others := [name for name in unusual if not _is_of_sklearn(name)]:
        raise UnusableInput(f"the saved regressor has {', '.join(others)}, which is not from scikit-learn")
    return loads(data, trusted=unusual)


def _is_of_sklearn(name: str) -> bool:
    """Returns True if the full name of a type is that of a class that scikit-learn itself defines."""
    module, _, own = name.rpartition(".")
    if module.partition(".")[0] != "sklearn":
        return False
    found = getattr(import_module(module), own, None)
    return isinstance(found, type) and found.__module__.partition(".")[0] == "sklearn"


def is_tabular(given: object) -> bool:
    """Returns True if the argument is a scikit-learn regressor (an instance, not a class)."""
    return isinstance(given, BaseEstimator) and is_regressor(given)


def described(regressor: BaseEstimator) -> str:
    """Returns one line about a regressor: its steps, with the parameters that differ from their defaults.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> described(make_pipeline(StandardScaler(), Ridge(alpha=10)))
    'StandardScaler+Ridge(alpha=10)'
    """
    steps = [step for _, step in regressor.steps] if isinstance(regressor, Pipeline) else [regressor]
    return "+".join(" ".join(repr(step).split()).removesuffix("()") for step in steps)
