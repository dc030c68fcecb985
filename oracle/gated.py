"""gated: the kit's own method, a learned gate over direct estimates; docs/results/gated.md has the trials."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
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
from submission.progress import progress

EDGE, SET_EDGE, TINY = 1e-4, 5e-3, 1e-6
"""Smallest distance from 0 and 1 of an image's and of a set's probability in log-odds; smallest divisor."""
COPIES, OF_SOURCE, FEW = 3, 0.6, 0.6
"""Copies of a meta-train set, and of the source per such set; the largest share of the classes in a copy."""
LIMIT, WIDTH, RIDGE = 3.0, 0.02, 0.00075
"""Of the gate: deviations at which numbers are cut, error below which loss is quadratic, penalty."""
BLOCKS, KEPT, POOR = 6, 0.95, 2.0
"""Number of blocks of operations left out together; share of the sets that one regression keeps; median error
of the classifier's regression, in that of those with the referee, from which on it has no vote."""
COLUMNS = {7: ([0, 1, 2, 3, 4, 5, 6],), 10: ([0, 1, 2, 3], [0, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 8, 9])}
"""Evidence that each regression reads, by the number of columns: without a referee all; with one the
classifier's, and both networks' under the set's prior, and under the source's."""

Gate = tuple[FloatArray, FloatArray, FloatArray, list[int]]
"""Mean and scale of the numbers (p,), weights (1 + p,) of COTT's log-odds, and the parts in the median."""


@dataclass(frozen=True)
class Reading:
    """What is read from a set: evidence (n, 7 or 10), direct estimates (1 or 2,), the gate's numbers (p,)."""

    table: FloatArray
    direct: FloatArray
    numbers: FloatArray


def fitted_gate(numbers: FloatArray, parts: FloatArray, votes: list[int], truth: FloatArray) -> Gate:
    """Returns the gate for m sets: numbers (m, p), parts (m, 2 or 5), accuracies (m,)."""
    mean, scale = numbers.mean(axis=0), np.maximum(numbers.std(axis=0), TINY)
    rows, free = _scaled(numbers, mean, scale), np.arange(numbers.shape[1] + 1) > 0
    first, second = parts[:, 0], np.median(parts[:, votes], axis=1)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        share = expit(rows @ weights)
        error = share * first + (1 - share) * second - truth
        size = np.sqrt(error**2 + WIDTH**2)
        pull = error / size * share * (1 - share) * (first - second)
        slope = pull @ rows / len(rows) + 2 * RIDGE * weights * free / len(weights)
        return float(size.mean() + RIDGE * (weights**2 * free).mean()), slope

    return mean, scale, minimize(loss, np.zeros(len(free)), jac=True, method="L-BFGS-B").x, votes


def mixed(gate: Gate, numbers: FloatArray, parts: FloatArray) -> FloatArray:
    """Returns the means (m,) of COTT, the first of the parts, and the median, weighed by the gate."""
    mean, scale, weights, votes = gate
    share = expit(_scaled(numbers, mean, scale) @ weights)
    return share * parts[:, 0] + (1 - share) * np.median(parts[:, votes], axis=1)


def _scaled(numbers: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    return np.insert(np.clip((numbers - mean) / scale, -LIMIT, LIMIT), 0, 1.0, axis=1)


class Gated(Estimator):
    """A learned gate over COTT and the median of two regressions and the referee's agreement.

    COTT under the source's class prior is right where a set has the source's classes, as distorted images
    have; the median of a regression on the classifier's evidence, if it is not far worse, regressions on the
    referee's too, and their agreement on photographs. Without a referee a regression on the classifier's
    evidence and image statistics stands for it. The gate weighs the two by numbers that describe the set,
    and learns from regressions that have not seen its operations, and from copies of few classes.
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
        truth = np.array([each.mean() for each in correct])
        kept = [~np.isin(of, part.test) for part in parts]
        learnt = [_regressions(readings, correct, np.flatnonzero(each)) for each in kept]
        every = np.array([[_parts(models, each) for each in readings] for models in learnt])  # (b, m, parts)
        foreign = ~np.array(kept) | np.all(kept, axis=0)  # what no block touches is estimated by all
        crossed = np.average(every, axis=0, weights=np.broadcast_to(foreign[:, :, None], every.shape))
        off = np.median(np.abs(crossed - truth[:, None]), axis=0)
        votes = [2, 4] if len(off) > 2 and off[1] > POOR * off[2] else [1, 2, 3][: len(off) - 1]
        self.models_ = _regressions(readings, correct, np.arange(len(of)))
        self.gate_ = fitted_gate(numbers, crossed, votes, truth)
        gates = [fitted_gate(numbers[each], crossed[each], votes, truth[each]) for each in kept]
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
            for _ in range(count if labels is not None and most > 1 else 0):
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
        each beside its mean: the log-odds of its confidence, and of its probability of the predicted class
        under both priors; without one, the mean logarithm of each image statistic. Direct estimates: COTT
        under the source's prior, and agreement under the set's, and under that by which networks agree more.
        """
        rows, predicted = np.arange(len(seen)), seen.predicted
        p, plain = priors.calibrated(seen, self.own_), cott_under(self.prior_, seen, *self.cott_)
        q, adapted, numbers = self._by_em(p, seen, plain)
        sure, best = _odds(p[rows, predicted]), np.sort(seen.logits.astype(np.float64), axis=1)[:, -2:]
        columns = [_odds(adapted[rows, predicted]), sure, sure.mean(), (best[:, 1] - best[:, 0]).mean()]
        shares = priors.predicted_shares(predicted, len(q))
        numbers += [entropy(shares, base=len(q)), _odds(plain, SET_EDGE), *_spread(seen.logits)]
        direct = [plain]
        if len(self.judge_):
            r = priors.calibrated(_of_referee(seen), self.judge_)
            s, adapted, others = self._by_em(r, seen, plain)
            for values in (r.max(axis=1), adapted[rows, predicted], r[rows, predicted]):
                columns += [_odds(values), _odds(values).mean()]
            same, other = ((each.argmax(axis=1) == predicted).mean() for each in (r, adapted))
            numbers += [*others, np.minimum(q, s).sum(), _odds(same, SET_EDGE), _odds(other, SET_EDGE)]
            direct += [other, max(same, other)]
        else:
            assert seen.image_stats is not None
            columns += list(np.log(np.maximum(seen.image_stats, TINY)).mean(axis=0))
        return Reading(np.column_stack(np.broadcast_arrays(*columns)), np.array(direct), np.array(numbers))

    def _by_em(self, p: FloatArray, seen: Observation, plain: float) -> tuple[Any, Any, list[Any]]:
        """Returns the EM prior, probabilities under it, and numbers of these, of COTT and of p (n, k)."""
        q, k = priors.em_prior(p, self.prior_), len(self.prior_)
        cott, sure = cott_under(q, seen, *self.cott_), p.max(axis=1).mean()
        shape = [entropy(q, base=k), entropy(p.mean(axis=0), base=k), q.max()]
        shape += [abs(plain - cott), _odds(cott, SET_EDGE), _odds(sure, SET_EDGE)]
        return q, priors.reweighted(p, self.prior_, q), shape

    def _predict(self, observation: Observation) -> float:
        return float(self._answers([(self.models_, self.gate_)], observation)[0])

    def _answers(self, pairs: Sequence[Any], seen: Any) -> FloatArray:
        """Returns the estimates for a set by each pair of regressions and gate."""
        reading = self._read(seen)
        parted = [(gate, _parts(models, reading)[None]) for models, gate in pairs]
        return np.concatenate([mixed(gate, reading.numbers[None], parts) for gate, parts in parted])

    def _make_conformal(self, meta: MetaTrain) -> CrossConformal:
        """Returns intervals from the errors of models that have not seen a set's operations."""
        remoteness = Remoteness.of(meta.sets, blocks(meta.families, BLOCKS))
        return CrossConformal(partial(self._answers, self._left_out), self._residuals, remoteness)


def _regressions(
    readings: Sequence[Reading], correct: Sequence[BoolArray], rows: IntArray
) -> tuple[FloatArray, ...]:
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


def _parts(models: Sequence[FloatArray], reading: Reading) -> FloatArray:
    """Returns COTT and the classifier's regression, and with a referee both networks', and agreement."""
    columns = zip(models, COLUMNS[reading.table.shape[1]], strict=True)
    own, *both = (expit(reading.table[:, of] @ each[1:] + each[0]).mean() for each, of in columns)
    plain, *agreement = reading.direct
    return np.array([plain, own, *([np.mean(both), *agreement] if both else [])])


def _spread(logits: FloatArray) -> tuple[float, float]:
    """Returns log_k of tr(C)^2 / tr(C^2), C the logits' covariance, and skewness: low for few classes."""
    centred = logits - logits.mean(axis=1, keepdims=True, dtype=np.float64)
    centred -= centred.mean(axis=0)
    centred /= centred.std() or 1.0
    inner, second = centred.T @ centred, np.maximum((centred**2).mean(axis=0), TINY)
    ratio = np.trace(inner) ** 2 / max((inner**2).sum(), TINY)
    skewness = (centred**3).mean(axis=0) / second**1.5
    return float(np.log(max(ratio, 1)) / np.log(len(inner))), float(skewness.mean())


def _of_referee(seen: Observation) -> Observation:
    """Returns the observation with the referee's log-probabilities in place of the classifier's logits."""
    assert seen.referee is not None, f"gated learnt with a referee, {seen.set_name!r} was seen without"
    logits = np.log(np.maximum(seen.referee, np.finfo(np.float32).tiny)).astype(np.float32)
    return Observation(seen.set_name, seen.classifier, logits)


def _odds(p: Any, edge: float = EDGE) -> Any:
    return logit(np.clip(p, edge, 1 - edge))
