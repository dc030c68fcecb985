"""COT and COTT, (thresholded) confidence optimal transport; COTT also with the set's own class prior.

Paper: Lu et al., "Characterizing Out-of-Distribution Error via Optimal Transport", NeurIPS 2023, arXiv
2305.15640. Code: github.com/luyuzhe111/COT.
"""

import math

import numpy as np

from baselines.accuracy.priors import UnderPrior
from starter.observing.observation import Observation, Source, once
from starter.observing.temperature import softmax, temperature
from submission.arrays import FloatArray, IntArray

MANY = 2000
"""Number of rows per class that are planned without a part of them before."""
LAST_PLAN = f"{__name__}.last_plan"
"""Key of the last plan among the values that a source has computed."""
PARTS = 10_000
"""Number of units into which the mass of a class prior is divided for the transport."""


def cot(target: Observation, source: Source) -> float:
    """1 - cost of the optimal transport from the softmax to the source's labels (Lu et al. 2023).

    Returns 1 - W / 2, an accuracy in [0, 1]. W is the 1-Wasserstein distance, with L1 cost, between the set's
    softmax outputs p (n, k), at the source's temperature, and the source's one-hot labels. Moving an image to
    class c costs |p - e_c|_1 = 2 (1 - p_c), so W is the cost of an optimal transport from n images to k
    classes, which is solved exactly. W / 2 estimates the error.
    """
    cost, mass = transport(target, source)
    return float(1 - cost @ mass)


@once
def cott_threshold(source: Source) -> float:
    """Returns the cost up to which the source images' share is the source's accuracy; -inf if that is 0."""
    cost, mass = transport(source.observation, source)
    order = np.argsort(cost)
    right = int(source.correct.sum())
    images = np.rint(np.cumsum(mass[order]) * len(source.labels)).astype(int)
    return float(cost[order][np.searchsorted(images, right)]) if right else -math.inf


def cott(target: Observation, source: Source) -> float:
    """Share of images below the transport-cost threshold of the source (Lu et al. 2023).

    Returns the share of the set that is transported at a cost of at most `cott_threshold`. The threshold
    (COTT-MC in the paper) is chosen for transport costs as ATC's is for confidences. If several plans are
    optimal, the values of the logits alone decide between them.
    """
    cost, mass = transport(target, source)
    return float(mass[cost <= cott_threshold(source)].sum())


def transport(observation: Observation, source: Source) -> tuple[FloatArray, FloatArray]:
    """Returns the halved cost 1 - p_c and the mass of each pair (image, class) in the optimal plan, (m,).

    The masses sum to 1. The logits are divided by the source's temperature. The source remembers the last
    plan, which COT and COTT both read.
    """
    planned, *plan = source.computed.get(LAST_PLAN, (None,))
    if planned is not observation.logits:
        classes = np.bincount(source.labels, minlength=observation.logits.shape[1])
        _, *plan = transport_to(classes, observation, temperature(source))
        source.computed[LAST_PLAN] = (observation.logits, *plan)
    cost, mass = plan
    return cost, mass


def transport_to(
    counts: IntArray, observation: Observation, t: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Returns class, halved cost and mass of each pair of image and class in the optimal plan, (p,) each."""
    rows = softmax(observation.logits, 1 / t)
    rows = rows[np.argsort(rows[:, 0])]
    images = np.ones(len(rows), dtype=np.int64)
    if not (np.diff(rows[:, 0]) > 0).all():  # to sort whole rows takes ten times as long
        rows, images = np.unique(rows, axis=0, return_counts=True)
    plan = optimal_plan(rows, images, counts)
    classes, images = np.nonzero(plan.T)
    mass = plan[images, classes]
    return classes, 1 - rows[images, classes], mass / mass.sum()


def optimal_plan(gain: FloatArray, supply: IntArray, demand: IntArray) -> IntArray:
    """Returns the plan, int64 (m, k) >= 0, with the largest sum of gain * plan; masses are int64.

    Of more rows than `MANY` per column, every fourth (before it every sixteenth, ...) is planned first: its
    prices at the end are near those of all rows, which then seldom move. The plan's rows sum to supply (m,) *
    sum(demand) / g, its columns to demand (k,) * sum(supply) / g; g is the two sums' greatest common divisor.
    """
    from baselines.accuracy.transport import augmented_plan  # Numba is slow to import

    price = np.zeros(len(demand))
    steps = [1]
    while len(gain) > steps[-1] * MANY * len(demand):
        steps.append(4 * steps[-1])
    for step in reversed(steps):
        part = supply[::step]
        divisor = math.gcd(int(part.sum()), int(demand.sum()))
        masses = part * (demand.sum() // divisor), demand * (part.sum() // divisor)
        plan = augmented_plan(np.ascontiguousarray(gain[::step]), *masses, price)
    return plan


class CottPrior(UnderPrior):
    """The share of `cott` with the set's own class prior, by EM, BBSE or EM on the referee's probabilities.

    Temperature and threshold are those of `cott`, from the source under its own prior.
    """

    def _predict(self, observation: Observation) -> float:
        t, threshold = temperature(self.source_), cott_threshold(self.source_)
        return float(right_of_class(self.prior_of(observation), observation, t, threshold).sum())


def right_of_class(q: FloatArray, observation: Observation, t: float, threshold: float) -> FloatArray:
    """Returns the mass (k,) that counts as right in each class under the prior q (k,): COTT's estimate."""
    classes, cost, mass = transport_to(np.rint(PARTS * q).astype(np.int64), observation, t)
    right = mass * (cost <= threshold)
    return np.bincount(classes, weights=right, minlength=len(q)).astype(np.float64)
