"""The metrics that score predictions. Only here do fractions become percentage points."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RANKED = 3
"""Smallest number of sets of a subject for a rank correlation; with two it would always be 1 or -1."""


@dataclass(frozen=True)
class Score:
    """The error of predictions, and their rank correlation with the targets.

    Attributes:
        rmse: Root mean squared error in percentage points, 0 to 100, lower is better; it decides the ranks.
        mae: Mean absolute error in percentage points, 0 to 100, lower is better.
        spearman: Rank correlation, -1 to 1, higher is better; nan if it is undefined.
        n: Number of scored predictions, an int >= 1.
    """

    rmse: float
    mae: float
    spearman: float
    n: int

    def rounded(self, decimals: int) -> "Score":
        """Returns the score as it is published.

        >>> Score(rmse=4.9849, mae=3.14159, spearman=0.77777, n=48).rounded(2)
        Score(rmse=4.98, mae=3.14, spearman=0.78, n=48)
        """
        rmse, mae, spearman = (round(value, decimals) for value in (self.rmse, self.mae, self.spearman))
        return Score(rmse, mae, spearman, self.n)


def score(
    predictions: Mapping[str, float], targets: Mapping[str, float], subject_of: Callable[[str], str]
) -> Score:
    """Score the predictions of the ids in `targets`; other predictions are ignored.

    RMSE and MAE are pooled over all ids. Spearman's correlation is computed for each subject and then
    averaged, since ranks across subjects would reward knowing which subject is the better one. It is nan if
    it is undefined for any subject (fewer than `RANKED` sets, or all targets or all predictions equal).

    Args:
        predictions: Predictions by id, fractions.
        targets: Targets by id, fractions, at least one.
        subject_of: Function that returns the subject of an id.

    Raises:
        ValueError: there are no targets, or a target has no prediction.
    """
    if not targets:
        raise ValueError("targets: there are none to score against")
    missing = [name for name in targets if name not in predictions]
    if missing:
        raise ValueError(f"predictions: none for id {missing[0]!r}")
    predicted = np.array([predictions[name] for name in targets])
    true = np.array(list(targets.values()))
    subjects = np.array([subject_of(name) for name in targets])
    error = 100 * (predicted - true)
    correlations = [
        spearman(predicted[mine], true[mine]) if mine.sum() >= RANKED else math.nan
        for mine in (subjects == name for name in np.unique(subjects))
    ]
    return Score(
        rmse=math.sqrt(np.mean(error**2)),
        mae=float(np.mean(np.abs(error))),
        spearman=float(np.mean(correlations)),
        n=len(true),
    )


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Returns Spearman's rank correlation of x (n,) and y (n,), -1 to 1; ties share their average rank.

    It is nan if it is undefined: n < 2, or all of x or all of y equal. (Spearman, "The proof and measurement
    of association between two things", 1904.)

    >>> spearman([0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.8, 0.7])
    0.8
    """
    a, b = _ranks(np.asarray(x, dtype=np.float64)), _ranks(np.asarray(y, dtype=np.float64))
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"x and y must have one shape (n,), got {a.shape} and {b.shape}")
    if len(a) < 2:
        return math.nan
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(np.clip(a @ b / scale, -1, 1)) if scale else math.nan


def skill(rmse: float, rmse_constant: float) -> float:
    """Returns the skill, 1 - (rmse / rmse_constant)^2: the explained share of the constant's squared error.

    It is at most 1, and higher is better; 0 is as good as predicting the mean meta-train target for every
    set, and a negative value is worse. It is nan if `rmse_constant` is 0.

    >>> skill(5.0, 10.0)
    0.75
    """
    return 1 - (rmse / rmse_constant) ** 2 if rmse_constant else math.nan


def noise_floor(targets: ArrayLike, sizes: ArrayLike) -> float:
    """Returns the RMSE, in points, of binomial sampling alone: 100 * sqrt(mean(p * (1 - p) / n)).

    An accuracy p measured on n images has the standard error sqrt(p * (1 - p) / n), the sampling noise of the
    true accuracies. A method whose errors do not depend on the draw of the images has an RMSE of about
    sqrt(method^2 + noise^2). The noise floor is no lower bound, since methods see the same images. It is the
    same for all methods, so a paired test may tell methods apart whose RMSEs differ by less.

    Args:
        targets: Accuracies p (m,), fractions, m >= 1.
        sizes: Numbers of images n (m,).

    >>> noise_floor([0.5, 0.5], [100, 100])
    5.0
    """
    p, n = np.asarray(targets, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if p.shape != n.shape or p.ndim != 1 or not len(p):
        raise ValueError(f"targets and sizes must have one shape (m,), m >= 1, got {p.shape} and {n.shape}")
    return 100 * math.sqrt(np.mean(p * (1 - p) / n))


def deviation_floor(deviations: ArrayLike) -> float:
    """Returns the RMSE, in points, of chance alone if the targets have these standard deviations (m,).

    >>> deviation_floor([0.03, 0.04])
    3.5355339059327378
    """
    return 100 * math.sqrt(np.mean(np.square(np.asarray(deviations, dtype=np.float64))))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns ranks from 1; equal values share the average of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]
