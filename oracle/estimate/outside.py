"""How far a set lies outside of what was seen with labels: of parts of these, or of sets made of them."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from baselines.accuracy.fd import frechet_distance
from baselines.contract.families import Fold
from baselines.contract.intervals import Remoteness
from starter.observing.observation import Moments, Observation, Source

PARTS = 8
"""Parts of the labelled images that are compared with the rest."""
USUAL = 0.9
"""The share of them that are at a usual distance."""


class Outside(Protocol):
    """What was seen: the labelled images (`Labelled`), or meta-train sets made of them (`Remoteness`)."""

    def distance(self, observation: Observation) -> float:
        """Returns how many times as far away a set lies as left-out parts of what has been seen do."""


class Labelled:
    """The labelled images: a set is compared with parts of them that are as large, or half of all.

    By the mean of the softmax outputs and of their maxima (`Remoteness`), and by the Frechet distance of the
    features, where there are any. At 1 or below a set differs no more than chance has the labelled images
    differ from each other; of many images a small shift lies far.

    Args:
        source: the labelled images.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._usual: dict[int, tuple[Remoteness, float]] = {}

    def distance(self, observation: Observation) -> float:
        """Returns how many times as far from them a set lies as nine of ten parts lie from the rest."""
        n = min(len(observation), len(self.source.labels) // 2)
        if n not in self._usual:
            self._usual[n] = self._compared(n)
        remoteness, usual = self._usual[n]
        found = remoteness.distance(observation)
        if observation.features is None:
            return found
        rows = np.linspace(0, len(observation) - 1, n).astype(np.int64)
        return max(found, _frechet(self.source.observation, observation.take(rows)) / usual)

    def _compared(self, n: int) -> tuple[Remoteness, float]:
        """Returns how far parts of `n` images lie from the rest, and how far their features do."""
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
    """Returns the Frechet distance of their features."""
    assert known.features is not None
    assert seen.features is not None
    return frechet_distance(Moments.of(known.features), Moments.of(seen.features))
