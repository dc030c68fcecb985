"""Correlation of Gscore with the true metric: table 4 and figures 3, 6, 9 and 10 of the Gscore paper.

The sweeps draw new mixes from the scores of a competition's labelled mixes: other ratios and sizes.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import pearsonr, spearmanr
from sklearn.base import clone

from baselines.contract.families import random_folds, subset
from baselines.ood.gmm import Gmm
from baselines.ood.gscore import TAUS, Gscore, reference_scores, search_tau
from baselines.ood.kmeans import two_means
from baselines.ood.plugin import detection_metric
from baselines.ood.ude import Ude
from starter.observing.observation import MetaTrain
from submission.arrays import FloatArray

FAMILY = "family"
"""Name of the splits that leave out one family after the other."""
RANDOM = "random"
"""Name of the paper's random splits."""
RATIOS = (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
SIZES = (50, 100, 200, 400, 800)
REFERENCES = (50, 100, 200, 500, 1000, 2000)
MIXED = range(1, 6)
"""Draws of mixes of random ratio and size."""
FEWEST = 100
"""Smallest number of images of either kind in such a mix."""
METHODS: dict[str, Gscore] = {"gscore-ude-w": Ude(), "gscore-gmm-w": Gmm()}
ALIKE = 1e-9
"""Largest range of values that count as equal, as a share of the largest of them."""


def correlation(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Returns Pearson's and Spearman's correlation of x and y (n,); nan if n < 3 or one has one value."""
    if len(x) < 3 or any(np.ptp(each) <= ALIKE * np.abs(each).max() for each in (x, y)):
        return float("nan"), float("nan")
    return float(pearsonr(x, y)[0]), float(spearmanr(x, y)[0])


def points_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 3: the Gscore (UDE and Wasserstein) of every mix against the true metric.

    target: the true metric, 0 to 1.
    """
    method = clone(METHODS["gscore-ude-w"]).fit(meta)
    columns = {
        "mix": [mix.set_name for mix in meta.sets],
        "family": ["+".join(sorted(family)) for family in meta.families],
        "gscore": method._table.rows[:, method.place_],
        "target": meta.targets,
    }
    return pd.DataFrame(columns)


def correlations_table(meta: MetaTrain, metric: str, splits: int = 0) -> pd.DataFrame:
    """Figure 3 and table 4: the correlation of Gscore (UDE, Wasserstein) with the true metric.

    split: over all mixes, tau found on these (family), or the mean over the tested mixes of random splits,
    tau found on the others (random). Empty where all mixes have one Gscore or one target.
    """
    of = points_table(meta, metric)
    rows = [(FAMILY, *correlation(of.gscore.to_numpy(), of.target.to_numpy()), np.nan, np.nan)]
    if splits:
        each = []
        for fold in random_folds(meta, splits):
            method = clone(METHODS["gscore-ude-w"]).fit(subset(meta, fold.train))
            gscores = [method.gscores(meta.sets[i].scores)[method.place_] for i in fold.test]
            each.append(correlation(np.array(gscores), np.asarray(meta.targets, np.float64)[fold.test]))
        rows.append((RANDOM, *np.mean(each, axis=0), *np.std(each, axis=0)))
    numbers = ["pearson", "spearman", "pearson_deviation", "spearman_deviation"]
    return pd.DataFrame(rows, columns=["split", *numbers])


def ratios_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figures 6 and 9, left: Pearson's |r| of Gscore with the metric by the ratio of IND to OOD images.

    There is one mix per family, with all its images except those removed to reach the ratio. A ratio with
    fewer than two IND or OOD images is omitted. pearson: 0 to 1, higher is better.
    """

    def size(ratio: float, ind: int, ood: int) -> tuple[int, int]:
        most = min(ind, ood)
        return round(most * min(1.0, ratio)), round(most * min(1.0, 1 / ratio))

    return _swept(meta, metric, "ratio", RATIOS, size)


def sizes_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figures 6 and 9, middle: Pearson's |r| of Gscore with the metric by the size of 1:1 mixes.

    Families with too few images are omitted. pearson: 0 to 1, higher is better; size: images of a mix.
    """

    def size(total: float, ind: int, ood: int) -> tuple[int, int]:
        return (round(total / 2),) * 2 if total / 2 <= min(ind, ood) else (0, 0)

    return _swept(meta, metric, "size", SIZES, size)


def random_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figures 6 and 9, right: Pearson's |r| of Gscore with the metric on mixes of random ratio and size.

    A draw has one mix per family; its numbers of IND and of OOD images are uniform, from 100 to all that
    there are (appendix C). pearson: 0 to 1, higher is better.
    """
    rng = np.random.default_rng(1)

    def size(_: float, ind: int, ood: int) -> tuple[int, int]:
        drawn = [int(rng.integers(min(FEWEST, most), most, endpoint=True)) for most in (ind, ood)]
        return drawn[0], drawn[1]

    return _swept(meta, metric, "draw", MIXED, size)


def _swept(
    meta: MetaTrain,
    metric: str,
    axis: str,
    values: Sequence[float],
    size: Callable[[float, int, int], tuple[int, int]],
) -> pd.DataFrame:
    """Returns correlations on new mixes of each family by value; `size` gives their IND and OOD counts."""
    rows = []
    rng = np.random.default_rng(0)
    reference = reference_scores(meta.source)
    ind, families = pooled(meta)
    for value in values:
        mixes = []
        drawn = []
        for ood in families.values():
            counts = size(value, len(ind), len(ood))
            if min(counts) >= 2:
                parts = [rng.permutation(pool)[:n] for pool, n in zip((ind, ood), counts, strict=True)]
                mixes.append(np.concatenate(parts))
                drawn.append(detection_metric(metric, reference, parts[1], counts[0] / sum(counts)))
        targets = np.array(drawn)
        for method, prototype in METHODS.items():
            rows.append((method, value, best_correlation(prototype, reference, mixes, targets)))
        centres = np.array([np.diff(two_means(np.sort(mix)))[0] for mix in mixes])
        rows.append(("gscore-kmeans", value, abs(correlation(centres, targets)[0])))
    return pd.DataFrame(rows, columns=["method", axis, "pearson"])


def pooled(meta: MetaTrain) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Returns the distinct IND scores of all mixes, and the distinct OOD scores by family."""
    ind: list[FloatArray] = []
    ood: dict[str, list[FloatArray]] = {}
    for mix, is_ood, families in zip(meta.sets, meta.ood, meta.families, strict=True):
        scores = mix.scores
        ind.append(scores[~is_ood])
        ood.setdefault("+".join(sorted(families)), []).append(scores[is_ood])
    joined = {family: np.unique(np.concatenate(each)) for family, each in sorted(ood.items())}
    return np.unique(np.concatenate(ind)), joined


def references_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 10: Pearson's |r| of UDE's Gscore with the metric by the number of reference images.

    The mixes are the subject's own. pearson: 0 to 1, higher is better; size: reference images.
    """
    reference = np.random.default_rng(0).permutation(reference_scores(meta.source))
    scores = [mix.scores for mix in meta.sets]
    targets = np.asarray(meta.targets, float)
    sizes = sorted({min(size, len(reference)) for size in REFERENCES})
    found = [best_correlation(Ude(), reference[:size], scores, targets) for size in sizes]
    return pd.DataFrame({"size": sizes, "pearson": found})


def best_correlation(
    prototype: Gscore, reference: FloatArray, mixes: Sequence[FloatArray], targets: FloatArray
) -> float:
    """Returns Pearson's |r| of Gscore and the targets (m,), with tau fitted on these mixes; nan if m < 3."""
    if len(mixes) < 3:
        return float("nan")
    method = clone(prototype).know(reference)
    rows = np.array([method.gscores(mix) for mix in mixes])
    gscores = rows[:, : len(TAUS)]
    usable = rows[:, len(TAUS) :] > 0
    return abs(correlation(gscores[:, search_tau(gscores, usable, targets)], targets)[0])
