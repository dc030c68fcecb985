"""Subsamples of one size, for indicators whose value depends on the number of images."""

from math import ceil

import numpy as np

from starter.observing.observation import Observation

COMMON = 100
"""Number of images in a subsample, about that of the smallest useful sets."""


def subsamples(observation: Observation) -> list[Observation]:
    """Returns the set divided at random into sets of `COMMON` images.

    A set with at most so many images is returned unchanged. There are ceil(n / COMMON) subsamples, so that
    every image is in one; the last is completed with images of the first. The division is the same on every
    call and does not depend on the order of the images.
    """
    n = len(observation)
    if n <= COMMON:
        return [observation]
    order = np.lexsort(observation.logits.T)
    drawn = np.random.default_rng(0).permutation(order)
    return [observation.take(rows) for rows in np.resize(drawn, (ceil(n / COMMON), COMMON))]
