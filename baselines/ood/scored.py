"""Access to the scores of a mix and of the in-distribution reference, for methods of the OOD track."""

from functools import wraps

import numpy as np

from baselines.contract.estimator import Indicator
from starter.observing.observation import ScoredMix, Source
from submission.arrays import FloatArray
from submission.errors import UnusableInput


def reference_scores(source: Source) -> FloatArray:
    """Returns the scores of the in-distribution reference in ascending order, float64 (r,)."""
    if source.scores is None:
        raise UnusableInput(
            "this method is of the OOD track (--track ood): it reads an OOD detector's scores"
        )
    return np.sort(source.scores)


def of_observation(indicator: Indicator) -> Indicator:
    """Returns an indicator of mixes that applies `indicator` to the classifier's observation of a mix."""

    @wraps(indicator)
    def measured(mix: ScoredMix, source: Source) -> float:
        return indicator(mix.observation, source)

    return measured
