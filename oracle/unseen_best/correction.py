"""Corrections of an estimate by others and by evidence: ridge regressions that are arrays alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from baselines.contract.regressors import log_odds
from submission.arrays import FloatArray

REACH = 1.0
"""How many standard deviations beyond the known rows a column is taken at its word."""


@dataclass(frozen=True)
class Correction:
    """log-odds of accuracy = anchor + coefficients . (row - mean) / scale + intercept.

    Attributes:
        anchor: the column that is corrected, log-odds of an accuracy.
        low, high: rows are clipped to these first, (p,).
        mean, scale, coefficients: (p,).
        intercept: of the correction.
    """

    anchor: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    scale: FloatArray
    coefficients: FloatArray
    intercept: float

    @classmethod
    def fit(
        cls, rows: FloatArray, targets: FloatArray, columns: Sequence[int], anchor: int, alpha: float
    ) -> "Correction":
        """Ridge regression of what the anchor lacks on standardised columns: rows (r, p), accuracies (r,).

        The larger `alpha`, the nearer to the anchor itself, but for a constant. Columns that are not among
        `columns` have the coefficient 0.
        """
        mean, spread = rows.mean(axis=0), rows.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        chosen = list(columns)
        design = ((rows - mean) / scale)[:, chosen]
        lacking = log_odds(targets) - rows[:, anchor]
        intercept = float(lacking.mean())
        gram = design.T @ design + alpha * np.eye(len(chosen))
        coefficients = np.zeros(rows.shape[1])
        coefficients[chosen] = np.linalg.solve(gram, design.T @ (lacking - intercept))
        low, high = rows.min(axis=0) - REACH * spread, rows.max(axis=0) + REACH * spread
        return cls(anchor, low, high, mean, scale, coefficients, intercept)

    @classmethod
    def none(cls, width: int, anchor: int) -> "Correction":
        """The anchor as it is."""
        infinite, zero = np.full(width, np.inf), np.zeros(width)
        return cls(anchor, -infinite, infinite, zero, np.ones(width), zero, 0.0)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Rows (m, p) -> accuracies (m,) in (0, 1)."""
        clipped = np.clip(rows, self.low, self.high)
        correction = (clipped - self.mean) / self.scale @ self.coefficients + self.intercept
        return expit(clipped[:, self.anchor] + correction)
