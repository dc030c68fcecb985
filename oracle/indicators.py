"""The six indicators of SYP (Chen, Zhang & Song, CVPR workshops 2023): one row an image."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.atc import atc_threshold, confidence_log_odds
from baselines.entropy import entropies
from baselines.fd import fd
from starter.observation import Observation, Source

INDICATORS = ("entropy", "atc", "fd", "variance", "image_entropy", "laplacian")
"""Columns of the table, SYP eq. 12: softmax entropy (eq. 2), ATC (eq. 3), the set's FD (eq. 7), pixel
variance (eq. 8), pixel entropy (eq. 9), variance of the Laplacian (eq. 11)."""
NEEDS = ("moments", "image_stats")
_FD = INDICATORS.index("fd")


def indicator_table(observation: Observation, source: Source) -> NDArray[np.float32]:
    """The raw indicators, float32 (n, 6), columns as in INDICATORS."""
    assert observation.image_stats is not None
    n = len(observation)
    above = confidence_log_odds(observation) > atc_threshold(source)
    columns = [entropies(observation), above, np.full(n, fd(observation, source)), *observation.image_stats.T]
    return np.column_stack(columns).astype(np.float32)


@dataclass(frozen=True)
class Normalisation:
    """Min-max scaling to [0, 1]: every column by the set's own range, FD by the meta-train's (eqs. 17-18).

    A column without range becomes 0; FD outside the meta-train range is clamped to it.
    """

    fd_low: float
    fd_high: float

    @classmethod
    def of(cls, tables: list[NDArray[np.float32]]) -> "Normalisation":
        """The FD range of the meta-train tables."""
        distances = [float(table[0, _FD]) for table in tables]
        return cls(min(distances), max(distances))

    def __call__(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """The table (n, 6) scaled to [0, 1], float32."""
        low, high = table.min(axis=0), table.max(axis=0)
        low[_FD], high[_FD] = self.fd_low, self.fd_high
        span = high - low
        scaled = (table - low) / np.where(span > 0, span, 1)
        return np.clip(np.where(span > 0, scaled, 0), 0, 1).astype(np.float32)
