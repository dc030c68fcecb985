"""Errors of every method of the OOD track on near and on far mixes, with the noise floor of their truths."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from baselines import OOD_BASELINES
from baselines.contract.estimator import Estimator
from baselines.contract.families import Fold
from baselines.contract.held_out import held_out
from baselines.ood.scored import mix_scores, reference_scores
from starter.detectors.metrics import deviation
from starter.observing.observation import MetaTrain
from starter.studies.failure_study import ood_kind
from submission.arrays import FloatArray
from submission.metrics import deviation_floor
from submission.tracks import TRACKS

FLOOR = "noise floor"
"""Name of the noise floor's line in tables of methods."""


def deviations(meta: MetaTrain, metric: str) -> FloatArray:
    """Returns the standard deviation of each mix's metric over draws of its images, fractions (m,).

    Args:
        meta: Mixes. If the threshold of their FPR comes from the pool, the reference is used instead.
        metric: Name of the metric, a key of `starter.detectors.metrics.DETECTION_METRICS`.
    """
    reference, rng = reference_scores(meta.source), np.random.default_rng(0)
    mixes = zip(meta.sets, meta.ood, strict=True)
    return np.array([deviation(metric, meta.fpr, reference, mix_scores(mix), ood, rng) for mix, ood in mixes])


DRAWS, FOLDS = 1000, 5
ALIKE = 1e-9
"""Largest range of values that count as equal, as a share of the largest of them."""


def near_far_table(subjects: Mapping[str, MetaTrain]) -> pd.DataFrame:
    """Returns the cross-validated RMSE of each method on the mixes of each kind, in points.

    Families are divided into `FOLDS` folds. Near and far mixes are in the same folds, and methods do not know
    which is which.

    Columns: subject, kind (near, far; ood for neither), method, rmse, its standard deviation over draws of
    families, and Pearson's correlation of predictions with the truth. The method "noise floor" has the RMSE
    due to sampling; `constant` predicts the mean over the mixes of the other folds.
    """
    rows = []
    for name, meta in subjects.items():
        kinds = np.array([ood_kind(each) for each in meta.ood_sets])
        families = np.array(["+".join(sorted(family)) for family in meta.families])
        truth, chance = np.asarray(meta.targets, np.float64), deviations(meta, TRACKS["ood"].metric(name))
        predictions = {method: _predicted(each, meta) for method, each in OOD_BASELINES.items()}
        for kind in sorted(set(kinds)):
            mine = kinds == kind
            for method, predicted in predictions.items():
                errors = 100 * (predicted - truth)[mine]
                numbers = float(np.sqrt(np.mean(errors**2))), _spread(errors, families[mine])
                rows.append((name, kind, method, *numbers, correlation(predicted[mine], truth[mine])[0]))
            rows.append((name, kind, FLOOR, deviation_floor(list(chance[mine])), np.nan, np.nan))
    return pd.DataFrame(rows, columns=["subject", "kind", "method", "rmse", "rmse_deviation", "pearson"])


def folds(meta: MetaTrain) -> list[Fold]:
    """Returns `FOLDS` folds of the mixes by whole families, at random; each fold is tested once."""
    names = sorted(frozenset().union(*meta.families))
    order = np.random.default_rng(0).permutation(len(names))
    found = []
    for number, part in enumerate(np.array_split(order, min(FOLDS, len(names))), start=1):
        tested = {names[i] for i in part}
        inside = np.array([not tested.isdisjoint(each) for each in meta.families])
        found.append(Fold(f"part {number}", np.flatnonzero(~inside), np.flatnonzero(inside)))
    return found


def _predicted(prototype: Estimator, meta: MetaTrain) -> FloatArray:
    """Returns the prediction of each mix (m,) by the method fitted on families of other folds."""
    parts = folds(meta)
    found = np.empty(len(meta.targets))
    for fold, values in zip(parts, held_out(prototype, meta, meta, parts), strict=True):
        found[fold.test] = values
    return found


def _spread(errors: FloatArray, families: NDArray[np.str_]) -> float:
    """Returns the standard deviation of the RMSE over `DRAWS` draws of whole families."""
    names, place = np.unique(families, return_inverse=True)
    squares, sizes = np.bincount(place, errors**2), np.bincount(place)
    drawn = np.random.default_rng(0).integers(len(names), size=(DRAWS, len(names)))
    return float(np.sqrt(squares[drawn].sum(1) / sizes[drawn].sum(1)).std())


def correlation(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Returns Pearson's and Spearman's correlation of x (n,) and y (n,).

    Both are nan if n < 3, or if x or y differs by no more than rounding.
    """
    if len(x) < 3 or any(np.ptp(each) <= ALIKE * np.abs(each).max() for each in (x, y)):
        return float("nan"), float("nan")
    return float(pearsonr(x, y)[0]), float(spearmanr(x, y)[0])
