"""What every method of the OOD track reads: a mix's scores and those of the in-distribution reference."""

import numpy as np
from numpy.typing import NDArray

from starter.observing.observation import Observation, ScoredMix, ScoredSource, Source
from submission.errors import UnusableInput

WRONG_TRACK = "this method is of the OOD track: it reads an OOD detector's scores, which {} has none of"


def scored_mix(observation: Observation) -> ScoredMix:
    """The observation as a scored mix. Raises UnusableInput if it is of the accuracy track."""
    if not isinstance(observation, ScoredMix):
        raise UnusableInput(WRONG_TRACK.format(f"set {observation.set_name!r}"))
    return observation


def mix_scores(observation: Observation) -> NDArray[np.float64]:
    """The scores of a scored mix, float64 (n,), in the order of its images."""
    return np.asarray(scored_mix(observation).scores, np.float64)


def reference_scores(source: Source) -> NDArray[np.float64]:
    """The scores of the in-distribution reference in ascending order, float64 (r,).

    Raises:
        UnusableInput: the source is of the accuracy track.
    """
    if not isinstance(source, ScoredSource):
        raise UnusableInput(WRONG_TRACK.format("the source"))
    return np.sort(source.scores)
