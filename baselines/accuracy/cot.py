"""COT and COTT, (thresholded) confidence optimal transport (Lu et al., NeurIPS 2023)."""

import math

import numpy as np

from starter.observing.observation import Observation, Source
from starter.observing.once import once
from starter.observing.temperature import scaled_probabilities, temperature
from submission.arrays import FloatArray, IntArray


def cot(target: Observation, source: Source) -> float:
    """Returns 1 - W / 2, an accuracy in [0, 1].

    W is the 1-Wasserstein distance under L1 between label distributions.

    One is the source's one-hot labels, the other the set's softmax at the source's temperature, (n, k).
    Taking an image to vertex c costs |p - e_c|_1 = 2 (1 - p_c), so W is a transport from n points to k
    vertices; it is solved exactly. Half of it estimates the error.
    """
    cost, mass = transport(target, source)
    return float(1 - cost @ mass)


@once
def cott_threshold(source: Source) -> float:
    """Returns the cost that as many source images stay at or below as are classified right.

    It is -inf where none is.
    """
    cost, mass = transport(source.observation, source)
    order = np.argsort(cost)
    right = int(source.correct.sum())
    images = np.rint(np.cumsum(mass[order]) * len(source.labels)).astype(int)
    return float(cost[order][np.searchsorted(images, right)]) if right else -math.inf


def cott(target: Observation, source: Source) -> float:
    """Returns the share of the set transported at a cost of at most `cott_threshold`: an accuracy in [0, 1].

    The threshold, COTT-MC's, is to transport costs what ATC's is to confidence. Where several plans are
    optimal, one is chosen by the values of the logits alone.
    """
    cost, mass = transport(target, source)
    return float(mass[cost <= cott_threshold(source)].sum())


def transport(observation: Observation, source: Source) -> tuple[FloatArray, FloatArray]:
    """Returns halved cost 1 - p_c and mass of each (image, class) that the optimal plan uses.

    The masses sum to 1; the logits are divided by the source's temperature.
    """
    classes = np.bincount(source.labels, minlength=observation.logits.shape[1])
    return transport_to(classes, observation, temperature(source))


def transport_to(classes: IntArray, observation: Observation, t: float) -> tuple[FloatArray, FloatArray]:
    """Returns `transport` to the label distribution that has these counts, int64 (k,).

    Only their ratios matter.
    """
    rows, images = np.unique(scaled_probabilities(observation, t), axis=0, return_counts=True)
    plan = optimal_plan(rows, images, classes)
    used = plan > 0
    return 1 - rows[used], plan[used] / plan.sum()


def optimal_plan(gain: FloatArray, supply: IntArray, demand: IntArray) -> IntArray:
    """Returns the plan, int64 (m, k) >= 0, of the largest sum of gain * plan.

    Only the ratios of the masses count: the plan's rows sum to supply * sum(demand) / g and its columns to
    demand * sum(supply) / g, with g the greatest common divisor of the two sums.
    """
    from baselines.accuracy.transport import augmented_plan  # Numba is slow to import

    divisor = math.gcd(int(supply.sum()), int(demand.sum()))
    return augmented_plan(
        np.ascontiguousarray(gain, np.float64),
        supply * (demand.sum() // divisor),
        demand * (supply.sum() // divisor),
    )
