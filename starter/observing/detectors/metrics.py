"""Detection metrics: how well OOD scores separate in-distribution (IND) images from others (OOD).

Every function takes two samples of scores, `ind` (n,) and `ood` (m,), higher = more OOD, n >= 1, m >= 1, and
returns a fraction in [0, 1]. The positive class is "ind" by default, as in the Gscore paper: at a true
positive rate of 95 %, 95 % of the IND images are kept, and the false positives are OOD images that are kept
too. Images with the same score are always on the same side of a threshold.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from starter.data.sets.mix import MIX
from submission.arrays import BoolArray, FloatArray

Positive = Literal["ind", "ood"]
Weights = tuple[ArrayLike, ArrayLike]
SLACK = 1e-12
"""Tolerance for rounding: a rate that is lower by less than this counts as reached."""


def auroc(ind: ArrayLike, ood: ArrayLike, weights: Weights | None = None) -> float:
    """Returns the area under the ROC curve, in [0, 1]: the chance that an OOD image scores higher.

    Ties count half. `weights` are weights > 0 of the images, (n,) and (m,); by default all count equally.

    >>> auroc([0, 1, 2, 3], [2, 4])
    0.8125
    """
    true, false = _rates(ind, ood, "ind", weights)
    heights = (true + np.concatenate([[0.0], true[:-1]])) / 2
    return float(np.diff(false, prepend=0) @ heights)


def aupr(ind: ArrayLike, ood: ArrayLike, positive: Positive = "ind") -> float:
    """Returns the average precision, in [0, 1]: AUPR-in with IND as the positive class, AUPR-out with OOD.

    >>> aupr([0, 1], [2]), aupr([0, 2], [1], positive="ood")
    (1.0, 0.5)
    """
    kept, passed = _kept(ind, ood, positive)
    return float(np.diff(kept, prepend=0) / kept[-1] @ (kept / (kept + passed)))


def fpr(ind: ArrayLike, ood: ArrayLike, tpr: float = 0.95, positive: Positive = "ind") -> float:
    """Returns FPR@TPR: the fraction of negatives that the strictest threshold with rate `tpr` keeps.

    >>> fpr([0, 1, 2, 3], [2, 4], tpr=0.75), fpr([0, 1, 2, 3], [2, 4], tpr=0.75, positive="ood")
    (0.5, 0.5)
    """
    true, false = _rates(ind, ood, positive)
    return float(false[_reached(true, tpr)])


def detection_error(ind: ArrayLike, ood: ArrayLike) -> float:
    """Returns (1 - TPR + FPR) / 2 at a TPR of 95 % (Liang et al., ICLR 2018; Recalcati et al., table VI).

    >>> detection_error([0, 1, 2, 3], [2, 4])
    0.25
    """
    true, false = _rates(ind, ood, "ind")
    at = _reached(true, 0.95)
    return float((1 - true[at] + false[at]) / 2)


DETECTION_METRICS: dict[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "fpr95": partial(fpr, tpr=0.95),
    "auroc": auroc,
    "fpr80": partial(fpr, tpr=0.80),
    "fpr60": partial(fpr, tpr=0.60),
    "aupr-in": partial(aupr, positive="ind"),
    "aupr-out": partial(aupr, positive="ood"),
    "detection-error": detection_error,
}
"""Metrics of the OOD track, functions of (ind, ood); the positive class is IND, except in "aupr-out"."""


def _kept(
    ind: ArrayLike, ood: ArrayLike, positive: Positive, weights: Weights | None = None
) -> tuple[FloatArray, FloatArray]:
    """Returns the weight of positives and of negatives kept at every threshold, the strictest first."""
    known, others = (np.asarray(scores, np.float64) for scores in (ind, ood))
    values = np.concatenate([known, others])
    _, place = np.unique(values if positive == "ind" else -values, return_inverse=True)
    first, second = weights or (None, None)
    counts = (
        np.bincount(place[: len(known)], first, place.max() + 1).cumsum(),
        np.bincount(place[len(known) :], second, place.max() + 1).cumsum(),
    )
    return counts if positive == "ind" else counts[::-1]


def _rates(
    ind: ArrayLike, ood: ArrayLike, positive: Positive, weights: Weights | None = None
) -> tuple[FloatArray, FloatArray]:
    """Returns the true and the false positive rate at every threshold, the strictest first."""
    kept, passed = _kept(ind, ood, positive, weights)
    return kept / kept[-1], passed / passed[-1]


def _reached(true: FloatArray, tpr: float) -> int:
    """Returns the first threshold where the true positive rate is `tpr` or more."""
    return int(np.argmax(true >= tpr - SLACK))


DRAWS = 32
"""Number of bootstrap draws for the deviation of one target; a noise floor averages many targets."""


def true_metric(metric: str, fpr: str, pool: FloatArray, scores: FloatArray, is_ood: BoolArray) -> float:
    """Returns the metric of a mix's scores (n,); FPR's threshold is the mix's own, or the `pool`'s (p,)."""
    own = fpr == MIX or not metric.startswith("fpr")
    return DETECTION_METRICS[metric](scores[~is_ood] if own else pool, scores[is_ood])


def deviation(
    metric: str, fpr: str, pool: FloatArray, scores: FloatArray, is_ood: BoolArray, rng: np.random.Generator
) -> float:
    """Returns the standard deviation of `true_metric` over bootstrap draws of the pool and of the mix."""
    ind, ood = scores[~is_ood], scores[is_ood]
    values = []
    for _ in range(DRAWS):
        again = [each[rng.integers(len(each), size=len(each))] for each in (pool, ind, ood)]
        drawn = np.concatenate(again[1:])
        values.append(true_metric(metric, fpr, again[0], drawn, np.arange(len(drawn)) >= len(ind)))
    return float(np.std(values))
