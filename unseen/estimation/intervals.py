"""The interval of an estimate from logits: constants that hold over families of shifts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from submission.arrays import FloatArray

POWER = 6
"""How sharply the weight turns towards COTT under the source's prior."""


class Constants(NamedTuple):
    """Numbers that minimise the interval score over families of shifts (decision 0107).

    Attributes:
        turn: Distance at which COTT under the source's prior has half of the weight.
        floor: Standard deviation of the error, a fraction, where nothing else tells of one.
        apart: Factor of the distance of the confidences.
        turning: Factor of the gap between the two readings, where both have half of the weight.
        moved: Factor of the distance of the features.
    """

    turn: float
    floor: float
    apart: float
    turning: float
    moved: float


CONSTANTS = Constants(turn=0.56, floor=0.004, apart=0.16, turning=0.46, moved=0.07)
WITH_META_TRAIN = CONSTANTS._replace(apart=0.08)
"""Those of an estimate that has learnt from meta-train sets, whose errors are half as large."""


class Signs(NamedTuple):
    """What the interval of a set is made of; all are fractions but the distances.

    Attributes:
        mean: Mean of the methods that read the set as one with other class shares.
        gap: How far below this COTT under the source's prior lies, at least 0.
        spread: Standard deviation between the methods.
        sampling: Standard deviation of both accuracies by the numbers of images.
        distance, moved: Distances of confidences and features (`Shift`).
    """

    mean: float
    gap: float
    spread: float
    sampling: float
    distance: float
    moved: float


def judged(signs: Signs, constants: Constants = CONSTANTS) -> tuple[FloatArray, FloatArray]:
    """Returns the estimate and the standard deviation of its error; of arrays in `signs`, elementwise.

    Where only class shares have shifted, the methods' mean holds, and COTT under the source's prior is far
    too low. Where labelled images with the set's class shares do not explain its confidences, COTT is nearer:
    it does not take a collapse of the classifier for few classes. Without a shift both are nearly equal.
    """
    weight = 1 - 1 / (1 + (np.asarray(signs.distance) / constants.turn) ** POWER)
    turning = 2 * np.sqrt(weight * (1 - weight)) * signs.gap
    parts: list[Any] = [signs.sampling, signs.spread, constants.floor, constants.apart * signs.distance]
    parts += [constants.turning * turning, constants.moved * signs.moved]
    return signs.mean - weight * signs.gap, np.sqrt(np.square(np.broadcast_arrays(*parts)).sum(axis=0))


def interval(
    readings: Sequence[Signs], level: float, constants: Constants = CONSTANTS
) -> tuple[float, float, float]:
    """Returns estimate, low and high of a set: the mean of its readings, and the range that spans all."""
    middle, error = judged(Signs(*np.array(readings).T), constants)
    reach = norm.ppf((1 + level) / 2) * error
    low, high = np.clip([(middle - reach).min(), (middle + reach).max()], 0, 1).tolist()
    return float(middle.mean()), low, high
