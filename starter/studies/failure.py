"""Failure detection compared with new-class detection: two labelings of the same OOD scores.

Source: ImageNet-OOD (Yang, Zhang & Russakovsky, ICLR 2024), "the paper" below; tables VI and VII are those of
Recalcati et al. (DSAA 2023). In new-class detection an image is positive (IND) if its class is one of the
classifier's. In failure detection it is positive if it is classified correctly, which OOD images never are.

`Groups` has the measures of one sample of scores, the tables are of several detectors. They can be computed
from any scores, correctness and kinds; `starter.studies.failure_study` does so for a competition.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import linregress, t

from starter.detectors.metrics import auroc, detection_error, fpr
from starter.shift.grid import kth_distance
from submission.arrays import FloatArray

REJECTED = 0.8
"""Share of OOD images that are rejected at the threshold at which rejected correct images are counted."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the ranks in `ranks_table`."""
ALL = "all"
THREEFOLD = ("fpr95", "detection_error", "auroc")
SUBSETS, LEAST = 100, 40
"""Largest number of subsets of a kind of images, as in the paper, and smallest number of images of each."""


@dataclass(frozen=True)
class Groups:
    """Scores of three groups of images: IND and classified correctly, IND and classified wrongly, OOD.

    Any group may be empty; a measure that needs an empty group is nan.
    """

    correct: FloatArray
    wrong: FloatArray
    ood: FloatArray

    @classmethod
    def of(cls, ind: ArrayLike, correct: ArrayLike, ood: ArrayLike) -> "Groups":
        """Returns the groups of IND scores (n,), split by `correct` (n,), bool, and OOD scores (m,)."""
        scores, right = np.asarray(ind, np.float64), np.asarray(correct, bool)
        return cls(scores[right], scores[~right], np.asarray(ood, np.float64))

    @property
    def accuracy(self) -> float:
        """The share of IND images that are classified correctly."""
        n = len(self.correct) + len(self.wrong)
        return len(self.correct) / n if n else math.nan

    @property
    def new_class(self) -> float:
        """The AUROC of new-class detection: all IND images against OOD ones."""
        return _defined(auroc, np.concatenate([self.correct, self.wrong]), self.ood)

    @property
    def failure(self) -> float:
        """The AUROC of failure detection: correct images against wrong and OOD ones.

        IND images weigh 1 / n and OOD images 1 / m, so that either group has the same weight in total.
        """
        n, m = len(self.correct) + len(self.wrong), len(self.ood)
        weights = np.repeat([1 / max(n, 1), 1 / max(m, 1)], [len(self.wrong), m])
        weighted = partial(auroc, weights=(np.ones(len(self.correct)), weights))
        return _defined(weighted, self.correct, np.concatenate([self.wrong, self.ood]))

    @property
    def correct_ood(self) -> float:
        """The AUROC of correct IND images against OOD images."""
        return _defined(auroc, self.correct, self.ood)

    @property
    def wrong_ood(self) -> float:
        """The AUROC of wrong IND images against OOD images.

        ``accuracy * correct_ood + (1 - accuracy) * wrong_ood`` is `new_class` (the paper's eq. 2).
        """
        return _defined(auroc, self.wrong, self.ood)

    @property
    def correct_wrong(self) -> float:
        """The AUROC of misclassification detection: correct against wrong IND images."""
        return _defined(auroc, self.correct, self.wrong)

    @property
    def rejected(self) -> float:
        """The share of correct IND images that are rejected at the threshold that rejects 80 % of OOD images.

        The measure follows the paper's table 2: the share of correct images under covariate shift that is
        rejected with a fixed share of OOD images. The table's numbers fit a share of about 80 %.
        """
        return _defined(partial(fpr, tpr=REJECTED, positive="ood"), self.correct, self.ood)


@dataclass(frozen=True)
class Scored:
    """One detector's scores; all detectors that are compared have scores of the same images.

    Attributes:
        ind: IND images by kind, clean ones first, then those under covariate shift: scores (n,), and bool
            (n,), True for images that are classified correctly.
        ood: OOD images (semantic shift) by kind: scores (m,).
    """

    ind: Mapping[str, tuple[FloatArray, NDArray[np.bool_]]]
    ood: Mapping[str, FloatArray]

    def pairs(self) -> Iterator[tuple[str, str, Groups]]:
        """Yield the kind of IND images, the kind of OOD images and their groups, for each pair of kinds."""
        for ind, ood in itertools.product(self.ind, self.ood):
            yield ind, ood, Groups.of(*self.ind[ind], self.ood[ood])

    def resampled(self, rng: np.random.Generator) -> "Scored":
        """Returns a bootstrap sample: as many images of each kind, drawn with replacement.

        The same state of `rng` draws the same images for every detector.
        """
        ind, ood = {}, {}
        for kind, (scores, correct) in self.ind.items():
            rows = rng.integers(len(scores), size=len(scores))
            ind[kind] = scores[rows], correct[rows]
        for kind, scores in self.ood.items():
            ood[kind] = scores[rng.integers(len(scores), size=len(scores))]
        return Scored(ind, ood)


Detectors = Mapping[str, Scored]
"""Scored images of detectors by name; the first, usually MSP, is the one that others are compared with."""


def detection_table(detectors: Detectors) -> pd.DataFrame:
    """Returns table VI: new-class detection for each kind of OOD images, and `ALL` if there are several."""
    rows = []
    for name, scored in detectors.items():
        kinds = dict(scored.ood)
        if len(kinds) > 1:
            kinds[ALL] = np.concatenate([*kinds.values()])
        for (ind, (scores, _)), (kind, ood) in itertools.product(scored.ind.items(), kinds.items()):
            rows.append((name, ind, kind, *_threefold(scores, ood)))
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", *THREEFOLD])


def groups_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's table 4 and eq. 2: the parts of the AUROC of new-class detection (appendix E).

    `gain` is new_class minus that of the first detector; `from_correct` and `from_wrong` are its two parts.
    """
    names = ("accuracy", "new_class", "correct_ood", "wrong_ood", "correct_wrong")
    frame = measures_table(detectors, names)
    first = frame[frame.detector == next(iter(detectors))].set_index(["ind", "ood"])
    base = first.loc[pd.MultiIndex.from_frame(frame[["ind", "ood"]])].reset_index(drop=True)
    shares = {"correct": frame.accuracy, "wrong": 1 - frame.accuracy}
    parts = {
        f"from_{name}": share.mul(frame[f"{name}_ood"] - base[f"{name}_ood"]).where(share > 0, 0.0)
        for name, share in shares.items()
    }
    return frame.assign(gain=frame.new_class - base.new_class, **parts)


def misclassification_table(detectors: Detectors) -> pd.DataFrame:
    """Returns table VII: correct against wrong IND images; OOD images are not used."""
    rows = [
        (name, kind, *_threefold(scores[correct], scores[~correct]))
        for name, scored in detectors.items()
        for kind, (scores, correct) in scored.ind.items()
    ]
    return pd.DataFrame(rows, columns=["detector", "ind", *THREEFOLD])


def differences_table(detectors: Detectors, draws: int = 200, seed: int = 0) -> pd.DataFrame:
    """Returns the differences of each detector's AUROCs from the first detector's, with 95 % intervals.

    `goal` is new_class or failure. `low` and `high` are the interval's ends, from `draws` bootstrap draws of
    the images, which are the same for all detectors.
    """

    def differences(scored: list[Scored]) -> FloatArray:
        areas = np.array([[(g.new_class, g.failure) for *_, g in each.pairs()] for each in scored])
        return areas[1:] - areas[0]

    found = differences(list(detectors.values()))
    values = [
        differences([each.resampled(np.random.default_rng([seed, i])) for each in detectors.values()])
        for i in range(draws)
    ]
    low, high = np.quantile(values, (0.025, 0.975), axis=0)
    first, *others = detectors
    pairs = itertools.product(others, detectors[first].ind, detectors[first].ood)
    keys = [(*pair, goal) for pair in pairs for goal in ("new_class", "failure")]
    frame = pd.DataFrame(keys, columns=["detector", "ind", "ood", "goal"])
    return frame.assign(difference=found.ravel(), low=low.ravel(), high=high.ravel())


def ranks_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's figures 5 to 9: quantiles of the images' ranks among the OOD images, by group.

    A rank is the share of OOD images with a higher (more OOD) score, ties counted half; correct images should
    have high ranks. Groups without images have no row.
    """
    rows = []
    for name, scored in detectors.items():
        for ind, ood, groups in scored.pairs():
            ordered = np.sort(groups.ood)
            for group in ("correct", "wrong", "ood"):
                scores = getattr(groups, group)
                if len(scores) and len(ordered):
                    below = [np.searchsorted(ordered, scores, side) for side in ("left", "right")]
                    ranks = 1 - np.mean(below, axis=0) / len(ordered)
                    rows.append((name, ind, ood, group, *np.quantile(ranks, QUANTILES)))
    names = [f"q{round(100 * each):02d}" for each in QUANTILES]
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", "group", *names])


def nearest_distances(features: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns the distance of each row of `features` (n, d) to the nearest of `reference` (m, d): (n,).

    It is the Euclidean distance of vectors divided by their lengths, sqrt(2 - 2 cos), in [0, 2].
    """
    return np.sqrt(2 * kth_distance(features, reference, k=1), dtype=np.float64)


def matched_table(detectors: Detectors, distances: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Returns figure 3 (section 4.1): the AUROC of subsets of shifted images against clean IND images.

    The images of each kind are cut, near to far, into at most `SUBSETS` subsets of at least `LEAST`.

    Args:
        detectors: Scores of the images; the first kind of IND images is the clean one.
        distances: Distances of the images of the other kinds (m,) to the nearest training image, by kind.

    Returns:
        Columns detector, kind, distance (mean of the subset), auroc.
    """
    rows = []
    for detector, scored in detectors.items():
        (clean, _), *_ = scored.ind.values()
        shifted = {kind: scores for kind, (scores, _) in scored.ind.items()} | dict(scored.ood)
        for kind, found in distances.items():
            order = np.argsort(found, kind="stable")
            for rows_of in np.array_split(order, min(SUBSETS, max(1, len(order) // LEAST))):
                rows.append((detector, kind, found[rows_of].mean(), auroc(clean, shifted[kind][rows_of])))
    return pd.DataFrame(rows, columns=["detector", "kind", "distance", "auroc"])


def intercepts_table(matched: pd.DataFrame) -> pd.DataFrame:
    """Returns table 3 (appendix C): AUROC regressed on distance, for each detector and kind.

    `intercept` is at distance 0, `level` at the mean distance of all subsets, which needs no extrapolation;
    both have 95 % intervals. Values are nan if there are fewer than three subsets.
    """
    rows = []
    middle = matched.groupby("kind").distance.mean().mean()
    for (detector, kind), part in matched.groupby(["detector", "kind"], sort=False):
        x, y = part.distance.to_numpy(), part.auroc.to_numpy()
        rows.append((detector, kind, len(x), *_regressed(x, y, middle)))
    ends = [f"{name}{end}" for name in ("intercept", "level") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["detector", "kind", "subsets", "slope", "slope_se", *ends])


def _regressed(x: FloatArray, y: FloatArray, middle: float) -> tuple[float, ...]:
    if len(x) < 3 or not np.ptp(x):
        return (math.nan,) * 8
    numbers = []
    for found in (linregress(x, y), linregress(x - middle, y)):
        spread = t.ppf(0.975, len(x) - 2) * found.intercept_stderr
        numbers += [found.intercept, found.intercept - spread, found.intercept + spread]
    return found.slope, found.stderr, *numbers


def measures_table(detectors: Detectors, names: Sequence[str]) -> pd.DataFrame:
    """Returns a row with these properties of `Groups` for each detector and pair of kinds."""
    rows = [
        (detector, ind, ood, *(getattr(groups, name) for name in names))
        for detector, scored in detectors.items()
        for ind, ood, groups in scored.pairs()
    ]
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", *names])


TABLES: dict[str, Callable[[Detectors], pd.DataFrame]] = {
    "auroc": partial(measures_table, names=("new_class", "failure")),
    "detection": detection_table,
    "differences": differences_table,
    "rejected": partial(measures_table, names=("rejected",)),
    "groups": groups_table,
    "misclassification": misclassification_table,
    "ranks": ranks_table,
}
"""Functions that compute the tables of scores alone: the paper's tables 1 and 3, VI, the intervals, tables 2
and 4, VII, and figures 5 to 9."""


def _defined(measure: Callable[..., float], first: FloatArray, second: FloatArray) -> float:
    return measure(first, second) if len(first) and len(second) else math.nan


def _threefold(first: FloatArray, second: FloatArray) -> tuple[float, ...]:
    """Returns the FPR at 95 % TPR, the detection error and the AUROC of two samples of scores."""
    return tuple(_defined(measure, first, second) for measure in (fpr, detection_error, auroc))
