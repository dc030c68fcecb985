"""What unseen-best knows of single images: trees on rich indicators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle.ora_l import grow, read_trees
from submission.arrays import FloatArray

if TYPE_CHECKING:
    from lightgbm import Booster

RATE = 0.1


@dataclass(frozen=True)
class Judge:
    """Trees that tell from an image's indicators whether the classifier is right about it."""

    forest: "Booster"

    @classmethod
    def of(
        cls,
        tables: Sequence[FloatArray],
        correct: Sequence[NDArray[np.bool_]],
        trees: int,
        leaves: int,
        most: int,
        seed: int,
    ) -> "Judge":
        """Learn from labelled sets which images are right.

        Args:
            tables, correct: each set's indicators (n_i, p), and whether the classifier is right, bool (n_i,).
            trees, leaves: how many trees, of how many leaves at most.
            most: at most so many images are learnt from.
            seed: of everything that is drawn.
        """
        rows, truth = _drawn(tables, correct, most, seed)
        return cls(grow(rows, truth.astype(np.float32), trees, leaves, RATE, seed))

    def probabilities(self, table: FloatArray) -> NDArray[np.float64]:
        """The probability that each image is classified correctly, (n,), from its indicators (n, p)."""
        return np.asarray(self.forest.predict(table))

    def state(self) -> str:
        """What was learnt, as text."""
        return self.forest.model_to_string()

    @classmethod
    def restore(cls, state: str) -> "Judge":
        """What `state` gave, as it was."""
        return cls(read_trees(state))


def _drawn(
    tables: Sequence[FloatArray], correct: Sequence[NDArray[np.bool_]], most: int, seed: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """At most so many images of all sets: their rows, and whether the classifier is right about them."""
    truth = np.concatenate(correct)
    if len(truth) <= most:
        return np.concatenate(tables), truth
    drawn = np.sort(np.random.default_rng(seed).permutation(len(truth))[:most])
    starts = np.cumsum([0, *map(len, tables[:-1])])
    parts = np.split(drawn, np.searchsorted(drawn, starts[1:]))
    rows = [table[part - start] for table, part, start in zip(tables, parts, starts, strict=True)]
    return np.concatenate(rows), truth[drawn]
