"""Regressors of accuracy on indicators; `REGRESSORS` has them by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from submission.errors import UnusableInput

EDGE = 0.005
"""Smallest distance of a fraction from 0 or 1 in `log_odds`, which would be unbounded otherwise."""


def log_odds(fractions: ArrayLike, edge: float = EDGE) -> Any:
    """Returns log(p / (1 - p)) of fractions p in [0, 1], kept `edge` away from 0 and 1; same shape."""
    return logit(np.clip(np.asarray(fractions, np.float64), edge, 1 - edge))


def log_odds_ridge(alpha: float = 1.0) -> RegressorMixin:
    """Returns a ridge regression of accuracy, in log-odds, on standardised indicators."""
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), Ridge(alpha)), func=log_odds, inverse_func=expit, check_inverse=False
    )


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
    "ridge": log_odds_ridge,
    "lightgbm": lightgbm,
}


def make_regressor(name: str) -> RegressorMixin:
    """Returns a new, unfitted regressor of `REGRESSORS`."""
    if name not in REGRESSORS:
        raise UnusableInput(f"there is no regressor {name!r}; choose from {', '.join(REGRESSORS)}")
    return REGRESSORS[name]()
