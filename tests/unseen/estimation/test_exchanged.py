"""Classes in another order than the model's, and 500 models whose classes are in order."""

import numpy as np
import pytest

from unseen.estimation.exchanged import exchanged_classes


def answers(images, classes, accuracy, rng):
    """Labels and predicted classes of a model whose classes differ in accuracy and have usual confusions."""
    labels = rng.choice(classes, size=images, p=rng.dirichlet(np.full(classes, 5.0)))
    usual = rng.integers(classes, size=(classes, 3))[labels, rng.integers(3, size=images)]
    other = rng.integers(classes, size=images)
    wrong = np.where(rng.random(images) < 0.5, usual, other)
    own = rng.beta(10 * accuracy, 10 * (1 - accuracy), size=classes)[labels]
    return labels, np.where(rng.random(images) < own, labels, wrong)


@pytest.mark.parametrize(
    ("images", "classes", "accuracy"), [(100, 2, 0.9), (600, 5, 0.74), (1000, 10, 0.92), (30_000, 1000, 0.7)]
)
def test_two_exchanged_classes_are_named(images, classes, accuracy):
    labels, predicted = answers(images, classes, accuracy, np.random.default_rng(0))
    given = np.array([1, 0, *range(2, classes)])[labels]
    assert exchanged_classes(predicted, given, classes) == [(0, 1), (1, 0)]


def test_folders_sorted_as_text_are_named():
    """Folder 10 is third: label 2 stands for class 10."""
    order = np.array(sorted(range(12), key=str))
    labels, predicted = answers(1200, 12, 0.9, np.random.default_rng(0))
    moved = {(i, int(meant)) for i, meant in enumerate(order) if i != meant}
    assert set(exchanged_classes(predicted, np.argsort(order)[labels], 12)) == moved


@pytest.mark.slow
def test_it_is_silent_about_200_models_whose_classes_are_in_order():
    rng = np.random.default_rng(0)
    for _ in range(200):
        images = int(rng.choice([60, 200, 600, 2000, 10_000]))
        classes = int(rng.choice([2, 3, 5, 10, 40, 100, 300, 1000]))
        labels, predicted = answers(images, classes, float(rng.choice([0.2, 0.3, 0.5, 0.7, 0.9])), rng)
        assert exchanged_classes(predicted, labels, classes) == []
