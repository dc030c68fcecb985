"""Regressors of accuracy on indicators; `REGRESSORS` has them by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from submission.arrays import FloatArray
from submission.errors import UnusableInput

EDGE = 0.005
"""Smallest distance of a fraction from 0 or 1 in `log_odds`, which would be unbounded otherwise."""


def log_odds(fractions: ArrayLike, edge: float = EDGE) -> Any:
    """Returns log(p / (1 - p)) of fractions p in [0, 1], kept `edge` away from 0 and 1; same shape."""
    return logit(np.clip(np.asarray(fractions, np.float64), edge, 1 - edge))


class LogOddsRidge(RegressorMixin, BaseEstimator):
    """Ridge regression of accuracy, in log-odds, on standardised indicators; `alpha` is the penalty.

    `stack` fits hundreds of them: the checks of scikit-learn's pipeline take a hundred times as long as this.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, rows: FloatArray, targets: FloatArray) -> "LogOddsRidge":
        """Solve the normal equations for rows (m, p) and accuracies (m,)."""
        rows, wanted = np.asarray(rows, np.float64), log_odds(targets)
        self.mean_, spread = rows.mean(axis=0), rows.std(axis=0)
        rounding = len(rows) * np.finfo(np.float64).eps * np.abs(self.mean_)
        self.scale_ = np.where(spread > rounding, spread, 1.0)
        z = (rows - self.mean_) / self.scale_
        self.intercept_ = wanted.mean()
        gram = z.T @ z + self.alpha * np.eye(z.shape[1])
        self.weights_ = np.linalg.solve(gram, z.T @ (wanted - self.intercept_))
        return self

    def predict(self, rows: FloatArray) -> FloatArray:
        """Returns the accuracies (m,) of rows (m, p)."""
        return expit((np.asarray(rows) - self.mean_) / self.scale_ @ self.weights_ + self.intercept_)


def lightgbm() -> RegressorMixin:
    """Returns gradient-boosted trees, small enough for some hundreds of sets; constant beyond their range."""
    import torch  # noqa: F401 (first, so that LightGBM uses the OpenMP runtime that torch loads)
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        n_estimators=100,
        num_leaves=7,
        min_child_samples=10,
        random_state=0,
        n_jobs=1,
        deterministic=True,
        force_row_wise=True,
        verbose=-1,
    )


REGRESSORS: dict[str, Callable[[], RegressorMixin]] = {
    "linear": LinearRegression,
    "ridge": LogOddsRidge,
    "lightgbm": lightgbm,
}


def make_regressor(name: str) -> RegressorMixin:
    """Returns a new, unfitted regressor of `REGRESSORS`."""
    if name not in REGRESSORS:
        raise UnusableInput(f"there is no regressor {name!r}; choose from {', '.join(REGRESSORS)}")
    return REGRESSORS[name]()
