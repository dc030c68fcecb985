"""unseen-best, the kit's own method: it predicts for each image whether the classifier is right.

The predictions are logistic regressions on the evidence of each image (`oracle.evidence`); the estimate is
their mean over the set. docs/results/unseen-best.md says which regressions are used when, and why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from baselines.contract.estimator import Estimator
from baselines.contract.families import blocks, side_of
from baselines.contract.intervals import CrossConformal, Remoteness
from oracle.evidence import BOTH, OWN, Evidence, agreement
from oracle.oracle import check_ranges
from starter.observing.observation import MetaTrain, Observation
from submission.arrays import FloatArray, IntArray
from submission.progress import progress

TINY = 1e-6
FEWEST, MOST = 1, 4
"""Smallest and largest number of classes in a copy."""
OF_SOURCE = 3
"""Number of copies of the source per copy of a meta-train set: few meta-train sets hold clean images."""


@dataclass(frozen=True)
class Judged:
    """Images of one set with their evidence and the truth.

    Attributes:
        table: Evidence, (n, p); its means over the set are means over these images.
        correct: True for images that the classifier classes rightly, bool (n,).
        rows: Positions of the images in the set, int64 (n,).
    """

    table: FloatArray
    correct: NDArray[np.bool_]
    rows: IntArray

    def among(self, rows: IntArray) -> "Judged":
        """Returns the images whose positions are in `rows`; their evidence is not computed anew."""
        kept = np.isin(self.rows, rows)
        return Judged(self.table[kept], self.correct[kept], self.rows[kept])


def regression(rows: FloatArray, correct: NDArray[np.bool_]) -> FloatArray:
    """Returns the logistic regression of `correct`, bool (n,), on the evidence `rows`, (n, p).

    It is the intercept and a weight for each column, (1 + p,). If all images are right, or none, it predicts
    the same probability for every image.
    """
    if correct.all() or not correct.any():
        share = (correct.sum() + 0.5) / (len(correct) + 1)
        return np.append(np.log(share / (1 - share)), np.zeros(rows.shape[1]))
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), TINY)
    model = LogisticRegression(max_iter=1000).fit((rows - mean) / scale, correct)
    weights = model.coef_[0] / scale
    return np.append(model.intercept_[0] - weights @ mean, weights)


def chances(fitted: FloatArray, rows: FloatArray) -> FloatArray:
    """Returns the probability of being classed rightly, (n,), of images with evidence `rows`, (n, p)."""
    return expit(rows @ fitted[1:] + fitted[0])


@dataclass(frozen=True)
class Judge:
    """The fitted regressions, as from `regression`, and the estimate of a set that is made of theirs.

    Attributes:
        own: Regression on the classifier's evidence alone.
        both: Regressions on the evidence of both networks, under the set's class prior and under the
            source's; empty without a referee.
    """

    own: FloatArray
    both: tuple[FloatArray, ...] = ()

    @classmethod
    def of(cls, sets: Sequence[Judged]) -> "Judge":
        """Returns the regressions fitted to these sets."""
        table = np.concatenate([each.table for each in sets])
        correct = np.concatenate([each.correct for each in sets])
        own = regression(table[:, OWN], correct)
        if table.shape[1] == len(OWN):
            return cls(own)
        return cls(own, tuple(regression(table[:, each], correct) for each in BOTH))

    def alone(self, table: FloatArray) -> float:
        """Returns the accuracy estimated from the classifier's evidence alone, in [0, 1]."""
        return float(chances(self.own, table[:, OWN]).mean())

    def together(self, table: FloatArray) -> float:
        """Returns the accuracy estimated from the evidence of both networks, in [0, 1].

        It is the mean of two regressions: EM's class prior errs under distortions, and the source's errs on
        sets with few classes.
        """
        found = [chances(each, table[:, columns]) for each, columns in zip(self.both, BOTH, strict=True)]
        return float(np.mean(found))

    def accuracy(self, table: FloatArray) -> float:
        """Returns the estimate of a set, in [0, 1].

        It is the median of `alone`, `together` and `agreement`, each of which errs in its own way; without
        a referee it is `alone`.
        """
        if not self.both:
            return self.alone(table)
        return float(np.median([self.alone(table), self.together(table), agreement(table)]))


@dataclass(eq=False, repr=False)
class UnseenBest(Estimator):
    """The mean over a set of the probability that the classifier is right, from regressions on each image.

    With a referee it is the median of three estimates; `Judge` gives them. The regressions are
    fitted to the images of the meta-train sets and of the source, and to copies of both with few of their
    classes, so that the shares of the classes do not pass for shift.

    Args:
        copies: Number of copies of each meta-train set whose labels are known, an int from 0 to 100; the
            source gets three times as many.
        seed: Seed of the classes drawn for the copies, an int >= 0.
    """

    wants: ClassVar[tuple[str, ...]] = ("referee", "rotations")
    learns_images: ClassVar[bool] = True
    refits: ClassVar[bool] = False
    judges: ClassVar[type[Judge]] = Judge
    """Class that estimates from the evidence."""

    copies: int = 3
    seed: int = 0

    def _fit(self, meta: MetaTrain) -> None:
        check_ranges(self, {"copies": (0, 100), "seed": (0, 2**31 - 1)})
        self.evidence_ = Evidence.of(meta.source)
        rng = np.random.default_rng(self.seed)
        seen = meta.source.observation, meta.source.correct
        self._source = [self._judged(*seen)]
        copies = range(OF_SOURCE * self.copies)
        self._source += [self._copy(*seen, meta.source.labels, rng) for _ in copies]
        self._sets: list[list[Judged]] = []
        for i, observation in enumerate(progress(meta.sets, "evidence")):
            judged = [self._judged(observation, meta.correct[i])]
            if meta.labels:
                one = observation, meta.correct[i], meta.labels[i], rng
                judged += [self._copy(*one) for _ in range(self.copies)]
            self._sets.append(judged)
        self.judge_ = self.judges.of([*(each for judged in self._sets for each in judged), *self._source])

    def _judged(self, observation: Observation, correct: NDArray[np.bool_]) -> Judged:
        return Judged(self.evidence_.table(observation), correct, np.arange(len(correct)))

    def _copy(
        self, observation: Observation, correct: NDArray[np.bool_], labels: IntArray, rng: np.random.Generator
    ) -> Judged:
        """Returns the images of one to four classes of the set, drawn at random, as a set of their own."""
        kept = rng.permutation(np.unique(labels))[: rng.integers(FEWEST, MOST + 1)]
        rows = np.flatnonzero(np.isin(labels, kept))
        return Judged(self.evidence_.table(observation.take(rows)), correct[rows], rows)

    def _predict(self, observation: Observation) -> float:
        return self.judge_.accuracy(self.evidence_.table(observation))

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        """Returns intervals from regressions that saw neither a set's operations nor its images."""
        parts, known, others = blocks(meta.families), side_of(meta, 0), side_of(meta, 1)
        judges, residuals = [], []
        for fold in parts:
            learnt = [each.among(known[i]) for i in fold.train for each in self._sets[i]]
            judge = self.judges.of([*(each for each in learnt if len(each.rows)), *self._source])
            tested = [self._sets[i][0].among(others[i]) for i in fold.test]
            found = np.array([judge.accuracy(each.table) for each in tested])
            judges.append(judge)
            residuals.append(np.abs(found - [each.correct.mean() for each in tested]))

        def predict(observation: Any) -> FloatArray:
            table = self.evidence_.table(observation)
            return np.array([judge.accuracy(table) for judge in judges])

        return CrossConformal(predict, residuals, Remoteness.of(meta.sets, parts))

    def _state(self) -> dict[str, Any]:
        return {"evidence": asdict(self.evidence_), "judge": asdict(self.judge_)}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.evidence_ = Evidence(**state["evidence"])
        self.judge_ = self.judges(**state["judge"])
