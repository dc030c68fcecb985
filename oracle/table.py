"""The table of the indicators of every image of the meta-train sets, and their scaling to [0, 1].

For the scaling see SYP, eqs. 17-18 and table 5.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from oracle.indicators import INDICATORS, indicator_table
from starter.observing.observation import MetaTrain
from submission.arrays import FloatArray
from submission.errors import UnusableInput

KINDS = ("set", "global", "none")
POOLED = "pooled"


@dataclass(frozen=True)
class Normalisation:
    """Min-max scaling; values outside the range are clipped to it, and a column without range becomes 0.

    Attributes:
        kind: "set" scales by the set's own range (as in the paper), "global" by the range of all meta-train
            images, and "none" does not scale; "pooled" (as in the released code) scales the meta-train sets
            as "global" and others as "set". An indicator that all images of a set share, such as FD, is
            always scaled by the range over the meta-train sets, except with "none".
        shared: True for columns whose value all images of a set share, bool (p,).
        low, high: Range of each column over the meta-train sets, float32 (p,).
    """

    kind: str
    shared: NDArray[np.bool_]
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, kind: str, names: Iterable[str], tables: Iterable[FloatArray]) -> "Normalisation":
        """Returns the normalisation by the ranges of the meta-train sets' raw tables (n, p).

        Args:
            kind: Kind of normalisation.
            names: Names of the p indicators.
            tables: Tables of the meta-train sets, read one by one.
        """
        if kind not in (*KINDS, POOLED):
            raise UnusableInput(f"normalisation must be {', '.join(KINDS)}, got {kind!r}")
        ends = np.array([(table.min(axis=0), table.max(axis=0)) for table in tables])
        shared = np.array([INDICATORS[name].of_set for name in names])
        return cls(kind, shared, ends[:, 0].min(axis=0), ends[:, 1].max(axis=0))

    def apply(self, table: FloatArray, learnt: bool = False) -> FloatArray:
        """Scale a set's table (n, p) in place, and return it.

        Args:
            table: Raw indicators (n, p).
            learnt: True if the set is one of the meta-train sets.
        """
        if self.kind == "none":
            return table
        low, high = self.low, self.high
        if self.kind == "set" or (self.kind == POOLED and not learnt):
            low = np.where(self.shared, low, table.min(axis=0))
            high = np.where(self.shared, high, table.max(axis=0))
        span = high - low
        table -= low
        table /= np.where(span > 0, span, 1)
        table[:, span <= 0] = 0
        return np.clip(table, 0, 1, out=table)


@dataclass(frozen=True)
class ImageTable:
    """The training data of an oracle.

    Attributes:
        rows: Normalised indicators of all images, set after set, float32 (n, p).
        correct: True for images that are classified correctly, bool (n,).
        accuracy: Accuracy of each of the m sets, float64 (m,).
        sizes: Number of images of each set, int64 (m,).
        normalisation: Normalisation of the rows.
    """

    rows: NDArray[np.float32]
    correct: NDArray[np.bool_]
    accuracy: NDArray[np.floating]
    sizes: NDArray[np.int64]
    normalisation: Normalisation

    @classmethod
    def of(cls, meta: MetaTrain, names: tuple[str, ...], kind: str) -> "ImageTable":
        """Returns the table of the meta-train sets, which are measured one at a time to save memory."""
        sizes = np.array([len(correct) for correct in meta.correct])
        ends = np.cumsum([0, *sizes])
        rows = np.empty((ends[-1], len(names)), np.float32)
        parts = [rows[start:stop] for start, stop in pairwise(ends)]
        for part, observation in zip(parts, meta.sets, strict=True):
            part[:] = indicator_table(observation, meta.source, names)
        normalisation = Normalisation.of(kind, names, parts)
        for part in parts:
            normalisation.apply(part, learnt=True)
        return cls(rows, np.concatenate(meta.correct), meta.targets, sizes, normalisation)
