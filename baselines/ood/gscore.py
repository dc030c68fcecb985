"""Gscore: the distance between the IND and the OOD part of a mix's scores.

Paper: Zhang, Deng & Zheng, "Unsupervised Evaluation of Out-of-distribution Detection: A Data-centric
Perspective", 2023. A subclass computes for each score how likely it is IND. A threshold tau on this likeness
divides the mix into two parts, a Gaussian is fitted to either part, and the distance of the two Gaussians is
the Gscore, on which the detector's metric is regressed.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from baselines.contract.estimator import Measured, Table
from baselines.contract.regressors import make_regressor
from starter.observing.observation import ScoredMix, Source
from submission.arrays import BoolArray, FloatArray
from submission.errors import UnusableInput

TAUS = np.linspace(0, 1, 101)
COARSE = 10
"""Step of the first search over TAUS; then all values up to the neighbouring steps are tried."""
ROUNDING = 1e-12
"""Smallest variance of a part, as a share of the variance of the mix; smaller ones are rounding errors."""


def reference_scores(source: Source) -> FloatArray:
    """Returns the scores of the in-distribution reference in ascending order, float64 (r,)."""
    if source.scores is None:
        raise UnusableInput(
            "this method is of the OOD track (--track ood): it reads an OOD detector's scores"
        )
    return np.sort(source.scores)


def wasserstein(means: FloatArray, sds: FloatArray) -> FloatArray:
    """Returns the 2-Wasserstein distance of the parts, the root of eq. 2, in the unit of the scores, (t,)."""
    return np.sqrt((means[0] - means[1]) ** 2 + (sds[0] - sds[1]) ** 2)


def divergence(means: FloatArray, sds: FloatArray) -> FloatArray:
    """Returns the Kullback-Leibler divergence of the second part from the first, eq. 1, (t,)."""
    return np.log(sds[1] / sds[0]) + (sds[0] ** 2 + (means[0] - means[1]) ** 2) / (2 * sds[1] ** 2) - 0.5


DISTANCES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "wasserstein": wasserstein,
    "kl-from-ood": divergence,
}
"""Distances by the means and standard deviations (2, t) of the IND and the OOD part."""


def part(scores: FloatArray, likeness: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Returns means and deviations (2, t) of the IND and the OOD part at every tau, and usable taus (t,).

    Scores (n,) with a likeness (n,) above tau are IND; at a usable tau both parts have two different scores.
    """
    order = np.argsort(-likeness, kind="stable")
    centre = scores.mean()
    ordered = scores[order] - centre
    n, inside = len(scores), np.searchsorted(-likeness[order], -TAUS, side="left")
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (ordered, ordered**2))
    counts = np.maximum(np.array([inside, n - inside]), 1)
    means = np.array([sums[inside], sums[-1] - sums[inside]]) / counts
    variances = np.array([squares[inside], squares[-1] - squares[inside]]) / counts - means**2
    least = ROUNDING * squares[-1] / n
    usable = (variances > least).all(axis=0)
    sds = np.sqrt(np.where(usable, variances, 1.0))
    return means + centre, sds, usable


class Gscore(Measured):
    """Regression of the metric on the Gscore, at the tau whose regression fits the meta-train mixes best.

    Scores are standardised: minus the mean of the IND reference, divided by its standard deviation.

    Args:
        distance: Name of the distance, one of DISTANCES.
        regressor: Name of the regressor, one of REGRESSORS, which is fitted after tau is found.
    """

    def __init__(self, distance: str = "wasserstein", regressor: str = "linear") -> None:
        self.distance = distance
        self.regressor = regressor

    def know(self, reference: FloatArray) -> "Gscore":
        """Store mean and standard deviation of the reference's scores (r,); `gscores` then needs no fit."""
        self._require("distance", self.distance in DISTANCES, ", ".join(DISTANCES))
        self.mean_, self.sd_ = float(reference.mean()), float(reference.std())
        if not self.sd_ > 0:
            raise UnusableInput("all scores of the IND reference are equal: leave the detector out")
        return self

    def _prepare(self, source: Source) -> None:
        self.know(reference_scores(source))

    @abstractmethod
    def _likeness(self, scores: FloatArray) -> FloatArray:
        """Returns the likeness to IND of each of the scores (n,), standardised, (n,) in [0, 1]."""

    def _measure(self, mix: ScoredMix) -> FloatArray:
        return self.gscores(mix.scores)

    def gscores(self, scores: FloatArray) -> FloatArray:
        """Returns the Gscore at every tau, then 1 for a usable tau and 0 for others, (2 t,), after `know`."""
        # At a tau that is not usable, it is that of the nearest usable tau, or 0 if there is none.
        scores = (np.sort(scores) - self.mean_) / self.sd_
        means, sds, usable = part(scores, self._likeness(scores))
        places = np.flatnonzero(usable)
        if not len(places):
            return np.zeros(2 * len(TAUS))
        nearest = places[np.abs(np.arange(len(TAUS))[:, None] - places).argmin(axis=1)]
        return np.concatenate([DISTANCES[self.distance](means, sds)[nearest], usable])

    def _learn(self, table: Table) -> None:
        gscores, usable = table.rows[:, : len(TAUS)], table.rows[:, len(TAUS) :] > 0
        self.place_ = search_tau(gscores, usable, table.targets)
        self.tau_ = float(TAUS[self.place_])
        self.regressor_ = make_regressor(self.regressor).fit(gscores[:, [self.place_]], table.targets)

    def _estimate(self, rows: FloatArray) -> FloatArray:
        return self.regressor_.predict(rows[:, [self.place_]])


def search_tau(gscores: FloatArray, usable: BoolArray, targets: FloatArray) -> int:
    """Returns the index into TAUS with the smallest loss of a linear regression (sec. 5.2, appendix B).

    Gscores and `usable` are (m, t). A tau that is not usable for some mix counts only if all taus are such.
    """
    empty = (~usable).sum(axis=0)
    losses = np.where(empty == empty.min(), _losses(gscores, targets), np.inf)
    coarse = np.arange(0, len(TAUS), COARSE)
    if np.isinf(losses[coarse]).all():
        return int(losses.argmin())
    best = coarse[losses[coarse].argmin()]
    low = max(best - COARSE, 0)
    return int(low + losses[low : best + COARSE + 1].argmin())


def _losses(gscores: FloatArray, targets: FloatArray) -> FloatArray:
    """Returns the mean squared error of the least-squares line at every tau, (t,)."""
    x, y = gscores - gscores.mean(axis=0), targets - targets.mean()
    spread = (x**2).mean(axis=0)
    gained = (x * y[:, None]).mean(axis=0) ** 2 / np.where(spread > 0, spread, 1.0)
    return (y**2).mean() - gained
