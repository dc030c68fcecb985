"""The gate of `gated`: how much COTT counts beside the median of other estimates, by the signs of a set.

The gate is the kit's own: a logistic function of the signs, as the gate between two experts (Jacobs, Jordan,
Nowlan & Hinton, Neural Computation 1991), whose weights are fitted to the error of the mean of both.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from baselines.accuracy.evidence import TINY
from submission.arrays import BoolArray, FloatArray, IntArray

LIMIT = 3.0
"""Number of standard deviations from the mean at which a sign is cut."""
WIDTH = 0.02
"""Error, a fraction, below which the loss is about quadratic, and above which it is about linear."""
RIDGE = 0.00075
"""Penalty on the mean square of the gate's weights."""
POOR = 2.0
"""The classifier's own regression has no vote if its median error is so many times that of both networks'."""
WITHOUT_REFEREE = ("classifier",)
WITH_REFEREE = ("classifier", "agreement_adapted", "both")
WITHOUT_CLASSIFIER = ("agreement", "both")
"""Estimates in the median against COTT, by what there is and how good it is (`votes_of`)."""
Named = Mapping[str, FloatArray]
"""Estimates of m sets, or their errors, by name, (m,) each."""


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation (p,) of each sign over the sets learnt from."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, signs: FloatArray) -> "Scale":
        """Returns the scale of the signs of m sets, (m, p)."""
        return cls(signs.mean(axis=0), np.maximum(signs.std(axis=0), TINY))

    def rows(self, signs: FloatArray) -> FloatArray:
        """Returns a 1 and the signs (m, p) in deviations from the mean, cut at `LIMIT`, (m, 1 + p)."""
        scaled = np.clip((signs - self.mean) / self.deviation, -LIMIT, LIMIT)
        return np.insert(scaled, 0, 1.0, axis=1)


@dataclass(frozen=True)
class Gate:
    """The weight of COTT, a function of a set's row (`Scale.rows`), and who votes against it."""

    weights: FloatArray  # intercept and weights of the log-odds of COTT's share, (1 + p,)
    votes: tuple[str, ...]

    @classmethod
    def fit(cls, rows: FloatArray, errors: Named, votes: tuple[str, ...]) -> "Gate":
        """Returns the gate with the smallest `loss`, by the rows (m, 1 + p) and errors of m sets."""
        given = (rows, errors["cott"], median_of(errors, votes))
        best = minimize(loss, np.zeros(rows.shape[1]), args=given, jac=True, method="L-BFGS-B")
        return cls(best.x, votes)

    def mix(self, rows: FloatArray, estimates: Named) -> FloatArray:
        """Returns the weighed means (m,) of COTT and the median by rows (m, 1 + p), or their errors."""
        share = expit(rows @ self.weights)
        return share * estimates["cott"] + (1 - share) * median_of(estimates, self.votes)


def loss(
    weights: FloatArray, rows: FloatArray, cott: FloatArray, median: FloatArray
) -> tuple[float, FloatArray]:
    """Returns the gate's loss and its gradient by rows x (m, 1 + p), errors a of COTT and b of the median.

    With s_i = expit(w x_i) the error of set i is e_i = s_i a_i + (1 - s_i) b_i. The loss is the mean of
    sqrt(e_i^2 + WIDTH^2), Charbonnier's (ICIP 1994), plus RIDGE times the mean of w_j^2, where the intercept
    counts as 0. As ds / dw = s (1 - s) x, the gradient of e_i is s_i (1 - s_i) (a_i - b_i) x_i.
    """
    share = expit(rows @ weights)
    error = share * cott + (1 - share) * median
    size = np.sqrt(error**2 + WIDTH**2)
    pull = error / size * share * (1 - share) * (cott - median)
    free = np.arange(len(weights)) > 0
    value = size.mean() + RIDGE * (weights**2 * free).mean()
    gradient = pull @ rows / len(rows) + 2 * RIDGE * weights * free / len(weights)
    return float(value), gradient


def votes_of(errors: Named) -> tuple[str, ...]:
    """Returns who votes, by the errors on left-out sets."""
    if "both" not in errors:
        return WITHOUT_REFEREE
    alone, both = (np.median(np.abs(errors[name])) for name in ("classifier", "both"))
    return WITHOUT_CLASSIFIER if alone > POOR * both else WITH_REFEREE


def median_of(estimates: Named, names: tuple[str, ...]) -> FloatArray:
    """Returns the median (m,) of the named estimates of each set."""
    return np.median([estimates[name] for name in names], axis=0)


def at(estimates: Named, rows: IntArray | BoolArray) -> Named:
    """Returns the estimates of the sets at `rows`, indices or a mask."""
    return {name: values[rows] for name, values in estimates.items()}
