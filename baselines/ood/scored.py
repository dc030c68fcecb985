"""Access to the scores of a mix and of the in-distribution reference, for methods of the OOD track."""

import numpy as np

from starter.observing.observation import Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput


def reference_scores(source: Source) -> FloatArray:
    """Returns the scores of the in-distribution reference in ascending order, float64 (r,)."""
    if source.scores is None:
        raise UnusableInput(
            "this method is of the OOD track (--track ood): it reads an OOD detector's scores"
        )
    return np.sort(source.scores)
