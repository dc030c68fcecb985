"""Indicators of single images, SYP's six with their variants and others; their table, and its scaling.

Paper: Chen, Zhang & Song, "Scoring Your Prediction on Unseen Data", CVPR Workshops 2023; for the scaling its
eqs. 17-18 and table 5.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np

from baselines.accuracy.atc import atc_threshold, confidence_log_odds
from baselines.accuracy.entropy import entropies
from baselines.accuracy.fd import fd
from oracle.variant import is_repvgg
from starter.observing.observation import IMAGE_STATS, MetaTrain, Observation, Source
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.errors import UnusableInput

SIX = "entropy,atc,fd,variance,image_entropy,laplacian"
"""Names of the paper's indicators (eq. 12)."""
KINDS = ("set", "global", "none")
POOLED = "pooled"
"""Kinds of normalisation to choose from, and that of the released code."""
NEIGHBOURS = 10
"""k: `knn` is the distance to the k-th nearest training image."""
DISTANCES: dict[bytes, float] = {}
"""Frechet distances by the hash of the moments that they are between."""
SMALLEST = 1e-12
"""Smallest threshold on the entropy, in nats, that is used as a divisor."""


@dataclass(frozen=True)
class Indicator:
    """One number about each image of a set."""

    measure: Callable[[Observation, Source], FloatArray | float]  # (n,), or one value for all
    needs: tuple[str, ...] = ()  # fields of an Observation that it reads besides the logits
    of_set: bool = False  # all images of a set share the value, as for the Frechet distance
    of_network: bool = False  # it reads the classifier's normalisation or architecture


def atc_released(target: Observation, source: Source) -> FloatArray:
    """Returns the winner's form of ATC, (n,): entropy / t for a RepVGG, else t - entropy.

    A share of source images equal to the accuracy does not exceed t, in nats. After min-max scaling the
    latter equals 1 - entropy, so it adds no information to the entropy.
    """
    ordered = np.sort(entropies(source.observation))
    threshold = float(ordered[max(int(source.correct.sum()) - 1, 0)])
    if is_repvgg(source):
        return entropies(target) / max(threshold, SMALLEST)
    return threshold - entropies(target)


def laplacian_cast(target: Observation, source: Source) -> FloatArray:
    """Returns the variance of the Laplacian / 1e4 of the normalised image cast to uint8, (n,).

    The winner's code passes the tensor (3, h, w), channels first, to OpenCV, which reads it as an image of 3
    rows, h columns and w channels: the neighbours of a pixel are the other colours and the pixels above and
    below. The cast drops the decimals and wraps modulo 256, so that -1 becomes 255.
    """
    assert source.classifier is not None
    mean, std = (np.array(each, np.float32) for each in (source.classifier.mean, source.classifier.std))
    normalised = (target.images().astype(np.float32) / np.float32(255) - mean) / std
    cast = normalised.astype(np.int32).astype(np.uint8).astype(np.float64).transpose(0, 3, 1, 2)
    padded = np.pad(cast, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    around = padded[:, :-2, 1:-1] + padded[:, 2:, 1:-1] + padded[:, 1:-1, :-2] + padded[:, 1:-1, 2:]
    return (around - 4 * cast).var(axis=(1, 2, 3)) / 1e4


def distance(target: Observation, source: Source) -> float:
    """Returns `fd`, computed once in a process for the same moments: the fits of an ablation share it."""
    key = sha256()
    for moments in (target.moments, source.train_ref.moments):
        assert moments is not None
        key.update(repr(moments.n).encode() + moments.mean.tobytes() + moments.covariance.tobytes())
    if key.digest() not in DISTANCES:
        DISTANCES[key.digest()] = fd(target, source)
    return DISTANCES[key.digest()]


def knn(target: Observation, source: Source) -> FloatArray:
    """Returns the distance (n,) to the tenth nearest training image, L2-normalised (Sun et al. 2022)."""
    from starter.studies.shift.grid import kth_distance  # which imports torch

    known = source.train_ref.features
    assert known is not None
    assert target.features is not None
    return np.sqrt(2 * kth_distance(target.features, known, min(NEIGHBOURS, len(known))))


def _image_stat(name: str) -> Callable[[Observation, Source], FloatArray]:
    def read(target: Observation, source: Source) -> FloatArray:
        assert target.image_stats is not None
        return target.image_stats[:, IMAGE_STATS.index(name)]

    return read


INDICATORS: dict[str, Indicator] = {
    "entropy": Indicator(lambda target, _: entropies(target)),
    "atc": Indicator(lambda target, source: 1.0 * (confidence_log_odds(target) > atc_threshold(source))),
    "atc_released": Indicator(atc_released, of_network=True),
    "fd": Indicator(distance, ("moments",), of_set=True),
    "variance": Indicator(_image_stat("variance"), ("image_stats",)),
    "deviation": Indicator(lambda *seen: np.sqrt(_image_stat("variance")(*seen)), ("image_stats",)),
    "image_entropy": Indicator(_image_stat("entropy"), ("image_stats",)),
    "laplacian": Indicator(_image_stat("laplacian"), ("image_stats",)),
    "laplacian_cast": Indicator(laplacian_cast, of_network=True),
    "confidence": Indicator(lambda target, _: confidence_log_odds(target)),
    "knn": Indicator(knn, ("features",)),
}
"""The indicators by name.

SYP's are `entropy` (eq. 2), `atc` (eq. 3), `fd` (eq. 7), `variance` (eq. 8), `image_entropy` (eq. 9, read as
the mean of -x log x over pixels x, as in the winner's code) and `laplacian` (eq. 11). `atc_released`,
`deviation` and `laplacian_cast` come from the winner's code. `confidence` is in log-odds.
"""


def indicator_names(indicators: str) -> tuple[str, ...]:
    """Returns the names in a comma-separated list of indicators."""
    names = tuple(name.strip() for name in indicators.split(","))
    for name in names:
        if name not in INDICATORS:
            raise UnusableInput(f"there is no indicator {name!r}; choose from {', '.join(INDICATORS)}")
    return names


def indicator_table(observation: Observation, source: Source, names: tuple[str, ...]) -> FloatArray:
    """Returns the raw indicators, float32 (n, p), with a column for each of the p names."""
    table = np.empty((len(observation), len(names)), np.float32)
    for column, name in enumerate(names):
        table[:, column] = INDICATORS[name].measure(observation, source)
    return table


@dataclass(frozen=True)
class Normalisation:
    """Min-max scaling; values outside the range are clipped to it, and a column without range becomes 0.

    "set" scales by the set's own range (as in the paper), "global" by that of all meta-train images, "pooled"
    (the released code) the meta-train sets as "global", others as "set". What all images of a set share, such
    as FD, is scaled by the range over the meta-train sets, except with "none".
    """

    kind: str
    shared: BoolArray  # True for columns whose value all images of a set share, (p,)
    low: FloatArray  # range of each column over the meta-train sets, float32 (p,)
    high: FloatArray

    @classmethod
    def of(cls, kind: str, names: Iterable[str], tables: Iterable[FloatArray]) -> "Normalisation":
        """Returns the normalisation by the ranges of the meta-train sets' raw tables (n, p)."""
        ends = np.array([(table.min(axis=0), table.max(axis=0)) for table in tables])
        shared = np.array([INDICATORS[name].of_set for name in names])
        return cls(kind, shared, ends[:, 0].min(axis=0), ends[:, 1].max(axis=0))

    def apply(self, table: FloatArray, learnt: bool = False) -> FloatArray:
        """Scale a set's raw table (n, p) in place, and return it; `learnt` of a meta-train set."""
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
    """The training data of an oracle."""

    rows: FloatArray  # normalised indicators of all images, set after set, float32 (n, p)
    correct: BoolArray  # of each image, (n,)
    accuracy: FloatArray  # of each of the m sets, float64 (m,)
    sizes: IntArray  # number of images of each set, (m,)
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
