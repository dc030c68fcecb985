"""The class of each image, out of labels as loaders and tables give them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from submission.errors import UnusableInput


def class_labels(labels: NDArray[Any], outputs: int) -> NDArray[Any]:
    """Returns labels (n,) of labels (n,), (n, 1) or one-hot (n, k), for a model with so many outputs.

    Raises:
        UnusableInput: the labels name several classes of an image, or are quantities.
    """
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind not in "biuf":
        return labels
    known = labels[np.isfinite(labels)]
    fractions = known[known != np.rint(known)]
    problem = ""
    if labels.ndim > 1:
        if labels.ndim == 2 and np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all():
            return labels.argmax(axis=1)
        problem = f"labels {labels.shape} give an image several, or shares of them"
    elif len(fractions) or (outputs == 1 and len(np.unique(known)) > 2):
        problem = f"labels such as {np.append(fractions, known)[0]:g} are quantities, not classes"
    if problem:
        raise UnusableInput(f"the kit estimates the accuracy of classes: {problem}; give one class an image")
    return labels
