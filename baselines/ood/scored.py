"""Access to the scores of a mix and of the in-distribution reference, for methods of the OOD track."""

from functools import wraps

import numpy as np
from numpy.typing import NDArray

from baselines.contract.estimator import Indicator
from starter.observing.observation import Observation, ScoredMix, Source
from submission.errors import UnusableInput

WRONG_TRACK = (
    "this method is of the OOD track (--track ood): it reads an OOD detector's scores, which {} has none of"
)


def scored_mix(seen: Observation | ScoredMix) -> ScoredMix:
    """Returns the mix.

    Raises:
        UnusableInput: `seen` is an observation of the accuracy track.
    """
    if not isinstance(seen, ScoredMix):
        raise UnusableInput(WRONG_TRACK.format(f"set {seen.set_name!r}"))
    return seen


def mix_scores(seen: Observation | ScoredMix) -> NDArray[np.float64]:
    """Returns the scores of a mix, float64 (n,), in the order of its images.

    Raises:
        UnusableInput: `seen` is an observation of the accuracy track.
    """
    return np.asarray(scored_mix(seen).scores, np.float64)


def reference_scores(source: Source) -> NDArray[np.float64]:
    """Returns the scores of the in-distribution reference in ascending order, float64 (r,).

    Raises:
        UnusableInput: the source is of the accuracy track.
    """
    if source.scores is None:
        raise UnusableInput(WRONG_TRACK.format("the source"))
    return np.sort(source.scores)


def of_observation(indicator: Indicator) -> Indicator:
    """Returns an indicator of mixes that applies `indicator` to the classifier's observation of a mix."""

    @wraps(indicator)
    def measured(mix: ScoredMix, source: Source) -> float:
        return indicator(scored_mix(mix).observation, source)

    return measured
