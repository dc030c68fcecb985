"""Failure detection beside new-class detection: two labelings of the same OOD scores.

After ImageNet-OOD (Yang, Zhang & Russakovsky, ICLR 2024), "the paper" below. In new-class detection an image
is positive (IND) if its class is one of the classifier's: that is `auroc` of `submission.detection`, with
images under covariate shift as `ind` where these are the question. In failure detection it is positive if it
is classified correctly; OOD images never are. Scores are higher = more OOD.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from submission.detection import auroc, detection_error, fpr

FloatArray = NDArray[np.float64]
REJECTED = 0.8
"""The share of OOD images that are rejected where rejected correct images are counted."""


@dataclass(frozen=True)
class Groups:
    """Scores of three groups of images: IND and classified correctly, IND and wrongly, OOD.

    Any of them may be empty; what then has no value is nan.
    """

    correct: FloatArray
    wrong: FloatArray
    ood: FloatArray

    @classmethod
    def of(cls, ind: ArrayLike, correct: ArrayLike, ood: ArrayLike) -> "Groups":
        """From the scores of IND images (n,), whether each is classified correctly (n,), and OOD scores (m,).

        Raises:
            ValueError: `correct` does not tell it of each of `ind`.
        """
        scores, right = np.asarray(ind, np.float64), np.asarray(correct, bool)
        if scores.ndim != 1 or right.shape != scores.shape:
            raise ValueError(
                f"ind and correct must have one shape (n,), got {scores.shape} and {right.shape}"
            )
        return cls(scores[right], scores[~right], np.asarray(ood, np.float64))

    @property
    def accuracy(self) -> float:
        """The share of IND images that is classified correctly."""
        return _ratio(len(self.correct), len(self.correct) + len(self.wrong))

    @property
    def new_class(self) -> float:
        """AUROC of new-class detection: all IND images against OOD."""
        return _auroc(np.concatenate([self.correct, self.wrong]), self.ood)

    @property
    def failure(self) -> float:
        """AUROC of failure detection: correct images against wrong and OOD ones.

        IND images weigh 1 / n and OOD images 1 / m, so that both count alike however many there are.
        """
        n, m = len(self.correct) + len(self.wrong), len(self.ood)
        failures = np.concatenate([self.wrong, self.ood])
        if not len(self.correct) or not len(failures):
            return math.nan
        weights = np.repeat([1 / n, 1 / max(m, 1)], [len(self.wrong), m])
        return auroc(self.correct, failures, (np.ones(len(self.correct)), weights))

    @property
    def correct_ood(self) -> float:
        """AUROC of correct IND against OOD images."""
        return _auroc(self.correct, self.ood)

    @property
    def wrong_ood(self) -> float:
        """AUROC of wrong IND against OOD images.

        ``accuracy * correct_ood + (1 - accuracy) * wrong_ood`` is `new_class` (the paper's eq. 2).
        """
        return _auroc(self.wrong, self.ood)

    @property
    def correct_wrong(self) -> float:
        """AUROC of misclassification detection: correct against wrong IND images."""
        return _auroc(self.correct, self.wrong)

    @property
    def misclassification(self) -> tuple[float, float, float]:
        """FPR@95, detection error and AUROC of correct against wrong IND images.

        As in table VII of Recalcati et al. (DSAA 2023).
        """
        if not len(self.correct) or not len(self.wrong):
            return math.nan, math.nan, math.nan
        return fpr(self.correct, self.wrong), detection_error(self.correct, self.wrong), self.correct_wrong

    @property
    def rejected_correct(self) -> float:
        """The share of correct IND images past the threshold that rejects 80 % of the OOD images.

        In the manner of the paper's table 2, which shows how many correct images under covariate shift go
        with a fixed share of OOD images; its numbers fit a share of about 80 %.
        """
        if not len(self.correct) or not len(self.ood):
            return math.nan
        return fpr(self.correct, self.ood, REJECTED, positive="ood")


def _auroc(ind: FloatArray, ood: FloatArray) -> float:
    return auroc(ind, ood) if len(ind) and len(ood) else math.nan


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
