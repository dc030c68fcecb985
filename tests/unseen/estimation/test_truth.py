"""The class of each image, out of labels of several forms; several classes and quantities are refused."""

import numpy as np
import pytest

from submission.errors import UnusableInput
from unseen.estimation.truth import class_labels

LABELS = np.arange(60) % 4
SEVERAL = np.eye(4)[LABELS]
SEVERAL[7, :2] = 1


@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS.astype(np.float32), LABELS[:, None], np.eye(4)[LABELS], np.eye(4, dtype=bool)[LABELS]],
)
def test_each_form_gives_the_same_classes(labels):
    assert (class_labels(labels, 4) == LABELS).all()


@pytest.mark.parametrize(
    "labels", [np.array(["ant", "bee"]), np.array([0, 1.0, np.nan]), np.array([0, 1, 1])]
)
def test_names_and_missing_values_are_left_to_the_reader(labels):
    np.testing.assert_array_equal(class_labels(labels, 1), labels)


@pytest.mark.parametrize(
    ("labels", "outputs", "message"),
    [
        (SEVERAL, 4, r"labels \(60, 4\) give an image several"),
        (np.zeros((60, 4), int), 4, "several"),
        (np.full((60, 4), 0.25), 4, "shares of them"),
        (np.zeros((60, 4, 4), int), 4, "several"),
        (np.linspace(0, 9, 60) + 0.25, 1, "labels such as 0.25 are quantities"),
        (np.linspace(0, 9, 60) + 0.25, 3, "quantities"),
        (LABELS + 20, 1, "labels such as 20 are quantities"),
    ],
)
def test_several_classes_and_quantities_are_refused(labels, outputs, message):
    with pytest.raises(UnusableInput, match=f"the kit estimates the accuracy of classes: .*{message}"):
        class_labels(labels, outputs)
