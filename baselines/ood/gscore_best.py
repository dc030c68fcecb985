"""gscore-best, the kit's own: a plug-in estimate corrected by regressions (docs/results/ood-track.md)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines.contract.estimator import Measured, Table
from baselines.contract.families import FEWEST, blocks
from baselines.contract.regressors import lightgbm
from baselines.ood.gscore import part, reference_scores, wasserstein
from baselines.ood.kmeans import two_means
from baselines.ood.plugin import detection_metric, ind_share, plug_in
from starter.observing.observation import MetaTrain, ScoredMix, Source
from submission.arrays import BoolArray, FloatArray, IntArray

DELTAS = (0.9, 0.1, 0.001)
"""Failure probabilities of the bounds in `ind_share`; the last one prefers ratios of low variance."""
LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995])
"""Quantiles of the reference below which the share of the mix is evidence."""
TAUS_USED = (50, 90, 99)
"""Indices into TAUS at which UDE's Gscore is evidence."""
SMALLEST = 50
"""Number of images of the smallest resampled mixes, and of the smallest intended ones."""
LARGE = 800
"""Number of images from which on a mix counts as large."""
SIZE = -1
"""Index of the column with log n in `evidence`."""
EVEN = np.full(4, 0.5)
"""Weights of the corrections if there are too few mixes to fit weights."""


def evidence(mix: FloatArray, reference: FloatArray, metric: str) -> FloatArray:
    """Returns numbers that describe a mix, float64 (27,); the first is a plug-in estimate of the metric.

    The others are two further such estimates, the three IND shares, the shares below the reference's
    quantiles, UDE's Gscores, the distance of K-means's centres, mean and standard deviation of the normal
    scores, and log n. All depend only on the ranks of the mix's scores (n,) among the reference's (r,),
    ascending.
    """
    ordered = np.sort(mix)
    shares = [ind_share(ordered, reference, delta) for delta in DELTAS]
    estimates = [plug_in(metric, ordered, reference, share) for share in shares]
    ranks = _ranks(ordered, reference)
    edge = 0.5 / len(reference)
    normal = ndtri(np.clip(ranks, edge, 1 - edge))
    means, sds, usable = part(normal, np.exp(-(normal**2) / 2))
    gscores = np.where(usable, wasserstein(means, sds), 0.0)[list(TAUS_USED)]
    below = np.searchsorted(ranks, LEVELS, side="right") / len(mix)
    first, second = two_means(normal)
    shape = [second - first, normal.mean(), normal.std(), np.log(len(mix))]
    return np.concatenate([estimates, shares, below, gscores, shape])


def _ranks(scores: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns the ranks of scores (n,) among the reference's (r,), ascending, in [0, 1]."""
    low = np.searchsorted(reference, scores, side="left")
    high = np.searchsorted(reference, scores, side="right")
    return (low + high) / 2 / len(reference)


def resample(ood: BoolArray, shares: tuple[float, float], rng: np.random.Generator) -> IntArray:
    """Returns the rows of a smaller mix drawn from one with OOD images `ood` (n,), at least 20 of a kind."""
    from starter.data.sets.mix import LEAST

    size = np.exp(rng.uniform(np.log(SMALLEST), np.log(max(len(ood), SMALLEST))))
    share = rng.uniform(*shares)
    drawn = []
    for members, wanted in ((np.flatnonzero(~ood), size * share), (np.flatnonzero(ood), size * (1 - share))):
        drawn.append(rng.choice(members, min(max(round(wanted), LEAST), len(members)), replace=False))
    return np.concatenate(drawn)


class GscoreBest(Measured):
    """The estimate of plugin-mpe, corrected by ridge regression and boosted trees that learn its error.

    The weights of the two corrections, in small and in large mixes, are fitted on left-out families: for
    large mixes, and for some detectors and metrics, the estimate needs little correction.

    The regressions are fitted to the meta-train mixes and to smaller mixes drawn from them, with IND shares
    in the range of the meta-train mixes; their metrics are known, since meta-train mixes say which images are
    OOD. The IND images of all meta-train mixes are added to the reference, whose few highest scores matter
    most.

    Args:
        resamples: Number of mixes drawn from each meta-train mix, an int >= 0.
        alpha: Penalty of the ridge regression on standardised evidence, above 0.
        seed: Seed of the drawn mixes.
    """

    refits = True

    def __init__(self, resamples: int = 8, alpha: float = 30.0, seed: int = 0) -> None:
        self.resamples = resamples
        self.alpha = alpha
        self.seed = seed

    def _prepare(self, source: Source) -> None:
        self._require("resamples", self.resamples >= 0, "at least 0")
        self.reference_ = reference_scores(source)

    def _measure(self, mix: ScoredMix) -> FloatArray:
        return evidence(mix.scores, self.reference_, mix.metric)

    def _tabulate(self, meta: MetaTrain) -> Table:
        ind = [mix.scores[~ood] for mix, ood in zip(meta.sets, meta.ood, strict=True)]
        self.reference_ = np.sort(np.concatenate([self.reference_, np.unique(np.concatenate(ind))]))
        table = super()._tabulate(meta)
        rng = np.random.default_rng(self.seed)
        owned = [1 - float(ood.mean()) for ood in meta.ood]
        rows = [*table.rows]
        targets = [*table.targets]
        of = [*table.of]
        for i, (mix, ood) in enumerate(zip(meta.sets, meta.ood, strict=True)):
            metric = mix.metric
            scores = mix.scores
            whole = self._performance(metric, scores, ood)
            for _ in range(self.resamples):
                kept = resample(ood, (min(owned), max(owned)), rng)
                change = self._performance(metric, scores[kept], ood[kept]) - whole
                rows.append(evidence(scores[kept], self.reference_, metric))
                targets.append(np.clip(table.targets[i] + change, 0.0, 1.0))
                of.append(np.int64(i))
        families = [table.families[i] for i in of]
        return Table(np.array(rows), np.array(targets), families, np.array(of))

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "reference": self.reference_}

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        self.reference_ = state["reference"]

    def _performance(self, metric: str, scores: FloatArray, ood: BoolArray) -> float:
        return detection_metric(metric, self.reference_, scores[ood], 1 - float(ood.mean()))

    def _learn(self, table: Table) -> None:
        rows = table.rows
        errors = table.targets - rows[:, 0]
        self.models_ = [model.fit(rows, errors) for model in self._models()]
        self.weights_ = self._weigh(rows, errors, table.families) if len(rows) > FEWEST else EVEN

    def _models(self) -> tuple[RegressorMixin, RegressorMixin]:
        return make_pipeline(StandardScaler(), Ridge(self.alpha)), lightgbm()

    def _weigh(self, rows: FloatArray, errors: FloatArray, families: Sequence[frozenset[str]]) -> FloatArray:
        """Returns the weights (4,), >= 0, that fit the errors on left-out families best."""
        found = np.zeros((len(rows), 2))
        for fold in blocks(families):
            for column, model in enumerate(self._models()):
                model.fit(rows[fold.train], errors[fold.train])
                found[fold.test, column] = model.predict(rows[fold.test])
        return nnls(by_size(found, rows), errors)[0]

    def _estimate(self, rows: FloatArray) -> FloatArray:
        found = np.column_stack([model.predict(rows) for model in self.models_])
        return rows[:, 0] + by_size(found, rows) @ self.weights_


def by_size(corrections: FloatArray, rows: FloatArray) -> FloatArray:
    """Returns corrections (m, 2), multiplied by the smallness and the largeness of mixes (m, 27), (m, 4)."""
    large = np.clip((rows[:, SIZE] - np.log(SMALLEST)) / np.log(LARGE / SMALLEST), 0.0, 1.0)[:, None]
    return np.hstack([(1 - large) * corrections, large * corrections])
