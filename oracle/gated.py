"""gated: the kit's own method, a learned gate over direct estimates of a set's accuracy.

COTT under the source's class prior is right where a set has the source's classes, as distorted images have.
The median of three other estimates is right on photographs of other sources: a regression on the classifier's
evidence, regressions on the referee's too, and their agreement. The gate weighs COTT against the median by
numbers that describe the set, so that the answer lies between the two. docs/results/gated.md has the trials.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression

from baselines.accuracy import priors
from baselines.accuracy.cot import cott_threshold, cott_under
from baselines.contract.estimator import Estimator
from baselines.contract.families import blocks
from baselines.contract.intervals import CrossConformal, Remoteness
from starter.observing.observation import MetaTrain, Observation
from starter.observing.temperature import temperature
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.errors import UnusableInput
from submission.progress import progress

EDGE, SET_EDGE, TINY = 1e-4, 5e-3, 1e-6
"""Smallest distance from 0 and 1 of an image's and of a set's probability in log-odds; smallest divisor."""
COPIES, OF_SOURCE, FEW = 3, 0.6, 0.6
"""Copies of a meta-train set, and of the source per such set; the largest share of the classes in a copy."""
RARE = 0.2
"""Share of a class, in units of 1 / k, above which it counts as present."""
LIMIT, WIDTH, RIDGE = 3.0, 0.02, 0.003
"""Of the gate: deviations at which numbers are cut, error below which loss is quadratic, penalty."""
BLOCKS = 6
"""Number of blocks of operations that are left out together."""
COLUMNS = [0, 1, 2, 3], [0, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 8, 9]
"""Evidence that regressions read: the classifier's; both networks' under the set's prior, or the source's."""

Models = tuple[FloatArray, ...]
Gate = tuple[FloatArray, FloatArray, FloatArray]
"""Mean and scale of the numbers (p,), and the weights (e, 1 + p) of the estimates' softmax."""


@dataclass(frozen=True)
class Reading:
    """What is read from a set: evidence (n, 4 or 10), direct estimates (2,), numbers for the gate (p,)."""

    table: FloatArray
    direct: FloatArray
    numbers: FloatArray


def fitted_gate(numbers: FloatArray, estimates: FloatArray, truth: FloatArray) -> Gate:
    """Returns the gate for m sets: numbers (m, p), estimates (m, e), accuracies (m,).

    It minimises the mean of sqrt(error^2 + WIDTH^2) plus `RIDGE` times the mean square of the weights.
    """
    mean, scale = numbers.mean(axis=0), np.maximum(numbers.std(axis=0), TINY)
    rows, start = _scaled(numbers, mean, scale), np.zeros((estimates.shape[1], numbers.shape[1] + 1))
    free = np.arange(start.shape[1]) > 0

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(start.shape)
        shares = softmax(rows @ weights.T, axis=1)
        mixed = (shares * estimates).sum(axis=1)
        size = np.sqrt((mixed - truth) ** 2 + WIDTH**2)
        pull = ((mixed - truth) / size)[:, None] * shares * (estimates - mixed[:, None])
        slope = pull.T @ rows / len(rows) + 2 * RIDGE * weights * free / weights.size
        return float(size.mean() + RIDGE * (weights**2 * free).mean()), slope.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B").x
    return mean, scale, found.reshape(start.shape)


def mixed(gate: Gate, numbers: FloatArray, estimates: FloatArray) -> FloatArray:
    """Returns the weighted means (m,) of the estimates (m, e) of sets with these numbers (m, p)."""
    mean, scale, weights = gate
    return (softmax(_scaled(numbers, mean, scale) @ weights.T, axis=1) * estimates).sum(axis=1)


def _scaled(numbers: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    return np.insert(np.clip((numbers - mean) / scale, -LIMIT, LIMIT), 0, 1.0, axis=1)


class Gated(Estimator):
    """A learned gate over COTT and the median of two regressions and the referee's agreement.

    It learns from meta-train sets and source, and from copies of both with few classes, so that these do not
    pass for shift; the gate learns from regressions that have not seen a set's operations. Without a referee
    it weighs COTT under both priors, the source's and the set's, and the regression on the classifier's
    evidence.
    COTT: Lu et al., NeurIPS 2023; EM: Saerens, Latinne & Decaestecker, Neural Computation 2002; agreement:
    Jiang et al., ICLR 2022; the gate is the kit's own.

    Args:
        seed: Seed of the copies' classes, an int >= 0.
    """

    wants = ("referee",)
    learns_images = True
    refits = False

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, meta: MetaTrain) -> None:
        source, parts = meta.source, blocks(meta.families, BLOCKS)
        self.prior_, self.own_ = priors.source_prior(source), priors.bias_corrected(source)
        self.cott_ = temperature(source), cott_threshold(source)
        self.judge_: FloatArray = np.zeros(0)
        if source.observation.referee is not None:
            self.judge_ = priors.bias_corrected(replace(source, observation=_of_referee(source.observation)))
        readings, correct, of = self._examples(meta)
        numbers = np.array([each.numbers for each in readings])
        truth = np.array([each.mean() for each in correct])
        kept = [~np.isin(of, part.test) for part in parts]
        learnt = [_regressions(readings, correct, np.flatnonzero(each)) for each in kept]
        every = np.array([[_estimates(models, each) for each in readings] for models in learnt])  # (b, m, e)
        foreign = ~np.array(kept) | np.all(kept, axis=0)  # what no block touches is estimated by all
        crossed = np.average(every, axis=0, weights=np.broadcast_to(foreign[:, :, None], every.shape))
        self.models_ = _regressions(readings, correct, np.arange(len(of)))
        self.gate_ = fitted_gate(numbers, crossed, truth)
        gates = [fitted_gate(numbers[each], crossed[each], truth[each]) for each in kept]
        first, self._left_out = np.unique(of, return_index=True)[1], list(zip(learnt, gates, strict=True))
        self._residuals = [
            np.abs(mixed(gate, numbers[rows], found[rows]) - truth[rows])
            for gate, found, rows in zip(gates, every, (first[1 + part.test] for part in parts), strict=True)
        ]

    def _examples(self, meta: MetaTrain) -> tuple[list[Reading], list[BoolArray], IntArray]:
        """Returns readings of source, sets and copies, which images are right, and whose (-1: source)."""
        rng, source = np.random.default_rng(self.seed), meta.source
        most = round(FEW * len(self.prior_))
        readings, correct, of = list[Reading](), list[BoolArray](), list[int]()
        for i in progress(range(-1, len(meta.sets)), "read sets", unit="sets"):
            seen, right = (source.observation, source.correct) if i < 0 else (meta.sets[i], meta.correct[i])
            labels: Any = source.labels if i < 0 else meta.labels[i] if meta.labels else None
            count = round(OF_SOURCE * len(meta.sets)) if i < 0 else COPIES
            chosen = [np.arange(len(right))]
            for _ in range(count if labels is not None else 0):
                classes = rng.permutation(np.unique(labels))[: rng.integers(1, most, endpoint=True)]
                chosen.append(np.flatnonzero(np.isin(labels, classes)))
            readings += [self._read(seen.take(rows)) for rows in chosen]
            correct += [right[rows] for rows in chosen]
            of += [i] * len(chosen)
        return readings, correct, np.array(of)

    def _read(self, seen: Observation) -> Reading:
        """Returns evidence, direct estimates and numbers of a set.

        Evidence of the classifier: the log-odds of its calibrated confidence under the set's class prior (by
        EM) and under the source's, the set's mean of the second, and of the logits' margins. Of the referee,
        each beside its mean over the set: the log-odds of its confidence, and of its probability of the
        predicted class under the set's prior and under the source's. Direct estimates: COTT under the
        source's prior, and agreement with the referee under the set's; without one COTT under the set's.
        """
        rows, predicted = np.arange(len(seen)), seen.predicted
        p, plain = priors.calibrated(seen, self.own_), cott_under(self.prior_, seen, *self.cott_)
        q, adapted, other, numbers = self._by_em(p, seen, plain)
        sure, best = _odds(p[rows, predicted]), np.sort(seen.logits.astype(np.float64), axis=1)[:, -2:]
        columns = [_odds(adapted[rows, predicted]), sure, sure.mean(), (best[:, 1] - best[:, 0]).mean()]
        shares = priors.predicted_shares(predicted, len(q))
        numbers += [entropy(shares, base=len(q)), _odds(plain, SET_EDGE)]
        if len(self.judge_):
            if seen.referee is None:
                raise UnusableInput(
                    f"gated learnt with a referee, and set {seen.set_name!r} was seen without"
                )
            r = priors.calibrated(_of_referee(seen), self.judge_)
            s, adapted, _, others = self._by_em(r, seen, plain)
            for values in (r.max(axis=1), adapted[rows, predicted], r[rows, predicted]):
                columns += [_odds(values), _odds(values).mean()]
            same, other = ((each.argmax(axis=1) == predicted).mean() for each in (r, adapted))
            judged = priors.predicted_shares(r.argmax(axis=1), len(q))
            numbers += [*others, np.minimum(q, s).sum(), np.minimum(shares, judged).sum()]
            numbers += [_odds(same, SET_EDGE), _odds(other, SET_EDGE)]
        table = np.column_stack(np.broadcast_arrays(*columns))
        return Reading(table, np.array([plain, other]), np.array(numbers))

    def _by_em(self, p: FloatArray, seen: Observation, plain: float) -> tuple[Any, Any, Any, list[Any]]:
        """Returns the EM prior, probabilities and COTT under it, and numbers of these and of p (n, k)."""
        q, k = priors.em_prior(p, self.prior_), len(self.prior_)
        cott, sure = cott_under(q, seen, *self.cott_), p.max(axis=1).mean()
        shape = [entropy(q, base=k), entropy(p.mean(axis=0), base=k), q.max(), (q > RARE / k).mean()]
        shape += [abs(plain - cott), _odds(cott, SET_EDGE), _odds(sure, SET_EDGE)]
        return q, priors.reweighted(p, self.prior_, q), cott, shape

    def _predict(self, observation: Observation) -> float:
        return _accuracy(self.models_, self.gate_, self._read(observation))

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        """Returns intervals from the errors of models that have not seen a set's operations."""

        def predict(observation: Any) -> FloatArray:
            reading = self._read(observation)
            return np.array([_accuracy(*each, reading) for each in self._left_out])

        parts = blocks(meta.families, BLOCKS)
        return CrossConformal(predict, self._residuals, Remoteness.of(meta.sets, parts))


def _regressions(readings: Sequence[Reading], correct: Sequence[BoolArray], rows: IntArray) -> Models:
    """Returns the regressions of whether an image is classed rightly, fitted to the sets at `rows`."""
    table = np.concatenate([readings[i].table for i in rows])
    right = np.concatenate([correct[i] for i in rows])
    return tuple(_regression(table[:, each], right) for each in COLUMNS if max(each) < table.shape[1])


def _regression(rows: FloatArray, correct: BoolArray) -> FloatArray:
    """Returns intercept and weights (1 + p,) of `correct` (n,), and one of each kind, on rows (n, p)."""
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), TINY)
    scaled = np.vstack([(rows - mean) / scale, np.zeros((2, len(mean)))])
    weights = LogisticRegression(max_iter=1000).fit(scaled, np.append(correct, [True, False]))
    slopes = weights.coef_[0] / scale
    return np.append(weights.intercept_[0] - slopes @ mean, slopes)


def _estimates(models: Models, reading: Reading) -> FloatArray:
    """Returns what the gate weighs: COTT and the median (2,); without a referee COTT twice and own (3,)."""
    columns = zip(models, COLUMNS, strict=False)
    own, *both = (expit(reading.table[:, of] @ each[1:] + each[0]).mean() for each, of in columns)
    plain, other = reading.direct
    return np.array([plain, np.median([own, np.mean(both), other])] if both else [plain, other, own])


def _accuracy(models: Models, gate: Gate, reading: Reading) -> float:
    return float(mixed(gate, reading.numbers[None], _estimates(models, reading)[None])[0])


def _of_referee(seen: Observation) -> Observation:
    """Returns the observation with the referee's log-probabilities in place of the classifier's logits."""
    assert seen.referee is not None
    logits = np.log(np.maximum(seen.referee, np.finfo(np.float32).tiny)).astype(np.float32)
    return Observation(seen.set_name, seen.classifier, logits)


def _odds(p: Any, edge: float = EDGE) -> Any:
    return logit(np.clip(p, edge, 1 - edge))
