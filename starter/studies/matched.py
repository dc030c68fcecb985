"""Detection of covariate and of semantic shift, compared at equal distances from the training images.

Source: Yang, Zhang & Russakovsky 2024 (ImageNet-OOD), section 4.1, figure 3, and appendix C. Images of either
shift are cut into subsets by their distance to the nearest training image. The AUROC of each subset against
clean IND images is regressed on its mean distance, and the intercepts are compared.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import linregress, t

from starter.detectors.metrics import auroc
from starter.shift.degrees import kth_distance
from submission.arrays import FloatArray

SUBSETS, LEAST = 100, 40
"""Largest number of subsets of a kind of images, as in the paper, and smallest number of images of each."""


def nearest_distances(features: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns the distance of each row of `features` (n, d) to the nearest of `reference` (m, d): (n,).

    It is the Euclidean distance of vectors divided by their lengths, sqrt(2 - 2 cos), in [0, 2].
    """
    return np.sqrt(2 * kth_distance(features, reference, k=1), dtype=np.float64)


def subsets(distances: FloatArray) -> list[NDArray[np.int64]]:
    """Returns the rows of `distances` (n,), near to far, in at most `SUBSETS` parts of at least `LEAST`."""
    order = np.argsort(distances, kind="stable")
    return np.array_split(order, min(SUBSETS, max(1, len(order) // LEAST)))


def matched_table(
    clean: Mapping[str, FloatArray],
    shifted: Mapping[str, Mapping[str, FloatArray]],
    distances: Mapping[str, FloatArray],
) -> pd.DataFrame:
    """Returns figure 3: the AUROC of subsets of each kind of shifted images against clean IND images.

    Args:
        clean: Each detector's scores of clean IND images (n,).
        shifted: Each detector's scores of the images of each kind (m,).
        distances: Distances of those images (m,), by kind.

    Returns:
        Columns detector, kind, distance (mean of the subset), auroc.
    """
    cuts = {kind: subsets(values) for kind, values in distances.items()}
    rows = [
        (detector, kind, distances[kind][rows].mean(), auroc(clean[detector], scores[kind][rows]))
        for detector, scores in shifted.items()
        for kind, cut in cuts.items()
        for rows in cut
    ]
    return pd.DataFrame(rows, columns=["detector", "kind", "distance", "auroc"])


def intercepts_table(matched: pd.DataFrame) -> pd.DataFrame:
    """Returns table 3: AUROC regressed on distance, for each detector and kind of `matched_table`.

    Columns: detector, kind, subsets, slope, slope_se; `intercept`, at distance 0, with its 95 % interval
    `intercept_low` to `intercept_high`; `level`, `level_low`, `level_high`, the same at the mean distance of
    all subsets, which needs no extrapolation. Values are nan if there are fewer than three subsets.
    """
    rows = []
    middle = matched.groupby("kind").distance.mean().mean()
    for (detector, kind), part in matched.groupby(["detector", "kind"], sort=False):
        x, y = part.distance.to_numpy(), part.auroc.to_numpy()
        rows.append((detector, kind, len(x), *_regressed(x, y, middle)))
    names = ["slope", "slope_se", "intercept", "intercept_low", "intercept_high"]
    names += ["level", "level_low", "level_high"]
    return pd.DataFrame(rows, columns=["detector", "kind", "subsets", *names])


def _regressed(x: FloatArray, y: FloatArray, middle: float) -> tuple[float, ...]:
    if len(x) < 3 or not np.ptp(x):
        return (np.nan,) * 8
    found, centred = linregress(x, y), linregress(x - middle, y)
    width = t.ppf(0.975, len(x) - 2)
    numbers = [found.slope, found.stderr]
    for each in (found, centred):
        spread = width * each.intercept_stderr
        numbers += [each.intercept, each.intercept - spread, each.intercept + spread]
    return tuple(map(float, numbers))
