"""Distance of a set from the labelled data: from parts of the labelled images, or from meta-train sets."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from baselines.accuracy.fd import frechet_distance
from baselines.contract.families import Fold
from baselines.contract.intervals import Remoteness
from starter.observing.observation import Moments, Observation, Source

PARTS = 8
"""Number of parts of the labelled images that are compared with the rest."""
USUAL = 0.9
"""Share of the parts within the usual distance."""


class Outside(Protocol):
    """A distance from labelled data: the labelled images (`Labelled`), or meta-train sets (`Remoteness`)."""

    def distance(self, observation: Observation) -> float:
        """Returns the distance of a set from the data, relative to the usual distance of a left-out part."""


class Labelled:
    """A distance from the labelled images, relative to that of parts of them as large as the set.

    A part has at most half of the images. Sets are compared by the mean softmax outputs and the mean
    confidence (`Remoteness`) and, if there are features, by their Fréchet distance; the larger ratio counts.
    At 1 or below, a set differs from the labelled images no more than parts of them do by chance. Large sets
    have small chance differences, so that a small shift gives a large ratio.

    Args:
        source: Labelled images, observed.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._usual: dict[int, tuple[Remoteness, float]] = {}

    def distance(self, observation: Observation) -> float:
        """Returns the distance of a set, divided by the distance within which nine of ten parts are."""
        n = min(len(observation), len(self.source.labels) // 2)
        if n not in self._usual:
            self._usual[n] = self._compared(n)
        remoteness, usual = self._usual[n]
        found = remoteness.distance(observation)
        if observation.features is None or usual == 0:  # features that are the same for all images
            return found
        rows = np.linspace(0, len(observation) - 1, n).astype(np.int64)
        return max(found, _frechet(self.source.observation, observation.take(rows)) / usual)

    def _compared(self, n: int) -> tuple[Remoteness, float]:
        """Returns the distances of parts of `n` images from the rest, and their usual Fréchet distance."""
        rng, seen = np.random.default_rng(0), self.source.observation
        orders = [rng.permutation(len(seen)) for _ in range(PARTS)]
        parts, rests = ([seen.take(order[each]) for order in orders] for each in (slice(n), slice(n, None)))
        first = 1 + np.arange(PARTS)
        folds = [Fold(f"part {i}", np.array([i + PARTS]), np.array([i])) for i in first]
        remoteness = Remoteness.of([seen, *parts, *rests], folds)
        classes, confidence = remoteness.known
        found = [1.0]
        if seen.features is not None:
            found = [_frechet(rest, part) for rest, part in zip(rests, parts, strict=True)]
        usual = float(np.quantile(found, USUAL))
        return replace(remoteness, known=(classes[:1], confidence[:1])), usual


def _frechet(known: Observation, seen: Observation) -> float:
    """Returns the squared Fréchet distance between the features of two observations."""
    assert known.features is not None
    assert seen.features is not None
    return frechet_distance(Moments.of(known.features), Moments.of(seen.features))
