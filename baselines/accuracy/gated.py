"""gated: the kit's own method, a learned gate over direct estimates; docs/results/gated.md has its errors."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit, logit
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression

from baselines.accuracy import priors
from baselines.accuracy.cot import cott_threshold, right_of_class
from baselines.contract.estimator import Estimator
from baselines.contract.families import blocks
from baselines.contract.intervals import FAR, USUAL, CrossConformal, Remoteness
from starter.observing.observation import MetaTrain, Observation
from starter.observing.temperature import temperature
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.progress import progress

EDGE, SET_EDGE, TINY = 1e-4, 5e-3, 1e-6
"""Smallest distance from 0 and 1 of an image's and of a set's probability in log-odds; smallest divisor."""
COPIES, OF_SOURCE, FEW = 3, 0.6, 0.6
"""Copies of a meta-train set, and of the source per such set; the largest share of the classes in a copy."""
LIMIT, WIDTH, RIDGE = 3.0, 0.02, 0.00075
"""Of the gate: deviations at which numbers are cut, error below which loss is quadratic, penalty."""
BLOCKS, KEPT, POOR = 6, 0.95, 2.0
"""Number of blocks of operations left out together; share of the sets that one regression keeps; median error
of the classifier's regression, in that of those with the referee, that is poor."""
Votes = list[list[int]]
VOTES = {2: [[1], [1]], 6: [[1, 2, 5], [1, 2, 3, 4, 5]], 0: [[3, 5], [3, 5]]}
"""Parts in the median of sets near to those learnt from, and of others, by their number; 0 if poor."""
COLUMNS = {7: ([0, 1, 2, 3, 4, 5, 6],), 10: ([0, 1, 2, 3], [0, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 8, 9])}
"""Evidence that each regression reads, by the number of columns: all; with a referee the classifier's, and
both networks' under the set's prior and under the source's."""
Models = tuple[FloatArray, ...]
Gate = tuple[FloatArray, FloatArray, float, Votes]
"""Weights (1 + p,) of COTT's log-odds, the known sets' numbers, the usual distance from these, and votes."""


class Reading(NamedTuple):
    """What is read from a set: evidence (n, 7 or 10), direct estimates (1 or 4,), the gate's numbers (p,)."""

    table: FloatArray
    direct: FloatArray
    numbers: FloatArray


def fitted_gate(rows: FloatArray, errors: FloatArray, usual: float, votes: Votes) -> Gate:
    """Returns the gate for m sets: numbers (m, 1 + p), errors of the parts (m, 2 or 6)."""
    first, second, free = errors[:, 0], np.median(errors[:, votes[0]], axis=1), np.arange(rows.shape[1]) > 0

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        share = expit(rows @ weights)
        error = share * first + (1 - share) * second
        size = np.sqrt(error**2 + WIDTH**2)
        pull = error / size * share * (1 - share) * (first - second)
        slope = pull @ rows / len(rows) + 2 * RIDGE * weights * free / len(weights)
        return float(size.mean() + RIDGE * (weights**2 * free).mean()), slope

    return minimize(loss, np.zeros(len(free)), jac=True, method="L-BFGS-B").x, rows, usual, votes


def mixed(gate: Gate, rows: FloatArray, parts: FloatArray) -> FloatArray:
    """Returns the means (m,) of COTT, the first of the parts, and the others' median, weighed by the gate."""
    weights, known, usual, votes = gate
    share, far = expit(rows @ weights), cdist(rows, known).min(axis=1) > FAR * usual
    near, other = (np.median(parts[:, each], axis=1) for each in votes)
    return share * parts[:, 0] + (1 - share) * np.where(far, other, near)


def _scaled(numbers: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    return np.insert(np.clip((numbers - mean) / scale, -LIMIT, LIMIT), 0, 1.0, axis=1)


class Gated(Estimator):
    """A learned gate over COTT and the median of two regressions and the referee's agreement.

    COTT under the source's class prior is right where a set has the source's classes, the median on
    photographs; far from the sets learnt from, or if each has several operations, all other estimates are in
    it. Without a referee it is a regression that reads image statistics. Left-out operations teach the gate.
    COTT: Lu et al., NeurIPS 2023; agreement: Jiang et al., ICLR 2022; the gate is the kit's own.

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
        source, parts = meta.source, blocks(meta.families, BLOCKS)
        self.prior_, self.own_ = priors.source_prior(source), priors.bias_corrected(source)
        self.cott_ = temperature(source), cott_threshold(source)
        self.judge_: FloatArray = np.zeros(0)
        if source.observation.referee is not None:
            self.judge_ = priors.bias_corrected(replace(source, observation=_of_referee(source.observation)))
        readings, correct, of = self._examples(meta)
        numbers = np.array([each.numbers for each in readings])
        self.scale_ = numbers.mean(axis=0), np.maximum(numbers.std(axis=0), TINY)
        rows, truth = _scaled(numbers, *self.scale_), np.array([[each.mean()] for each in correct])
        left = np.array([np.isin(of, part.test) for part in parts])
        learnt = [_regressions(readings, correct, np.flatnonzero(~each)) for each in left]
        missed = [[_parts(models, each) for each in readings] for models in learnt] - truth  # (b, m, parts)
        foreign = (left | ~left.any(axis=0))[:, :, None]  # what no block touches is estimated by all
        errors = np.average(missed, axis=0, weights=np.broadcast_to(foreign, missed.shape))
        off = np.median(np.abs(errors), axis=0)
        near, far = VOTES[0 if off[1] > POOR * off[-1] else len(off)]
        several = min(filter(None, map(len, meta.families)), default=1)
        errors[:, 1] *= several**0.5  # of a new set's operations those left out are but a part
        tested = [np.searchsorted(of, part.test) for part in parts]  # the whole set comes before its copies
        apart = [cdist(rows[own], rows[~each]).min(axis=1) for own, each in zip(tested, left, strict=True)]
        rest = float(np.quantile(np.concatenate(apart), USUAL)), [near if several == 1 else far, far]
        self.models_ = _regressions(readings, correct, np.arange(len(of)))
        self.gate_ = fitted_gate(rows, errors, *rest)
        gates = [fitted_gate(rows[each], errors[each], *rest) for each in ~left]
        self._left_out = list(zip(learnt, gates, strict=True))
        each = zip(gates, missed, tested, strict=True)
        self._residuals = [np.abs(mixed(gate, rows[own], found[own])) for gate, found, own in each]

    def _examples(self, meta: MetaTrain) -> tuple[list[Reading], list[BoolArray], IntArray]:
        """Returns readings of source, sets and copies, which images are right, and whose (-1: source)."""
        rng, source, most = np.random.default_rng(self.seed), meta.source, round(FEW * len(self.prior_))
        readings, correct, of = list[Reading](), list[BoolArray](), list[int]()
        for i in progress(range(-1, len(meta.sets)), "read sets", unit="sets"):
            seen, right = (source.observation, source.correct) if i < 0 else (meta.sets[i], meta.correct[i])
            labels: Any = source.labels if i < 0 else meta.labels[i] if meta.labels else None
            count = round(OF_SOURCE * len(meta.sets)) if i < 0 else COPIES
            chosen = [np.arange(len(right))]
            for _ in range(count if labels is not None and most > 1 else 0):
                classes = rng.permutation(np.unique(labels))[: rng.integers(1, most, endpoint=True)]
                chosen.append(np.flatnonzero(np.isin(labels, classes)))
            readings += [self._read(seen.take(rows)) for rows in chosen]
            correct += [right[rows] for rows in chosen]
            of += [i] * len(chosen)
        return readings, correct, np.array(of)

    def _read(self, seen: Observation) -> Reading:
        """Returns evidence, direct estimates and numbers of a set.

        Evidence: log-odds of the calibrated confidence under the set's class prior (by EM) and the source's,
        means of the second and of the margins; of the referee, each beside its mean, its confidence and its
        probability of the predicted class under both priors, else means of the image statistics' logarithms.
        Direct: COTT, agreement under both priors, and COTT under the referee's.
        """
        rows, predicted = np.arange(len(seen)), seen.predicted
        p, right = priors.calibrated(seen, self.own_), right_of_class(self.prior_, seen, *self.cott_)
        adapted, numbers = self._by_em(p, seen)
        sure, best = _odds(p[rows, predicted]), np.sort(seen.logits.astype(np.float64), axis=1)[:, -2:]
        columns = [_odds(adapted[rows, predicted]), sure, sure.mean(), np.diff(best).mean()]
        numbers, direct = [*numbers, _between(right, self.prior_), *_spread(seen.logits)], [right.sum()]
        if len(self.judge_):
            r = priors.calibrated(_of_referee(seen), self.judge_)
            adapted, others = self._by_em(r, seen)
            for values in (r.max(axis=1), adapted[rows, predicted], r[rows, predicted]):
                columns += [_odds(values), _odds(values).mean()]
            same, other = ((each.argmax(axis=1) == predicted).mean() for each in (r, adapted))
            numbers += [*others, *_odds([same, other], SET_EDGE)]
            direct += [other, same, expit(others[1])]
        else:
            assert seen.image_stats is not None
            columns += list(np.log(np.maximum(seen.image_stats, TINY)).mean(axis=0))
        return Reading(np.column_stack(np.broadcast_arrays(*columns)), np.array(direct), np.array(numbers))

    def _by_em(self, p: FloatArray, seen: Observation) -> tuple[FloatArray, list[Any]]:
        """Returns probabilities under the EM prior, and numbers of p (n, k) and of COTT under that prior."""
        q = priors.em_prior(p, self.prior_)
        cott, sure = right_of_class(q, seen, *self.cott_).sum(), p.max(axis=1).mean()
        numbers = [entropy(p.mean(axis=0), base=len(q)), *_odds([cott, sure], SET_EDGE)]
        return priors.reweighted(p, self.prior_, q), numbers

    def _predict(self, observation: Observation) -> float:
        return float(self._answers([(self.models_, self.gate_)], observation)[0])

    def _answers(self, pairs: Sequence[Any], seen: Any) -> FloatArray:
        """Returns the estimates for a set by each pair of regressions and gate."""
        reading = self._read(seen)
        row = _scaled(reading.numbers[None], *self.scale_)
        return np.concatenate([mixed(gate, row, _parts(models, reading)[None]) for models, gate in pairs])

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        """Returns intervals from the errors of models that have not seen a set's operations."""
        remoteness = Remoteness.of(meta.sets, blocks(meta.families, BLOCKS))
        return CrossConformal(partial(self._answers, self._left_out), self._residuals, remoteness)


def _regressions(readings: Sequence[Reading], correct: Sequence[BoolArray], rows: IntArray) -> Models:
    """Returns the regressions of whether an image is classed rightly, fitted to the sets at `rows`.

    One alone, which no median guards, is fitted again without the sets that it misses most.
    """
    table = np.concatenate([readings[i].table for i in rows])
    right = np.concatenate([correct[i] for i in rows])
    models = tuple(_regression(table[:, each], right) for each in COLUMNS[table.shape[1]])
    if len(models) > 1:
        return models
    off = np.array([abs(_parts(models, readings[i])[1] - correct[i].mean()) for i in rows])
    kept = np.repeat(off <= np.quantile(off, KEPT), [len(correct[i]) for i in rows])
    return (_regression(table[kept], right[kept]),)


def _regression(rows: FloatArray, correct: BoolArray) -> FloatArray:
    """Returns intercept and weights (1 + p,) of `correct` (n,), and one of each kind, on rows (n, p)."""
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), TINY)
    scaled = np.vstack([(rows - mean) / scale, np.zeros((2, len(mean)))])
    weights = LogisticRegression(max_iter=1000).fit(scaled, np.append(correct, [True, False]))
    slopes = weights.coef_[0] / scale
    return np.append(weights.intercept_[0] - slopes @ mean, slopes)


def _parts(models: Models, reading: Reading) -> FloatArray:
    """Returns COTT, the classifier's regression, and with a referee the direct ones and both networks'."""
    columns = zip(models, COLUMNS[reading.table.shape[1]], strict=True)
    own, *both = (expit(reading.table[:, of] @ each[1:] + each[0]).mean() for each, of in columns)
    return np.array([reading.direct[0], own, *reading.direct[1:], *([np.mean(both)] if both else [])])


def _between(right: FloatArray, prior: FloatArray) -> float:
    """Returns the share between classes of the variance of COTT's right or wrong, near 1 for few classes."""
    mean = right.sum()
    return float(((right - mean * prior) ** 2 / prior).sum() / max(mean * (1 - mean), TINY))


def _spread(logits: FloatArray) -> tuple[float, float]:
    """Returns log_k of tr(C)^2 / tr(C^2), C the logits' covariance, and skewness: low for few classes."""
    centred = logits - logits.mean(axis=1, keepdims=True, dtype=np.float64)
    spread, off = np.cov(centred.T, bias=True), centred - centred.mean(axis=0)
    ratio = np.trace(spread) ** 2 / max((spread**2).sum(), TINY)
    skewness = ((off / np.maximum(off.std(axis=0), TINY)) ** 3).mean()
    return np.log(max(ratio, 1)) / np.log(len(spread)), skewness


def _of_referee(seen: Observation) -> Observation:
    """Returns the observation with the referee's log-probabilities in place of the classifier's logits."""
    assert seen.referee is not None, f"gated learnt with a referee, {seen.set_name!r} was seen without"
    logits = np.log(np.maximum(seen.referee, np.finfo(np.float32).tiny)).astype(np.float32)
    return Observation(seen.set_name, seen.classifier, logits)


def _odds(p: Any, edge: float = EDGE) -> Any:
    return logit(np.clip(p, edge, 1 - edge))
