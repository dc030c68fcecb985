"""unseen-best, the kit's own entry: what regressions and a referee say of a set, and whom to believe.

The regressions read evidence of single images (`oracle.evidence`). docs/results/unseen-best.md says what it
believes when, and why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from baselines.contract.estimator import Estimator
from baselines.contract.families import blocks, side_of
from baselines.contract.intervals import CrossConformal, CrossFit, Remoteness
from baselines.contract.regressors import log_odds
from oracle.evidence import BOTH, OWN, Evidence, agreement, sureness
from oracle.limits import check_whole
from starter.observing.observation import MetaTrain, Observation
from submission.arrays import FloatArray, IntArray

OPEN = (0.5, 1.5)
"""Standard deviations at which the gate begins to open, and is open."""
TINY = 1e-6
FEWEST, MOST = 1, 4
"""How many classes a copy has."""
OF_SOURCE = 3
"""Copies of the source for each copy of a meta-train set: clean images are in few of these."""


@dataclass(frozen=True)
class Judged:
    """Some images of a set.

    Attributes:
        table: their evidence, (n, p); what it says of the set is of these images.
        correct: whether the classifier is right about each, bool (n,).
        rows: which images of the set they are, int64 (n,).
    """

    table: FloatArray
    correct: NDArray[np.bool_]
    rows: IntArray

    def among(self, rows: IntArray) -> "Judged":
        """Returns those that are among these images of the set; their evidence stays as it is."""
        kept = np.isin(self.rows, rows)
        return Judged(self.table[kept], self.correct[kept], self.rows[kept])


@dataclass(frozen=True)
class Regression:
    """Logistic regression on evidence of images: a weight for each column, and an intercept."""

    weights: FloatArray
    intercept: float

    @classmethod
    def of(cls, rows: FloatArray, correct: NDArray[np.bool_]) -> "Regression":
        """Returns what tells by evidence (n, p) whether the classifier is right.

        Where all or none is right, it predicts that alone.
        """
        if correct.all() or not correct.any():
            share = (correct.sum() + 0.5) / (len(correct) + 1)
            return cls(np.zeros(rows.shape[1]), float(np.log(share / (1 - share))))
        mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), TINY)
        model = LogisticRegression(max_iter=1000).fit((rows - mean) / scale, correct)
        weights = model.coef_[0] / scale
        return cls(weights, float(model.intercept_[0] - weights @ mean))

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Returns each image's probability of being classified rightly, (n,), by its evidence (n, p)."""
        return expit(rows @ self.weights + self.intercept)


@dataclass(frozen=True)
class Gate:
    """How unlike the meta-train sets a set is, in what the referee makes of it.

    Under distortions the referee is the less sure of a set the less accurate the classifier is. Where it is
    surer than that, it is natural shift, of which regressions on distorted sets have not learnt.

    Attributes:
        slope, intercept: of the line through meta-train sets, from the log-odds of accuracy to sureness.
        spread: the standard deviation of sets about it.
    """

    slope: float
    intercept: float
    spread: float

    @classmethod
    def of(cls, sets: Sequence[Judged]) -> "Gate":
        """Returns the gate by meta-train sets, their copies and the source."""
        accuracy = log_odds([each.correct.mean() for each in sets])
        sure = np.array([sureness(each.table) for each in sets])
        slope, intercept = np.polynomial.Polynomial.fit(accuracy, sure, 1, domain=[-1, 1]).coef[::-1]
        spread = (sure - slope * accuracy - intercept).std()
        return cls(float(slope), float(intercept), float(spread))

    def opened(self, estimate: float, table: FloatArray) -> float:
        """Returns how far the gate is open, in [0, 1], for a set of this accuracy."""
        excess = sureness(table) - self.slope * float(log_odds(estimate)) - self.intercept
        low, high = OPEN
        return float(np.clip((excess / max(self.spread, TINY) - low) / (high - low), 0, 1))


@dataclass(frozen=True)
class Judge:
    """What regressions say of a set, and which is believed.

    Attributes:
        own: by the classifier's evidence alone.
        both: by the referee's too, with the set's class prior and with the source's; none without one.
        gate: how far the median is believed instead; None without a referee.
    """

    own: Regression
    both: tuple[Regression, ...] = ()
    gate: Gate | None = None

    @classmethod
    def of(cls, sets: Sequence[Judged]) -> "Judge":
        """Returns the judge that has learnt from these sets."""
        table = np.concatenate([each.table for each in sets])
        correct = np.concatenate([each.correct for each in sets])
        own = Regression.of(table[:, OWN], correct)
        if table.shape[1] == len(OWN):
            return cls(own)
        return cls(own, tuple(Regression.of(table[:, each], correct) for each in BOTH), Gate.of(sets))

    def alone(self, table: FloatArray) -> float:
        """Returns the accuracy that is expected by the classifier's evidence alone, in [0, 1]."""
        return float(self.own.probabilities(table[:, OWN]).mean())

    def together(self, table: FloatArray) -> float:
        """Returns the accuracy that is expected by the referee's evidence too.

        EM's prior is misled by distortions, the source's by few classes: it is the mean under both.
        """
        found = [each.probabilities(table[:, columns]) for each, columns in zip(self.both, BOTH, strict=True)]
        return float(np.mean(found))

    def median(self, table: FloatArray) -> float:
        """Returns the median of `alone`, `together` and the share of images about which both agree."""
        return float(np.median([self.alone(table), self.together(table), agreement(table)]))

    def accuracy(self, table: FloatArray) -> float:
        """Returns the estimate for a set: `together` or, as far as the gate is open, `median`, in [0, 1]."""
        if self.gate is None:
            return self.alone(table)
        together, middle = self.together(table), self.median(table)
        return together + self.gate.opened(middle, table) * (middle - together)


class UnseenBest(Estimator):
    """The accuracy that regressions expect of a set's images; on natural shift, the median of three opinions.

    The regressions learn from the images of the meta-train sets and of the source, and from copies of both
    that have few of their classes, so that class shares do not pass for shift. See `Judge` for what is
    believed when.

    Args:
        copies: of each meta-train set whose labels are known, and three times as many of the source.
        seed: of what is drawn.
    """

    wants: ClassVar[tuple[str, ...]] = ("referee",)
    learns_images: ClassVar[bool] = True
    refits: ClassVar[bool] = False
    reader: ClassVar[type[Evidence]] = Evidence
    """Who reads the evidence."""
    judges: ClassVar[type[Judge]] = Judge
    """Who judges by it."""

    def __init__(self, copies: int = 3, seed: int = 0) -> None:
        self.copies = copies
        self.seed = seed

    def _fit(self, meta: MetaTrain) -> None:
        check_whole("copies", self.copies, 0, 100)
        check_whole("seed", self.seed, 0, 2**31 - 1)
        self.evidence_ = self.reader.of(meta.source)
        rng = np.random.default_rng(self.seed)
        seen = meta.source.observation, meta.source.correct
        self._source = [self._judged(*seen)]
        copies = range(OF_SOURCE * self.copies)
        self._source += [self._copy(*seen, meta.source.labels, rng) for _ in copies]
        self._sets: list[list[Judged]] = []
        for i, observation in enumerate(tqdm(meta.sets, "evidence", leave=False)):
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
        """Returns the images of one to four of the set's classes, as a set of their own."""
        kept = rng.permutation(np.unique(labels))[: rng.integers(FEWEST, MOST + 1)]
        rows = np.flatnonzero(np.isin(labels, kept))
        return Judged(self.evidence_.table(observation.take(rows)), correct[rows], rows)

    def _predict(self, observation: Observation) -> float:
        return self.judge_.accuracy(self.evidence_.table(observation))

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        """Returns intervals by judges that have not seen a block of operations, nor the images they judge."""
        parts, known, others = blocks(meta.families), side_of(meta, 0), side_of(meta, 1)
        judges, held_out, residuals = [], [], []
        for fold in parts:
            learnt = [each.among(known[i]) for i in fold.train for each in self._sets[i]]
            judge = self.judges.of([*(each for each in learnt if len(each.rows)), *self._source])
            tested = [self._sets[i][0].among(others[i]) for i in fold.test]
            found = np.array([judge.accuracy(each.table) for each in tested])
            judges.append(judge)
            held_out.append(found)
            residuals.append(np.abs(found - [each.correct.mean() for each in tested]))

        def predict(observation: Any) -> FloatArray:
            table = self.evidence_.table(observation)
            return np.array([judge.accuracy(table) for judge in judges])

        return CrossConformal(CrossFit(held_out, predict), residuals, Remoteness.of(meta.sets, parts))

    def _state(self) -> dict[str, Any]:
        return {"evidence": asdict(self.evidence_), "judge": asdict(self.judge_)}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.evidence_ = self.reader(**state["evidence"])
        judge = state["judge"]
        both = tuple(Regression(**each) for each in judge["both"])
        self.judge_ = self.judges(Regression(**judge["own"]), both, judge["gate"] and Gate(**judge["gate"]))
