"""Failure detection compared with new-class detection: two labelings of the same OOD scores.

Source: ImageNet-OOD (Yang, Zhang & Russakovsky, ICLR 2024), "the paper" below; tables VI and VII are those of
Recalcati et al. (DSAA 2023). In new-class detection an image is positive (IND) if its class is one of the
classifier's. In failure detection it is positive if it is classified correctly, which OOD images never are.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import linregress, t

from starter.observing.detectors.metrics import auroc, detection_error, fpr
from starter.studies.shift.grid import kth_distance
from submission.arrays import BoolArray, FloatArray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ALL = "all"
SUBSETS, LEAST = 100, 40
"""Largest number of subsets of a kind of images, as in the paper, and smallest number of images of each."""


Groups = Mapping[str, FloatArray]
"""Scores of IND images ("ind"), of those classified correctly and wrongly ("correct", "wrong"), and of OOD
ones ("ood"). There may be no correct or no wrong ones; a measure that needs them is nan."""
Measures = Mapping[str, Callable[[Groups], float]]


def _between(metric: Callable[..., float], kept: str, other: str) -> Callable[[Groups], float]:
    """Returns the measure of how well scores separate two groups."""

    def measure(groups: Groups) -> float:
        first, second = groups[kept], groups[other]
        return metric(first, second) if len(first) and len(second) else math.nan

    return measure


def _failure(groups: Groups) -> float:
    """Returns the AUROC of correct against wrong and OOD images; IND and OOD images weigh alike."""
    wrong, ood = groups["wrong"], groups["ood"]
    weights = np.repeat([1 / len(groups["ind"]), 1 / len(ood)], [len(wrong), len(ood)])
    weighted = partial(auroc, weights=(np.ones(len(groups["correct"])), weights))
    return _between(weighted, "correct", "failed")({**groups, "failed": np.concatenate([wrong, ood])})


def _threefold(kept: str, other: str) -> Measures:
    """Returns the FPR at 95 % TPR, the detection error and the AUROC of two groups."""
    metrics = {"fpr95": fpr, "detection_error": detection_error, "auroc": auroc}
    return {name: _between(metric, kept, other) for name, metric in metrics.items()}


GOALS: Measures = {"new_class": _between(auroc, "ind", "ood"), "failure": _failure}
PARTS: Measures = {
    "accuracy": lambda groups: len(groups["correct"]) / len(groups["ind"]),
    "new_class": GOALS["new_class"],
    "correct_ood": _between(auroc, "correct", "ood"),
    "wrong_ood": _between(auroc, "wrong", "ood"),
    "correct_wrong": _between(auroc, "correct", "wrong"),
}
"""``accuracy * correct_ood + (1 - accuracy) * wrong_ood`` is new_class (the paper's eq. 2)."""
REJECTED: Measures = {"rejected": _between(partial(fpr, tpr=0.8, positive="ood"), "correct", "ood")}
"""Share of correct images below the threshold that rejects 80 % of OOD images, after the paper's table 2: its
numbers fit a share of about 80 %."""


@dataclass(frozen=True)
class Scored:
    """One detector's scores by kind: of IND images with their correctness, clean ones first; of OOD ones."""

    ind: Mapping[str, tuple[FloatArray, BoolArray]]
    ood: Mapping[str, FloatArray]

    @property
    def kinds(self) -> dict[str, FloatArray]:
        """The scores of all kinds of images, IND ones first."""
        return {kind: scores for kind, (scores, _) in self.ind.items()} | dict(self.ood)

    def pairs(self) -> Iterator[tuple[str, str, Groups]]:
        """Yield the kind of IND images, the kind of OOD images and their groups, for each pair of kinds."""
        for (ind, (scores, correct)), (kind, ood) in itertools.product(self.ind.items(), self.ood.items()):
            groups = {"ind": scores, "correct": scores[correct], "wrong": scores[~correct], "ood": ood}
            yield ind, kind, groups


Detectors = Mapping[str, Scored]
"""The same images scored, by detector; the first, usually MSP, is the one that others are compared with."""


def detection_table(detectors: Detectors) -> pd.DataFrame:
    """Returns table VI: new-class detection for each kind of OOD images, and `ALL` if there are several."""
    whole = {}
    for name, scored in detectors.items():
        several = {ALL: np.concatenate([*scored.ood.values()])} if len(scored.ood) > 1 else {}
        whole[name] = Scored(scored.ind, {**scored.ood, **several})
    return measures_table(whole, _threefold("ind", "ood"))


def groups_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's table 4 and eq. 2: the parts of new-class detection's AUROC and of its gain."""
    frame = measures_table(detectors, PARTS)
    base = frame.groupby(["ind", "ood"]).transform("first")
    shares = {"correct": frame.accuracy, "wrong": 1 - frame.accuracy}
    parts = {
        f"from_{name}": share.mul(frame[f"{name}_ood"] - base[f"{name}_ood"]).where(share > 0, 0.0)
        for name, share in shares.items()
    }
    return frame.assign(gain=frame.new_class - base.new_class, **parts)


def misclassification_table(detectors: Detectors) -> pd.DataFrame:
    """Returns table VII: correct against wrong IND images; OOD images are not used."""
    found = measures_table(detectors, _threefold("correct", "wrong"))
    return found.drop(columns="ood").drop_duplicates(["detector", "ind"])


def ranks(scores: FloatArray, ood: FloatArray) -> FloatArray:
    """Returns the share of OOD scores (m,) that are higher than each of the scores (n,), ties half: (n,)."""
    ordered = np.sort(ood)
    below = [np.searchsorted(ordered, scores, side) for side in ("left", "right")]
    return 1 - np.mean(below, axis=0) / len(ordered)


def ranks_table(detectors: Detectors) -> pd.DataFrame:
    """Returns figures 5 to 9: quantiles of the ranks by group."""
    rows = []
    for name, scored in detectors.items():
        for ind, ood, groups in scored.pairs():
            for group in ("correct", "wrong", "ood"):
                if len(scores := groups[group]):
                    found = np.quantile(ranks(scores, groups["ood"]), QUANTILES)
                    rows.append((name, ind, ood, group, *found))
    names = [f"q{round(100 * each):02d}" for each in QUANTILES]
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", "group", *names])


def nearest_distances(features: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns sqrt(2 - 2 cos) of each row (n, d) and its nearest of the reference (m, d): (n,)."""
    return np.sqrt(2 * kth_distance(features, reference, k=1), dtype=np.float64)


def matched_table(detectors: Detectors, distances: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Returns figure 3 (section 4.1): AUROC of subsets, cut by `distances` (m,), against clean IND images."""
    rows = []
    for detector, scored in detectors.items():
        (clean, _), *_ = scored.ind.values()
        kinds = scored.kinds
        for kind, found in distances.items():
            order = np.argsort(found, kind="stable")
            for rows_of in np.array_split(order, min(SUBSETS, max(1, len(order) // LEAST))):
                rows.append((detector, kind, found[rows_of].mean(), auroc(clean, kinds[kind][rows_of])))
    return pd.DataFrame(rows, columns=["detector", "kind", "distance", "auroc"])


def intercepts_table(matched: pd.DataFrame) -> pd.DataFrame:
    """Returns table 3 (appendix C): AUROC regressed on distance; nan for fewer than three subsets."""
    rows = [
        (*names, len(part), *_regressed(part.distance.to_numpy(), part.auroc.to_numpy()))
        for names, part in matched.groupby(["detector", "kind"], sort=False)
    ]
    ends = ["intercept", "intercept_low", "intercept_high"]
    return pd.DataFrame(rows, columns=["detector", "kind", "subsets", "slope", "slope_se", *ends])


def _regressed(x: FloatArray, y: FloatArray) -> tuple[float, ...]:
    if len(x) < 3 or not np.ptp(x):
        return (math.nan,) * 5
    found = linregress(x, y)
    spread = t.ppf(0.975, len(x) - 2) * found.intercept_stderr
    middle = found.intercept
    return found.slope, found.stderr, middle, middle - spread, middle + spread


def measures_table(detectors: Detectors, measures: Measures) -> pd.DataFrame:
    """Returns a row with these measures for each detector and pair of kinds."""
    rows = [
        (detector, ind, ood, *(measure(groups) for measure in measures.values()))
        for detector, scored in detectors.items()
        for ind, ood, groups in scored.pairs()
    ]
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", *measures])


TABLES: dict[str, Callable[[Detectors], pd.DataFrame]] = {
    "auroc": partial(measures_table, measures=GOALS),
    "detection": detection_table,
    "rejected": partial(measures_table, measures=REJECTED),
    "groups": groups_table,
    "misclassification": misclassification_table,
    "ranks": ranks_table,
}
"""Functions that compute the tables of scores alone: the paper's tables 1 and 3, VI, tables 2 and 4, VII, and
figures 5 to 9."""
