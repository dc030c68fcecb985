"""The accuracy of a set by labels of some of its images: a stratified estimate and its interval.

Labelled images are grouped in the order of the set, in which neighbours are alike, and the rate of right
predictions among a group's labels is the prediction for all of its images (prediction-powered inference:
Angelopoulos et al., Science 2023; by strata: Fisch et al., arXiv 2406.04291).
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import t as student

from submission.arrays import BoolArray, FloatArray, IntArray

GROUP = 5
"""Number of labelled images in a group of neighbours."""
PLAIN = 20
"""Number of labels that count as evidence against a gain by groups, which few labels can show by chance."""
APART = 1.5
"""Number of standard errors between labels and label-free estimate from which on its weight falls."""


def in_groups(right: BoolArray, ranks: IntArray, images: int) -> tuple[list[BoolArray], FloatArray]:
    """Returns labels (n,) in groups of neighbours, and the share of the images that each group stands for.

    A group has `GROUP` labels or a few more; limits lie midway between the labels of two groups.
    """
    rows = np.array_split(np.argsort(ranks), max(1, len(right) // GROUP))
    limits = [(ranks[one[-1]] + ranks[other[0]] + 1) / 2 for one, other in pairwise(rows)]
    return [right[each] for each in rows], np.diff([0, *limits, images]) / images


def worth_of(sizes: IntArray, rates: FloatArray, weights: FloatArray, images: int) -> float:
    """Returns the number of simple random labels of an endless set that tell as much as n in these groups.

    It is n over the finite population's correction 1 - n / N and over the share of the variance that groups
    leave (Cochran, Sampling Techniques, 1977). That share is averaged with 1, which counts as `PLAIN` labels:
    this shrinking is the kit's own. Where all labels are right or all wrong, the share is 1.
    """
    n = int(sizes.sum())
    share = 1.0
    if rates.min() < 1 and rates.max() > 0:
        mean = float(weights @ rates)
        whole = mean * (1 - mean) * n / max(n - 1, 1)
        within = rates * (1 - rates) * sizes / np.maximum(sizes - 1, 1)
        left = min(float(weights @ within) / whole, 1)
        share = (n * left + PLAIN) / (n + PLAIN)
    return n / (share * (1 - n / images))


def agresti_coull(rate: float, n: float, z: float) -> tuple[float, float]:
    """Returns the centre and half the length of the interval for a rate of n trials, z deviations wide.

    Agresti & Coull, The American Statistician 1998: z^2 / 2 successes and z^2 / 2 failures are added.
    """
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    return centre, z * math.sqrt(centre * (1 - centre) / (n + z**2))


@dataclass(frozen=True)
class ByLabels:
    """The accuracy of a set by its labels alone, its interval, and its standard error, 0 if all are known."""

    accuracy: float
    low: float
    high: float
    error: float

    @classmethod
    def of(cls, right: BoolArray, ranks: IntArray, images: int, level: float) -> "ByLabels":
        """Returns the estimate from images (n,) that the model has right or wrong, at these ranks of the set.

        The interval is that of Agresti and Coull for as many trials as the labels are worth, with Student's t
        of as many degrees of freedom as labels exceed groups. Its ends are rounded outwards to whole numbers
        of images, and no label contradicts them.
        """
        n = len(right)
        hits = int(right.sum())
        if n == images:
            return cls(accuracy=hits / n, low=hits / n, high=hits / n, error=0.0)
        groups, weights = in_groups(right, ranks, images)
        rates = np.array([each.mean() for each in groups])
        mean = float(weights @ rates)
        worth = worth_of(np.array([len(each) for each in groups]), rates, weights, images)
        z = student.ppf((1 + level) / 2, max(n - len(groups), 1))
        centre, reach = agresti_coull(mean, worth, z)
        low = max(math.floor(images * (centre - reach)), hits) / images
        high = min(math.ceil(images * (centre + reach)), hits + images - n) / images
        accuracy = min(max(mean, low), high)
        return cls(accuracy=accuracy, low=low, high=high, error=reach / z)

    def shrunk(self, estimate: float, error: float) -> float:
        """Returns the accuracy by labels and by a label-free estimate with this standard error.

        Each counts by the other's variance. Where the two lie further apart than APART standard errors, the
        error of the label-free one is raised until they do not, so that labels win an argument; the result
        lies in the interval. The rule is the kit's own.
        """
        if self.error == 0:
            return self.accuracy
        gap = estimate - self.accuracy
        own = self.error**2
        other = max(error**2, (gap / APART) ** 2 - own)
        moved = self.accuracy + gap * own / (own + other)
        return min(max(moved, self.low), self.high)
