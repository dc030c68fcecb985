"""gated: the kit's own method, a learned gate over direct estimates; docs/results/gated.md has its errors.

1. A set is read under the source's class prior and under its own, which EM finds (`evidence.py`).
2. COTT, the direct estimate under the source's prior, is right where a set has the source's classes.
3. Of the evidence of single images, regressions learn how likely an image is classed rightly.
4. With a referee there are three: one of the classifier alone, and two that hear both networks, each under
   another prior, whose mean is the estimate `both`; without one a single regression reads statistics of the
   images too.
5. What is learnt from is the source, the meta-train sets, and copies of these with few of their classes.
6. Blocks of operations are left out in turn, so that each estimate has an error on sets of operations that
   its regressions have not seen.
7. A gate learns from these errors how much COTT counts beside the median of the regressions and the referee's
   agreement, by signs of the set that say whether it has few classes or is distorted (`gate.py`). The
   classifier's own regression has no vote where it is poor.
8. The prediction is the mean of COTT and the median that the gate weighs.
9. Intervals come from the errors of the gates and regressions that were fitted without a block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from baselines.accuracy.evidence import TINY, Reader, Reading
from baselines.accuracy.gate import Gate, Named, Scale, at, votes_of
from baselines.contract.estimator import Estimator
from baselines.contract.families import blocks
from baselines.contract.intervals import CrossConformal, Remoteness
from starter.observing.observation import IMAGE_STATS, MetaTrain, Observation
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.progress import progress

COPIES = 3
"""Number of copies of each meta-train set, each with few of its classes."""
OF_SOURCE = 0.6
"""Number of such copies of the source, for each meta-train set."""
FEW = 0.6
"""Largest share of the source's classes in a copy."""
IMAGES = 500
"""Largest number of images of a meta-train set that are learnt from; of a larger one they are drawn."""
BLOCKS = 6
"""Number of blocks of operations that are left out in turn."""
REFIT = 0.95
"""Share of the sets to which a lone regression is fitted again: those that it misses least."""

OF_CLASSIFIER = ("adapted", "confidence", "mean_confidence", "mean_margin")
"""Evidence from the classifier alone."""
LONE = {"classifier": (*OF_CLASSIFIER, *IMAGE_STATS)}
"""Evidence of the one regression without a referee."""
COMMON = ("mean_confidence", "mean_margin", "referee_confidence", "mean_referee_confidence")
"""Evidence under the source's prior that both regressions on two networks read."""
BOTH = {
    "adapted": ("adapted", *COMMON, "referee_adapted", "mean_referee_adapted"),
    "plain": ("confidence", *COMMON, "referee", "mean_referee"),
}
"""Evidence of the regressions on both networks, under the set's own prior and under the source's."""
WITH_REFEREE = {"classifier": OF_CLASSIFIER, **BOTH}
"""Evidence of each regression with a referee."""


@dataclass(frozen=True)
class Regression:
    """A logistic regression of whether an image is classed rightly."""

    columns: tuple[str, ...]  # names of the p columns of evidence that it reads
    weights: FloatArray  # intercept and weights, (1 + p,)

    @classmethod
    def fit(cls, columns: tuple[str, ...], examples: "Examples") -> "Regression":
        """Returns the regression fitted to the images of all examples."""
        rows = np.concatenate([_table(reading, columns) for reading in examples.readings])
        return cls(columns, logistic(rows, np.concatenate(examples.correct)))

    def accuracy(self, reading: Reading) -> float:
        """Returns the mean chance that an image of the set is classed rightly."""
        rows = _table(reading, self.columns)
        return float(expit(rows @ self.weights[1:] + self.weights[0]).mean())


@dataclass(frozen=True)
class Examples:
    """What is learnt from: the source, the meta-train sets, and copies of these with few of their classes."""

    readings: Sequence[Reading]  # what is read from each of the m examples
    correct: Sequence[BoolArray]  # whether each of its images is classed rightly
    of: IntArray  # the meta-train set of each, ascending, before its copies; -1 for the source, (m,)

    @cached_property
    def accuracies(self) -> FloatArray:
        """The true accuracies, (m,)."""
        return np.array([each.mean() for each in self.correct])

    @cached_property
    def signs(self) -> FloatArray:
        """The signs of each example, (m, p)."""
        return np.array([_signs(reading) for reading in self.readings])

    def take(self, mask: BoolArray) -> "Examples":
        """Returns the examples where `mask` (m,) is True."""
        rows = np.flatnonzero(mask).tolist()
        return Examples([self.readings[i] for i in rows], [self.correct[i] for i in rows], self.of[rows])

    def errors(self, regressions: Mapping[str, Regression]) -> Named:
        """Returns estimate minus accuracy of each example, by the name of the estimate."""
        rows = [estimates(regressions, reading) for reading in self.readings]
        return {name: np.array([row[name] for row in rows]) - self.accuracies for name in rows[0]}


@dataclass(frozen=True)
class Block:
    """A block of operations that is left out."""

    inside: BoolArray  # whether an example is made from a meta-train set with one of them, (m,)
    sets: IntArray  # rows of these sets themselves, without their copies
    regressions: Mapping[str, Regression]  # fitted to the examples outside
    errors: Named  # of all m examples with these regressions

    @classmethod
    def of(cls, examples: Examples, sets: IntArray) -> "Block":
        """Returns the block whose operations these meta-train sets have."""
        inside = np.isin(examples.of, sets)
        regressions = fit_regressions(examples.take(~inside))
        first = np.searchsorted(examples.of, sets)
        return cls(inside, first, regressions, examples.errors(regressions))


class Gated(Estimator):
    """A learned gate over COTT and the median of two regressions and the referee's agreement.

    Args:
        seed: Seed of the copies' classes, an int >= 0.
    """

    needs = ("image_stats",)
    wants = ("referee",)
    learns_images = True
    refits = False

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, meta: MetaTrain) -> None:
        self.reader_ = Reader.of(meta.source)
        examples = self._examples(meta)
        left_out = [Block.of(examples, fold.test) for fold in blocks(meta.families, BLOCKS)]
        errors = errors_on_new_operations(left_out)

        self.regressions_ = fit_regressions(examples)
        self.scale_ = Scale.of(examples.signs)
        rows = self.scale_.rows(examples.signs)
        votes = votes_of(errors)
        self.gate_ = Gate.fit(rows, errors, votes)

        gates = [Gate.fit(rows[~each.inside], at(errors, ~each.inside), votes) for each in left_out]
        self._left_out = [(each.regressions, gate) for each, gate in zip(left_out, gates, strict=True)]
        self._residuals = [
            np.abs(gate.mix(rows[each.sets], at(each.errors, each.sets)))
            for each, gate in zip(left_out, gates, strict=True)
        ]

    def _examples(self, meta: MetaTrain) -> Examples:
        """Returns the source, then each meta-train set, each followed by its copies of few classes."""
        rng = np.random.default_rng(self.seed)
        most = round(FEW * len(self.reader_.prior))
        readings: list[Reading] = []
        correct: list[BoolArray] = []
        of: list[int] = []
        for i in progress(range(-1, len(meta.sets)), "read sets", unit="sets"):
            seen, right, labels = _labelled(meta, i, rng)
            copies = round(OF_SOURCE * len(meta.sets)) if i < 0 else COPIES
            for rows in (np.arange(len(right)), *rows_of_few_classes(labels, copies, most, rng)):
                readings.append(self.reader_.read(seen.take(rows)))
                correct.append(right[rows])
                of.append(i)
        return Examples(readings, correct, np.array(of))

    def _predict(self, observation: Observation) -> float:
        reading = self.reader_.read(observation)
        return self._estimate(reading, self.regressions_, self.gate_)

    def _estimate(self, reading: Reading, regressions: Mapping[str, Regression], gate: Gate) -> float:
        """Returns the estimate for what is read from a set, by these regressions and this gate."""
        row = self.scale_.rows(_signs(reading)[None])
        single = {name: np.array([value]) for name, value in estimates(regressions, reading).items()}
        return float(gate.mix(row, single)[0])

    def _estimates_left_out(self, seen: Any) -> FloatArray:
        """Returns the estimates for a set by what was fitted without each block, (b,)."""
        reading = self.reader_.read(seen)
        return np.array([self._estimate(reading, *fitted) for fitted in self._left_out])

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        """Returns intervals from the errors of models that have not seen a set's operations."""
        remoteness = Remoteness.of(meta.sets, blocks(meta.families, BLOCKS))
        return CrossConformal(self._estimates_left_out, self._residuals, remoteness)

    def _state(self) -> dict[str, Any]:
        """Returns the fitted parts as dictionaries of arrays, numbers and names."""
        return {
            "reader": asdict(self.reader_),
            "regressions": {name: asdict(each) for name, each in self.regressions_.items()},
            "scale": asdict(self.scale_),
            "gate": asdict(self.gate_),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.reader_ = Reader(**state["reader"])
        self.regressions_ = {name: Regression(**each) for name, each in state["regressions"].items()}
        self.scale_ = Scale(**state["scale"])
        self.gate_ = Gate(state["gate"]["weights"], tuple(state["gate"]["votes"]))


def _labelled(
    meta: MetaTrain, i: int, rng: np.random.Generator
) -> tuple[Observation, BoolArray, IntArray | None]:
    """Returns meta-train set i, or the source for -1: what is seen, what is right, classes if known."""
    if i < 0:
        return meta.source.observation, meta.source.correct, meta.source.labels
    seen, right = meta.sets[i], meta.correct[i]
    labels = meta.labels[i] if meta.labels else None
    if len(right) <= IMAGES:
        return seen, right, labels
    rows = rng.choice(len(right), IMAGES, replace=False)
    return seen.take(rows), right[rows], None if labels is None else labels[rows]


def rows_of_few_classes(
    labels: IntArray | None, copies: int, most: int, rng: np.random.Generator
) -> list[IntArray]:
    """Returns the rows of each copy: all images of 1 to `most` of its classes, drawn evenly."""
    if labels is None or most <= 1:
        return []
    rows = []
    for _ in range(copies):
        order = rng.permutation(np.unique(labels))
        classes = order[: rng.integers(1, most, endpoint=True)]
        rows.append(np.flatnonzero(np.isin(labels, classes)))
    return rows


def fit_regressions(examples: Examples) -> dict[str, Regression]:
    """Returns the regressions by name; one alone is fitted again without the sets that it misses most."""
    if examples.readings[0].has_referee:
        return {name: Regression.fit(columns, examples) for name, columns in WITH_REFEREE.items()}
    first = {name: Regression.fit(columns, examples) for name, columns in LONE.items()}
    size = np.abs(examples.errors(first)["classifier"])
    best = examples.take(size <= np.quantile(size, REFIT))
    return {name: Regression.fit(columns, best) for name, columns in LONE.items()}


def logistic(rows: FloatArray, correct: BoolArray) -> FloatArray:
    """Returns intercept and weights (1 + p,) of the logistic regression of `correct` (n,) on rows (n, p).

    Two images at the mean are added, one right and one wrong, so that no set is certain, as Laplace's rule of
    succession adds them to a share.
    """
    mean = rows.mean(axis=0)
    deviation = np.maximum(rows.std(axis=0), TINY)
    scaled = np.vstack([(rows - mean) / deviation, np.zeros((2, len(mean)))])
    fitted = LogisticRegression(max_iter=1000).fit(scaled, np.append(correct, [True, False]))
    slopes = fitted.coef_[0] / deviation
    return np.append(fitted.intercept_[0] - slopes @ mean, slopes)


def estimates(regressions: Mapping[str, Regression], reading: Reading) -> dict[str, float]:
    """Returns the direct estimates of a set, the classifier's, and with a referee that of both networks."""
    own = {"classifier": regressions["classifier"].accuracy(reading)}
    if reading.has_referee:
        own["both"] = float(np.mean([regressions[name].accuracy(reading) for name in BOTH]))
    return {**reading.estimates, **own}


def errors_on_new_operations(left_out: Sequence[Block]) -> Named:
    """Returns each example's errors, averaged over the blocks that it is in; over all if it is in none."""
    inside = np.array([block.inside for block in left_out])
    weights = inside | ~inside.any(axis=0)
    return {
        name: np.average([block.errors[name] for block in left_out], axis=0, weights=weights)
        for name in left_out[0].errors
    }


def _table(reading: Reading, columns: tuple[str, ...]) -> FloatArray:
    """Returns the named evidence of a set's images, (n, p)."""
    return np.array([reading.images[name] for name in columns]).T


def _signs(reading: Reading) -> FloatArray:
    """Returns the signs of a set, (p,)."""
    return np.array(list(reading.signs.values()))
