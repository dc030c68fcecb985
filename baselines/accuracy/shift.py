"""How a set differs from the labelled images, class shares set aside, and whether its logits were scaled."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import wasserstein_distance

from baselines.accuracy.atc import confidence_log_odds
from baselines.accuracy.fd import fd, frechet_distance
from baselines.accuracy.priors import shares, source_prior
from baselines.contract.intervals import FAR, USUAL
from starter.observing.observation import Moments, Observation, Source, once
from submission.arrays import FloatArray, IntArray

PARTS = 8
"""Number of parts of the labelled images whose distances tell what is usual."""
LOG_SCALE, FITS, FITS_SAME_SHARES = np.log(1000), 0.75, 1.5
"""Largest logarithm of a scale, and how many usual distances scaled confidences may be from labelled ones:
fewer if classes are predicted in other shares, which no scale explains."""
DRAWS, BEYOND = 100, 5
"""Number of random splits of all images, and how many of their standard deviations are beyond chance."""
TINY = 1e-9
Rows = IntArray | slice


@dataclass(frozen=True)
class Shift:
    """What tells a set from labelled images that are weighted to have its class shares."""

    shares: FloatArray  # class shares of the set by EM, (k,)
    other_shares: (
        bool  # whether the predicted classes have other shares than chance gives the labelled images
    )
    distance: float  # Wasserstein, between log-odds of confidences, in the labelled images' deviations
    moved: float  # root of the Frechet distance of the features over the trace of their covariance
    outside: float  # the larger distance over that of parts of labelled images: nine of ten are below 1
    scale: float  # by which the set's logits seem to have been multiplied; 1 where nothing says so


@once
def _known(source: Source) -> FloatArray:
    """Returns the log-odds of the confidence in each labelled image, (n,)."""
    return confidence_log_odds(source.observation)


@dataclass(frozen=True)
class Labelled:
    """The labelled images, from which sets are told; `usual` keeps the distances of their parts by size."""

    source: Source
    usual: dict[int, FloatArray] = field(default_factory=dict)

    def shift(self, seen: Observation) -> Shift:
        """Returns how a set differs from the labelled images.

        Under label shift alone, labelled images with the weights q / pi of their classes have the set's
        confidences and features; what is left is another kind of shift. Where chance explains the predicted
        classes, the weights are even: those by EM on few images of many classes would be noise.
        """
        source = self.source
        prior = shares(seen, source)
        other = other_shares(seen.predicted, source.observation.predicted, len(prior))
        weights = (prior / source_prior(source))[source.labels] if other else np.ones(len(source.labels))
        confidences = confidence_log_odds(seen)
        n = min(len(seen), len(source.labels) // 2)
        rows = np.linspace(0, len(seen) - 1, n).astype(np.int64)
        some = seen.take(rows)
        usual = self._usual(n)
        found = self._distances(slice(None), weights, confidences[rows], some.features)
        ratio = float(np.divide(found, usual, out=np.zeros(2), where=usual > 0).max())
        moved = 0.0
        if seen.moments is not None and source.observation.features is not None:
            moments = _moments(source.observation.features, weights)
            known = replace(source, train_ref=replace(source.train_ref, moments=moments))
            moved = fd(seen, known) / max(np.trace(moments.covariance), TINY)
        return Shift(
            shares=prior,
            other_shares=other,
            distance=float(self._distances(slice(None), weights, confidences, None)[0]),
            moved=float(np.sqrt(max(moved, 0.0))),
            outside=ratio,
            scale=self._scale(some, weights, usual[0], other) if found[0] > FAR * usual[0] else 1.0,
        )

    def _usual(self, n: int) -> FloatArray:
        """Returns the distances (2,) within which nine of ten parts of n images are from the rest."""
        if n not in self.usual:
            rng, count = np.random.default_rng(0), len(self.source.labels)
            orders = [rng.permutation(count) for _ in range(PARTS)]
            even = np.ones(count)
            known = _known(self.source)
            features = self.source.observation.features
            distances = []
            for order in orders:
                part = None if features is None else features[order[:n]]
                distances.append(self._distances(order[n:], even, known[order[:n]], part))
            self.usual[n] = np.quantile(distances, USUAL, axis=0)
        return self.usual[n]

    def _distances(
        self, rows: Rows, weights: FloatArray, confidences: FloatArray, features: FloatArray | None
    ) -> FloatArray:
        """Returns the distances (2,) of a set by confidences and features (0 without) from labelled rows."""
        known, own = _known(self.source), self.source.observation.features
        apart = wasserstein_distance(confidences, known[rows], None, weights[rows])
        moved = 0.0
        if own is not None and features is not None:
            moved = frechet_distance(_moments(own[rows], weights[rows]), Moments.of(features))
        return np.array([apart / max(known.std(), TINY), moved if moved > TINY else 0.0])

    def _scale(self, seen: Observation, weights: FloatArray, usual: float, other: bool) -> float:
        """Returns the factor without which confidences fit the weighted labelled ones; 1 without one."""

        def distance(log_scale: float) -> float:
            confidences = confidence_log_odds(seen, np.exp(log_scale))
            return float(self._distances(slice(None), weights, confidences, None)[0])

        found = minimize_scalar(
            distance, bounds=(-LOG_SCALE, LOG_SCALE), method="bounded", options={"xatol": 0.01}
        )
        fits = FITS if other else FITS_SAME_SHARES
        return float(np.exp(found.x)) if found.fun < fits * usual else 1.0


def other_shares(predicted: IntArray, known: IntArray, classes: int) -> bool:
    """Returns whether the classes predicted for a set (n,) and for labelled images (m,) differ beyond chance.

    The chi-square statistic is compared with those of random splits of all these images.
    """
    of_set, of_known = (np.bincount(each, minlength=classes) for each in (predicted, known))
    both = of_set + of_known
    drawn = np.random.default_rng(0).multivariate_hypergeometric(both, len(predicted), DRAWS)
    expected = both * (len(predicted) / both.sum())
    own, usual = (np.square(x - expected) @ (1 / np.maximum(both, 1)) for x in (of_set, drawn))
    return bool(own > usual.mean() + BEYOND * usual.std())


def divided(seen: Observation, scale: float) -> Observation:
    """Returns the observation with its logits divided by a scale."""
    return replace(seen, logits=(seen.logits / scale).astype(np.float32))


def _moments(features: FloatArray, weights: FloatArray) -> Moments:
    """Returns the moments of features (n, d) whose rows have weights (n,)."""
    rows, share = features.astype(np.float64), weights / weights.sum()
    mean = share @ rows
    return Moments(mean, ((rows - mean) * share[:, None]).T @ (rows - mean), len(rows))
