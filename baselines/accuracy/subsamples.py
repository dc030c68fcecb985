"""Subsamples of one size, for indicators whose value depends on the number of images."""

from math import ceil

import numpy as np

from starter.observing.observation import Observation

COMMON = 100
"""Number of images in a subsample, about that of the smallest useful sets."""


def subsamples(observation: Observation) -> list[Observation]:
    """Returns the set divided at random into ceil(n / COMMON) sets of `COMMON` images; smaller ones whole.

    The last is completed with images of the first; the order of the images does not matter.
    """
    n = len(observation)
    if n <= COMMON:
        return [observation]
    order = np.lexsort(observation.logits.T)
    drawn = np.random.default_rng(0).permutation(order)
    return [observation.take(rows) for rows in np.resize(drawn, (ceil(n / COMMON), COMMON))]
