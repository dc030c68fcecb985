"""Failure detection compared with new-class detection: two labelings of the same OOD scores.

"The paper" below is ImageNet-OOD (Yang, Zhang & Russakovsky, ICLR 2024). In new-class detection an image is
positive (IND) if its class is one of the classifier's: its measure is `auroc` of `detectors.metrics`, with
images under covariate shift as `ind` if these are studied. In failure detection an image is positive if it is
classified correctly, which OOD images never are. Higher scores are more OOD.

`Groups` has the measures of one sample of scores, `TABLES` the paper's tables of several detectors. They do
not use images, and can be computed from any scores, correctness and kinds.

The module is long because its tables share the scores, the weights of groups and the bootstrap.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from starter.detectors.metrics import auroc, detection_error, fpr
from submission.arrays import FloatArray

REJECTED = 0.8
"""Share of OOD images that are rejected at the threshold at which rejected correct images are counted."""
ALL = "all"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the ranks in `ranks_table`."""


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
        """Returns the groups of IND scores (n,), split by `correct` (n,), bool, and OOD scores (m,).

        Raises:
            ValueError: `ind` and `correct` differ in shape.
        """
        scores, right = np.asarray(ind, np.float64), np.asarray(correct, bool)
        if scores.ndim != 1 or right.shape != scores.shape:
            raise ValueError(
                f"ind and correct must have one shape (n,), got {scores.shape} and {right.shape}"
            )
        return cls(scores[right], scores[~right], np.asarray(ood, np.float64))

    @property
    def accuracy(self) -> float:
        """The share of IND images that are classified correctly."""
        return _ratio(len(self.correct), len(self.correct) + len(self.wrong))

    @property
    def new_class(self) -> float:
        """The AUROC of new-class detection: all IND images against OOD ones."""
        return _auroc(np.concatenate([self.correct, self.wrong]), self.ood)

    @property
    def failure(self) -> float:
        """The AUROC of failure detection: correct images against wrong and OOD ones.

        IND images weigh 1 / n and OOD images 1 / m, so that either group has the same weight in total.
        """
        n, m = len(self.correct) + len(self.wrong), len(self.ood)
        failures = np.concatenate([self.wrong, self.ood])
        if not len(self.correct) or not len(failures):
            return math.nan
        weights = np.repeat([1 / n, 1 / max(m, 1)], [len(self.wrong), m])
        return auroc(self.correct, failures, (np.ones(len(self.correct)), weights))

    @property
    def correct_ood(self) -> float:
        """The AUROC of correct IND images against OOD images."""
        return _auroc(self.correct, self.ood)

    @property
    def wrong_ood(self) -> float:
        """The AUROC of wrong IND images against OOD images.

        ``accuracy * correct_ood + (1 - accuracy) * wrong_ood`` is `new_class` (the paper's eq. 2).
        """
        return _auroc(self.wrong, self.ood)

    @property
    def correct_wrong(self) -> float:
        """The AUROC of misclassification detection: correct against wrong IND images."""
        return _auroc(self.correct, self.wrong)

    @property
    def misclassification(self) -> tuple[float, float, float]:
        """The FPR at 95 % TPR, detection error and AUROC of correct against wrong IND images.

        Source: table VII of Recalcati et al. (DSAA 2023).
        """
        if not len(self.correct) or not len(self.wrong):
            return math.nan, math.nan, math.nan
        return fpr(self.correct, self.wrong), detection_error(self.correct, self.wrong), self.correct_wrong

    @property
    def rejected_correct(self) -> float:
        """The share of correct IND images that are rejected at the threshold that rejects 80 % of OOD images.

        The measure follows the paper's table 2: the share of correct images under covariate shift that is
        rejected with a fixed share of OOD images. The table's numbers fit a share of about 80 %.
        """
        if not len(self.correct) or not len(self.ood):
            return math.nan
        return fpr(self.correct, self.ood, REJECTED, positive="ood")


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
        """Returns the kind of IND images, the kind of OOD images and their groups, for each pair of kinds."""
        for ind, ood in itertools.product(self.ind, self.ood):
            yield ind, ood, Groups.of(*self.ind[ind], self.ood[ood])

    def drawn(self, rng: np.random.Generator) -> "Scored":
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


def auroc_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's tables 1 and 3: AUROC of new-class and of failure detection.

    Columns: detector, ind, ood, new_class, failure (in [0, 1]; nan if a group is empty).
    """
    return _table(detectors, lambda groups: {"new_class": groups.new_class, "failure": groups.failure})


def detection_table(detectors: Detectors) -> pd.DataFrame:
    """Returns table VI of Recalcati et al. (DSAA 2023): the measures of new-class detection.

    Columns: detector, ind, ood (each kind, and `ALL` if there are several), fpr95, detection_error, auroc.
    """
    rows = []
    for name, scored in detectors.items():
        kinds = dict(scored.ood)
        if len(kinds) > 1:
            kinds[ALL] = np.concatenate([*kinds.values()])
        for (ind, (scores, _)), (kind, ood) in itertools.product(scored.ind.items(), kinds.items()):
            given = scores, ood
            numbers = (fpr(*given), detection_error(*given), auroc(*given)) if len(ood) else (math.nan,) * 3
            rows.append((name, ind, kind, *numbers))
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", "fpr95", "detection_error", "auroc"])


def rejected_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's table 2: the share of correct IND images rejected with 80 % of the OOD images.

    Columns: detector, ind, ood, rejected (in [0, 1]).
    """
    return _table(detectors, lambda groups: {"rejected": groups.rejected_correct})


def groups_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's table 4 and eq. 2: the parts of the AUROC of new-class detection (appendix E).

    Columns: detector, ind, ood, accuracy, new_class, correct_ood, wrong_ood, correct_wrong; `gain`, new_class
    minus that of the first detector, and its two parts, `from_correct` and `from_wrong` images.
    """
    names = ("accuracy", "new_class", "correct_ood", "wrong_ood", "correct_wrong")
    frame = _table(detectors, lambda groups: {name: getattr(groups, name) for name in names})
    first = frame[frame.detector == next(iter(detectors))].set_index(["ind", "ood"])
    base = first.loc[pd.MultiIndex.from_frame(frame[["ind", "ood"]])].reset_index(drop=True)
    shares = {"correct": frame.accuracy, "wrong": 1 - frame.accuracy}
    parts = {
        f"from_{name}": share.mul(frame[f"{name}_ood"] - base[f"{name}_ood"]).where(share > 0, 0.0)
        for name, share in shares.items()
    }
    return frame.assign(gain=frame.new_class - base.new_class, **parts)


def misclassification_table(detectors: Detectors) -> pd.DataFrame:
    """Returns table VII of Recalcati et al. (DSAA 2023): correct against wrong IND images.

    OOD images are not used.

    Columns: detector, ind, fpr95, detection_error, auroc.
    """
    rows = [
        (name, kind, *Groups.of(*given, []).misclassification)
        for name, scored in detectors.items()
        for kind, given in scored.ind.items()
    ]
    return pd.DataFrame(rows, columns=["detector", "ind", "fpr95", "detection_error", "auroc"])


def differences_table(detectors: Detectors, draws: int = 200, seed: int = 0) -> pd.DataFrame:
    """Returns the differences of each detector's AUROCs from the first detector's, with 95 % intervals.

    Columns: detector, ind, ood, goal (new_class or failure), difference, low, high. `low` and `high` are the
    interval's ends, from `draws` bootstrap draws of the images, which are the same for all detectors.

    Raises:
        ValueError: A detector has other kinds or numbers of images than the first.
    """
    shapes = {name: _shape(scored) for name, scored in detectors.items()}
    first = next(iter(detectors))
    if other := next((name for name in shapes if shapes[name] != shapes[first]), None):
        raise ValueError(f"{other} has scores of other images than {first}: {shapes[other]}, {shapes[first]}")

    def differences(drawn: list[Scored]) -> FloatArray:
        areas = np.array([[(g.new_class, g.failure) for *_, g in scored.pairs()] for scored in drawn])
        return areas[1:] - areas[0]

    found = differences(list(detectors.values()))
    values = [
        differences([each.drawn(np.random.default_rng([seed, i])) for each in detectors.values()])
        for i in range(draws)
    ]
    low, high = np.quantile(values, (0.025, 0.975), axis=0)
    pairs = itertools.product(list(detectors)[1:], detectors[first].ind, detectors[first].ood)
    keys = [(*pair, goal) for pair in pairs for goal in ("new_class", "failure")]
    frame = pd.DataFrame(keys, columns=["detector", "ind", "ood", "goal"])
    return frame.assign(difference=found.ravel(), low=low.ravel(), high=high.ravel())


def ranks_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the paper's figures 5 to 9: the ranks of correct, wrong and OOD images among the OOD images.

    A rank is the share of OOD images with a higher (more OOD) score, ties counted half; correct images should
    have high ranks. Columns: detector, ind, ood, group, and the quantiles q05, q25, q50, q75, q95 of the
    ranks; groups without images have no row.
    """
    rows = []
    for name, scored in detectors.items():
        for ind, ood, groups in scored.pairs():
            if not len(groups.ood):
                continue
            ordered = np.sort(groups.ood)
            for group in ("correct", "wrong", "ood"):
                scores = getattr(groups, group)
                if len(scores):
                    below = [np.searchsorted(ordered, scores, side) for side in ("left", "right")]
                    ranks = 1 - np.mean(below, axis=0) / len(ordered)
                    rows.append((name, ind, ood, group, *np.quantile(ranks, QUANTILES)))
    names = [f"q{round(100 * each):02d}" for each in QUANTILES]
    return pd.DataFrame(rows, columns=["detector", "ind", "ood", "group", *names])


TABLES: dict[str, Callable[[Detectors], pd.DataFrame]] = {
    "auroc": auroc_table,
    "detection": detection_table,
    "differences": differences_table,
    "rejected": rejected_table,
    "groups": groups_table,
    "misclassification": misclassification_table,
    "ranks": ranks_table,
}
"""Functions that compute the tables, by the tables' names."""


def _table(detectors: Detectors, numbers: Callable[[Groups], dict[str, float]]) -> pd.DataFrame:
    """Returns a row of measures for each detector and pair of kinds."""
    return pd.DataFrame(
        [
            {"detector": name, "ind": ind, "ood": ood, **numbers(groups)}
            for name, scored in detectors.items()
            for ind, ood, groups in scored.pairs()
        ]
    )


def _shape(scored: Scored) -> list[tuple[str, int]]:
    """Returns each kind of images, with their number."""
    ind = [(kind, len(scores)) for kind, (scores, _) in scored.ind.items()]
    return ind + [(kind, len(scores)) for kind, scores in scored.ood.items()]


def _auroc(ind: FloatArray, ood: FloatArray) -> float:
    return auroc(ind, ood) if len(ind) and len(ood) else math.nan


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
