"""Classes that look exchanged: labels in another order than the columns of the model's logits."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from submission.arrays import IntArray

FAR_BETTER = 3.0
"""Images that another order explains, for each image that the given order does."""
AGAINST = 0.2
"""Largest share of the classes in a cycle that the given order explains at least as well."""
MOST = 0.5
"""Smallest share of a cycle's images that another order explains."""
CHANCE = 0.01
"""Largest probability, in each half, that chance alone prefers another order as clearly in any cycle."""


def exchanged_classes(predicted: IntArray, labels: IntArray, classes: int) -> list[tuple[int, int]]:
    """Returns pairs of a label and the class that seems to be meant by it; none if the order seems right.

    Half of the images say which order explains the confusions best (an assignment on the confusion matrix),
    and the other half test each of its cycles; a pair counts if it is in such a cycle for either half.
    """
    order = np.argsort(labels, kind="stable")  # so that both halves have the same class shares
    halves = (order[::2], order[1::2])
    first, second = (_confusion(predicted[rows], labels[rows], classes) for rows in halves)
    return sorted(_supported(first, second) & _supported(second, first))


def _confusion(predicted: IntArray, labels: IntArray, classes: int) -> IntArray:
    """Returns the number of images (k, k) of each label (row) and predicted class (column)."""
    places = labels * classes + predicted
    return np.bincount(places, minlength=classes**2).reshape(classes, classes)


def _supported(searched: IntArray, tested: IntArray) -> set[tuple[int, int]]:
    """Returns the pairs in the cycles of the best order of one confusion matrix that the other supports."""
    labels, order = linear_sum_assignment(searched, maximize=True)
    cycle_of = connected_components(coo_array((labels + 1, (labels, order))))[1]
    cycles = [np.flatnonzero(cycle_of == each) for each in np.unique(cycle_of[order != labels])]
    pairs = set[tuple[int, int]]()
    for cycle in cycles:
        meant = order[cycle]
        given = tested[cycle, cycle]
        other = tested[cycle, meant]
        far_better = other.sum() >= max(FAR_BETTER * given.sum(), MOST * tested[cycle].sum())
        by_chance = len(cycles) * binom.sf(other.sum() - 1, other.sum() + given.sum(), 0.5)
        if far_better and by_chance <= CHANCE and (other <= given).mean() <= AGAINST:
            pairs |= set(zip(cycle.tolist(), meant.tolist(), strict=True))
    return pairs
