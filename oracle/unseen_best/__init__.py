"""unseen-best, the kit's own entry: trees judge images, transport under an estimated class prior judges the
set, and a small regression corrects it. docs/results/unseen-best.md says why, and what each part is worth.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from baselines.accuracy.cot import cott_threshold, transport_to
from baselines.accuracy.stack import convex_weights
from baselines.contract.estimator import Estimator
from baselines.contract.families import Fold, blocks, side_of
from baselines.contract.regressors import log_odds
from oracle.indicators import indicator_table, named, needs_of, network_of
from oracle.limits import check_whole
from oracle.unseen_best.correction import Correction
from oracle.unseen_best.judge import Judge
from oracle.unseen_best.priors import few_classes, nearest_prior, sure
from starter.observing.observation import MetaTrain, Observation, Source
from starter.observing.temperature import temperature
from submission.arrays import FloatArray
from submission.errors import UnusableInput

RICH = "entropy,confidence,energy,margin,logit_norm,knn,turned,grey,rotation"
"""What the trees read: nothing that all images of a set share, and nothing of the pixels themselves."""
EVIDENCE = ("knn", "rotation", "turned", "confidence")
"""Indicators whose mean over the set the regression reads."""
LEVELS = (0.5, 0.7, 1.0)
"""Above which probability of being right an image is sure of its class; at 1 the prior is the source's."""
RIGHT = 0.5
"""Above this probability the trees call an image right."""
ESTIMATES = ("trees", "transport", "stack")
ALPHAS = (1.0, 10.0, 100.0, 1000.0)
TRANSPORT = 2
"""Column of a row: the transport's estimate at the level 0.7, which is the one that is corrected."""
PARTS = 10_000
"""Of these a class prior is made up when it is transported to."""


@dataclass(frozen=True)
class Judged:
    """The logits (n, k) of a set, or of a copy of one, and its images' indicators (n, p)."""

    observation: Observation
    table: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> "Judged":
        """The images at `rows` alone."""
        seen = self.observation
        return Judged(Observation(seen.set_name, seen.classifier, seen.logits[rows]), self.table[rows])


@dataclass(frozen=True)
class Labelled:
    """A set, or a copy of one, and whether the classifier is right about its images, bool (n,)."""

    judged: Judged
    correct: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> "Labelled":
        """The images at `rows` alone."""
        return Labelled(self.judged.take(rows), self.correct[rows])


@dataclass(frozen=True)
class Row:
    """What the regression learns from: `values` (p,) of some images, and the classifier's accuracy on them.

    Attributes:
        fold: whose judge the values come from, an index; -1 of those who learnt from all sets.
        of: the meta-train set that the images are of, an index; -1 of the source.
    """

    values: FloatArray
    target: float
    fold: int
    of: int


Fit = Callable[[FloatArray, FloatArray], Correction]


def candidates(width: int) -> list[Fit]:
    """Ways to tell accuracy from rows (r, width): every estimate as it is, and the transport's corrected by
    the other estimates, and by these and the evidence, each at every strength of ridge regression.
    """
    estimates = range(width - len(EVIDENCE))
    found: list[Fit] = [partial(_as_it_is, column) for column in estimates]
    for columns in (estimates, range(width)):
        found += [partial(_corrected, tuple(columns), alpha) for alpha in ALPHAS]
    return found


def _as_it_is(column: int, rows: FloatArray, targets: FloatArray) -> Correction:
    return Correction.none(rows.shape[1], column)


def _corrected(columns: tuple[int, ...], alpha: float, rows: FloatArray, targets: FloatArray) -> Correction:
    return Correction.fit(rows, targets, columns, TRANSPORT, alpha)


class UnseenBest(Estimator):
    """Trees, transport under an estimated class prior, and regressions weighed by cross-validation.

    Args:
        indicators: that the trees read, names with commas between them.
        estimate: the share of images that the trees call right ("trees"), the share transported cheaply under
            the class prior that they leave room for ("transport"), or both, corrected ("stack").
        copies: of the labelled source, with other class priors, that the regression learns from too.
        trees, leaves: of LightGBM.
        most: at most so many images are learnt from by each of the six forests.
        seed: of what is drawn.
    """

    learns_images: ClassVar[bool] = True

    def __init__(
        self,
        indicators: str = RICH,
        estimate: str = "stack",
        copies: int = 8,
        trees: int = 100,
        leaves: int = 15,
        most: int = 200_000,
        seed: int = 0,
    ) -> None:
        self.indicators = indicators
        self.estimate = estimate
        self.copies = copies
        self.trees = trees
        self.leaves = leaves
        self.most = most
        self.seed = seed

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the indicators read."""
        return needs_of(self._columns)

    def _fit(self, meta: MetaTrain) -> None:
        self._check()
        self._prepare(meta.source)
        judged = [self._judged(observation) for observation in tqdm(meta.sets, "indicators", leave=False)]
        sets = list(starmap(Labelled, zip(judged, meta.correct, strict=True)))
        source = Labelled(self._judged(meta.source.observation), meta.source.correct)
        self.judge_ = self._judge([*sets, source])
        if self.estimate != "stack":
            return
        parts = blocks(meta.families)
        rows = self._rows_of_folds(meta, sets, source, parts) + self._rows_of_copies(meta, sets, source)
        self._weigh(rows, parts)

    def _prepare(self, source: Source) -> None:
        """Keep what rows need of the source."""
        self.source_ = source
        self.temperature_ = temperature(source)
        self.threshold_ = cott_threshold(source, self.temperature_)
        k = source.observation.logits.shape[1]
        self.prior_ = np.bincount(source.labels, minlength=k) / len(source.labels)

    def _judged(self, observation: Observation) -> Judged:
        seen = Observation(observation.set_name, observation.classifier, observation.logits)
        return Judged(seen, indicator_table(observation, self.source_, self._columns))

    @property
    def _columns(self) -> tuple[str, ...]:
        """The trees' indicators, then those of the evidence that are not among them."""
        return tuple(dict.fromkeys((*named(self.indicators), *EVIDENCE)))

    def _rich(self, judged: Judged) -> NDArray[np.float32]:
        """What the trees read, (n, p)."""
        return judged.table[:, : len(named(self.indicators))]

    def _judge(self, sets: Sequence[Labelled]) -> Judge:
        """Who has learnt from these sets."""
        return Judge.of(
            [self._rich(each.judged) for each in sets],
            [each.correct for each in sets],
            self.trees,
            self.leaves,
            self.most,
            self.seed,
        )

    def _row(self, judged: Judged, judge: Judge) -> FloatArray:
        """Log-odds of the trees' and transports' estimates, then the means of the evidence."""
        probabilities = judge.probabilities(self._rich(judged))
        estimates = [(probabilities > RIGHT).mean()]
        estimates += [self._transported(judged.observation, probabilities, level) for level in LEVELS]
        places = [self._columns.index(name) for name in EVIDENCE]
        return np.array([*log_odds(estimates), *judged.table[:, places].mean(axis=0, dtype=np.float64)])

    def _transported(self, observation: Observation, probabilities: FloatArray, level: float) -> float:
        """COTT under the class prior nearest to the source's that leaves room for what is sure."""
        least = sure(observation.predicted, probabilities, level, len(self.prior_))
        classes = np.rint(PARTS * nearest_prior(least, self.prior_)).astype(np.int64)
        cost, mass = transport_to(classes, observation, self.temperature_)
        return float(mass[cost <= self.threshold_].sum())

    def _rows_of_folds(
        self, meta: MetaTrain, sets: Sequence[Labelled], source: Labelled, parts: Sequence[Fold]
    ) -> list[Row]:
        """A row for each fold and set that it tests, by a judge who has learnt neither from the fold's
        operations nor from the base images that are judged.
        """
        known, others = side_of(meta, 0), side_of(meta, 1)
        rows = []
        for number, fold in enumerate(tqdm(parts, "blocks of operations", leave=False)):
            judge = self._judge([*(sets[i].take(known[i]) for i in fold.train), source])
            rows += [self._make_row(sets[i].take(others[i]), judge, number, int(i)) for i in fold.test]
        return rows

    def _rows_of_copies(self, meta: MetaTrain, sets: Sequence[Labelled], source: Labelled) -> list[Row]:
        """Rows of the source and its copies with other class priors, by a judge who has not seen it."""
        rng, judge = np.random.default_rng(self.seed), self._judge(sets)
        copies = [few_classes(meta.source.labels, rng) for _ in range(self.copies)]
        return [
            self._make_row(source.take(drawn), judge) for drawn in (np.arange(len(source.correct)), *copies)
        ]

    def _make_row(self, labelled: Labelled, judge: Judge, fold: int = -1, of: int = -1) -> Row:
        return Row(self._row(labelled.judged, judge), float(labelled.correct.mean()), fold, of)

    def _weigh(self, table: Sequence[Row], parts: Sequence[Fold]) -> None:
        """Convex weights of the candidates that serve best on blocks of operations not learnt from."""
        rows, targets = np.array([row.values for row in table]), np.array([row.target for row in table])
        fold_of, of = (np.array([getattr(row, name) for row in table]) for name in ("fold", "of"))
        every, predictions, truth = candidates(rows.shape[1]), [], []
        for number, fold in enumerate(parts):
            test, train = fold_of == number, ~np.isin(of, fold.test)
            fitted = [fit(rows[train], targets[train])(rows[test]) for fit in every]
            predictions.append(np.column_stack(fitted))
            truth.append(targets[test])
        weights = convex_weights(predictions, truth)
        chosen = [(float(weight), fit) for weight, fit in zip(weights, every, strict=True) if weight > 0]
        self.corrections_ = [(weight, fit(rows, targets)) for weight, fit in chosen]

    def _predict(self, observation: Observation) -> float:
        judged = self._judged(observation)
        if self.estimate == "stack":
            row = self._row(judged, self.judge_)[None]
            return float(sum(weight * correct(row)[0] for weight, correct in self.corrections_))
        probabilities = self.judge_.probabilities(self._rich(judged))
        if self.estimate == "trees":
            return float((probabilities > RIGHT).mean())
        return self._transported(observation, probabilities, LEVELS[TRANSPORT - 1])

    def _state(self) -> dict[str, Any]:
        corrections = [(weight, asdict(each)) for weight, each in getattr(self, "corrections_", [])]
        network = network_of(self.source_, self._columns)
        judge = self.judge_.state()
        return {"source": self.source_, "classifier": network, "judge": judge, "corrections": corrections}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._prepare(replace(state["source"], classifier=state["classifier"]))
        self.judge_ = Judge.restore(state["judge"])
        self.corrections_ = [(weight, Correction(**each)) for weight, each in state["corrections"]]

    def _check(self) -> None:
        if self.estimate not in ESTIMATES:
            raise UnusableInput(f"estimate must be {', '.join(ESTIMATES)}, got {self.estimate!r}")
        check_whole("copies", self.copies, 0, 1000)
        check_whole("trees", self.trees, 1, 100_000)
        check_whole("leaves", self.leaves, 2, 10_000)
        check_whole("most", self.most, 1, 100_000_000)
        check_whole("seed", self.seed, 0, 2**31 - 1)
