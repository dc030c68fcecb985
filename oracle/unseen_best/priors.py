"""Class priors: an estimate for unlabelled sets that tells skewed classes from a collapsed classifier, and
copies of labelled sets with other priors.
"""

import numpy as np

from submission.arrays import FloatArray, IntArray

HALVINGS = 60


def nearest_prior(least: FloatArray, reference: FloatArray) -> FloatArray:
    """The class prior (k,) nearest to `reference` (k,) in which no class has less than `least` (k,).

    It is max(least, level x reference), with the level at which it sums to 1. A classifier that corruption
    makes predict one class everywhere is not sure about the most of it, so that little is known at least and
    the reference stays; a set that really shows few classes leaves no room for the others. Where `least` sums
    to 1 or more, it is all that counts.
    """
    if least.sum() >= 1:
        return least / least.sum()
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        level = (low + high) / 2
        low, high = (low, level) if np.maximum(least, level * reference).sum() > 1 else (level, high)
    prior = np.maximum(least, high * reference)
    return prior / prior.sum()


def sure(predicted: IntArray, probabilities: FloatArray, level: float, classes: int) -> FloatArray:
    """The share of images (k,) that are predicted as each class and right with a probability above `level`.

    Predictions and probabilities are (n,). At a level of 1 no image is sure.
    """
    return np.bincount(predicted[probabilities > level], minlength=classes) / len(predicted)


def few_classes(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows, half as many as `labels` (n,) has, of a copy with another class prior.

    One to all of the classes that occur are left, with shares that are uniform on the simplex; the images of
    a class are drawn with replacement.
    """
    _, members, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = rng.permutation(len(counts))[: rng.integers(1, len(counts), endpoint=True)]
    shares = np.zeros(len(counts))
    shares[kept] = rng.dirichlet(np.ones(len(kept)))
    chances = (shares / counts)[members]
    return rng.choice(len(labels), (len(labels) + 1) // 2, p=chances / chances.sum())
