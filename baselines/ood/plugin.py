"""Plug-in estimates: subtracting the IND scores from a mix's scores leaves the scores of its OOD images.

The metric follows from the two distributions, F_ref for IND and (F_mix - p F_ref) / (1 - p) for OOD images,
with the IND share p. The share is estimated as in Garg, Wu, Smola, Balakrishnan & Lipton, "Mixture Proportion
Estimation and PU Learning: A Modern Approach", NeurIPS 2021, arXiv 2111.00980; the rest was developed for
this kit.
"""

import numpy as np
from scipy.optimize import isotonic_regression

from baselines.contract.estimator import Estimator
from baselines.ood.gscore import reference_scores
from starter.observing.observation import MetaTrain, ScoredMix
from submission.arrays import FloatArray

DELTA = 0.9
"""Probability with which a bound in `ind_share` may fail; of 0.001, 0.1 (the published value) and 0.9 the
best on meta-train mixes of 50 to 800 images."""
LEVELS = np.linspace(0.02, 1, 50)
"""Shares of the reference, at whose quantiles a mix is compared with it."""
LEAST_SHARE, MOST_SHARE = 0.05, 0.9
"""Range of an estimated IND share; near 1 the scores of the OOD images could not be separated."""
POINTS = 400
"""Smallest number of IND scores for computing a metric, enough for a threshold at 95 % of them."""


def ind_share(mix: FloatArray, reference: FloatArray, delta: float = DELTA) -> float:
    """Returns the IND share of a mix, in [0.05, 0.9], by best bin estimation (Garg et al. 2021, eq. 4).

    Below any score c, a mix has at least the images that its IND images contribute: share <= F_mix(c) /
    F_ref(c). The estimate is the ratio at the score c with the smallest upper confidence bound. The paper's
    factor 1 + gamma, gamma = 0.01, of the bounds' widths is left out. Scores are the mix's (n,) and the
    reference's (r,), ascending; each bound (Dvoretzky, Kiefer & Wolfowitz) fails with the probability
    `delta`.
    """
    cuts = reference[np.ceil(LEVELS * len(reference)).astype(int) - 1]
    of_reference = np.searchsorted(reference, cuts, side="right") / len(reference)
    of_mix = np.searchsorted(np.sort(mix), cuts, side="right") / len(mix)
    slack = sum(np.sqrt(np.log(4 / delta) / (2 * n)) for n in (len(mix), len(reference)))
    best = ((of_mix + slack) / of_reference).argmin()
    return float(np.clip(of_mix[best] / of_reference[best], LEAST_SHARE, MOST_SHARE))


def ood_scores(mix: FloatArray, reference: FloatArray, share: float, count: int) -> FloatArray:
    """Returns `count` scores, ascending, at even quantiles of the OOD part of a mix.

    Its distribution function is (F_mix - share F_ref) / (1 - share), clipped, and monotone by isotonic
    regression.
    """
    values, counts = np.unique(mix, return_counts=True)
    of_reference = np.searchsorted(reference, values, side="right") / len(reference)
    rest = np.clip((counts.cumsum() / len(mix) - share * of_reference) / (1 - share), 0.0, 1.0)
    rising = isotonic_regression(rest, weights=counts).x
    places = np.searchsorted(rising, (np.arange(count) + 0.5) / count)
    return values[np.minimum(places, len(values) - 1)]


def detection_metric(metric: str, reference: FloatArray, ood: FloatArray, share: float) -> float:
    """Returns a metric of DETECTION_METRICS for IND scores like the reference's (r,) and OOD scores (m,).

    AUPR depends on the IND `share`, for which even quantiles of the reference are taken, and OOD scores
    repeated.
    """
    from starter.observing.detectors.metrics import DETECTION_METRICS

    odds = share / (1 - share)
    times = int(np.ceil(POINTS / (len(ood) * odds)))
    count = max(round(times * len(ood) * odds), 1)
    places = ((np.arange(count) + 0.5) / count * len(reference)).astype(int)
    return DETECTION_METRICS[metric](reference[places], np.repeat(ood, times))


def plug_in(metric: str, mix: FloatArray, reference: FloatArray, share: float) -> float:
    """Returns the metric of a mix's scores (n,) if this share of them is IND and like the reference."""
    count = max(round(POINTS * (1 - share) / share), 100)
    return detection_metric(metric, reference, ood_scores(mix, reference, share, count), share)


class Plugin(Estimator):
    """The metric after the IND scores are subtracted from the mix's (IND share: Garg et al. 2021).

    Args:
        share: IND share of the mixes, in (0, 1): with 0.5, the 1:1 of the Gscore paper, it shows how easy a
            fixed ratio is. None estimates the share of each mix by `ind_share`.
    """

    def __init__(self, share: float | None = 0.5) -> None:
        self.share = share

    def _fit(self, meta: MetaTrain) -> None:
        self._require("share", self.share is None or 0 < self.share < 1, "between 0 and 1")
        self.reference_ = reference_scores(meta.source)

    def _predict(self, mix: ScoredMix) -> float:
        scores = mix.scores
        share = ind_share(scores, self.reference_) if self.share is None else self.share
        return plug_in(mix.metric, scores, self.reference_, share)
