"""The indicators of every image of the meta-train sets in one float32 table."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from oracle.indicators import indicator_table
from oracle.normalisation import Normalisation
from starter.observing.observation import MetaTrain


@dataclass(frozen=True)
class ImageTable:
    """What an oracle learns from.

    Attributes:
        rows: the normalised indicators of all images, set after set, float32 (n, p).
        correct: whether the classifier is right, bool (n,).
        accuracy, sizes: of each of the m sets, float64 (m,), and how many images it has, int64 (m,).
        normalisation: that the rows went through.
    """

    rows: NDArray[np.float32]
    correct: NDArray[np.bool_]
    accuracy: NDArray[np.floating]
    sizes: NDArray[np.int64]
    normalisation: Normalisation

    @classmethod
    def of(cls, meta: MetaTrain, names: tuple[str, ...], kind: str) -> "ImageTable":
        """Measure the meta-train sets, one at a time; nothing but the table itself grows with them.

        Raises:
            UnusableInput: `kind` is no kind of normalisation.
        """
        sizes = np.array([len(correct) for correct in meta.correct])
        ends = np.cumsum([0, *sizes])
        rows = np.empty((ends[-1], len(names)), np.float32)
        parts = [rows[start:stop] for start, stop in pairwise(ends)]
        for part, observation in zip(parts, meta.sets, strict=True):
            part[:] = indicator_table(observation, meta.source, names)
        normalisation = Normalisation.of(kind, names, parts)
        for part in parts:
            normalisation.apply(part)
        return cls(rows, np.concatenate(meta.correct), meta.targets, sizes, normalisation)
