"""Class priors of an unlabelled set under label shift, and the accuracy that is expected under them.

Under label shift p(x | y) stays and p(y) changes: from the source's prior pi, (k,), to the set's own q, (k,).
EM (MLLS: Saerens, Latinne & Decaestecker, Neural Computation 2002) with bias-corrected temperature scaling
(Alexandari, Kundaje & Shrikumar, ICML 2020); BBSE (Lipton, Wang & Smola, ICML 2018); RLLS (Azizzadenesheli,
Liu, Yang & Anandkumar, ICLR 2019).
"""

import numpy as np
from scipy.optimize import minimize, minimize_scalar, nnls
from scipy.special import log_softmax, softmax

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation, Source
from starter.observing.once import once
from starter.observing.temperature import LOG_RANGE, temperature
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput

PRIORS = ("em", "bbse", "rlls", "referee")
"""EM on the classifier's calibrated probabilities, BBSE, RLLS, and EM on the referee's probabilities."""
NEAR = 1e-6
"""EM ends when no share of a class changes by as much."""
MOST_STEPS = 10_000
CHANCE, SHARE = 0.05, 0.01
"""RLLS: the bound of its error holds but for this chance, and this share of the bound is the penalty."""
LOG_RIDGE = (-14.0, 4.0)
"""Where the decimal logarithm of the ridge is sought that solves RLLS."""
LARGEST_BIAS = 20.0


def source_prior(source: Source) -> FloatArray:
    """Returns pi, the share of each class among the reference images, float64 (k,), sum 1, all above 0.

    A class without an image counts as half of one, so that a set may have it.
    """
    counts = np.bincount(source.labels, minlength=source.observation.logits.shape[1])
    whole = np.where(counts > 0, counts, 0.5)
    return whole / whole.sum()


@once
def bias_corrected(source: Source) -> FloatArray:
    """Returns 1 / T and the biases b, in one float64 (1 + k,), that fit softmax(f / T + b) to the source.

    They minimise the mean negative log-likelihood of the labels (BCTS), which is convex in both; b has mean 0
    and no entry beyond 20. A calibrated mean per class is what EM for the prior rests on.
    """
    logits = source.observation.logits.astype(np.float64)
    n, k = logits.shape
    rows = np.arange(n)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        logs = log_softmax(parameters[0] * logits + parameters[1:], axis=1)
        off = np.exp(logs)
        off[rows, source.labels] -= 1
        slope = np.concatenate([[np.vdot(off, logits)], off.sum(axis=0)]) / n
        return float(-logs[rows, source.labels].mean()), slope

    start = np.concatenate([[1 / temperature(source)], np.zeros(k)])
    low, high = (float(np.exp(-edge)) for edge in reversed(LOG_RANGE))
    bounds = [(low, high), *[(-LARGEST_BIAS, LARGEST_BIAS)] * k]
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def calibrated(observation: Observation, parameters: FloatArray) -> FloatArray:
    """Returns softmax(f / T + b) of each image, float64 (n, k).

    `parameters` are those of `bias_corrected`.
    """
    return softmax(observation.logits.astype(np.float64) * parameters[0] + parameters[1:], axis=1)


def reweighted(p: FloatArray, pi: FloatArray, q: FloatArray) -> FloatArray:
    """Returns posteriors (n, k) under the prior q of those, p, under pi: p_c q_c / pi_c, normalised over c.

    An image to which no class with a share in q is possible keeps its p.
    """
    weighed = p * (q / pi)
    total = weighed.sum(axis=1, keepdims=True)
    return np.where(total > 0, weighed / np.where(total > 0, total, 1.0), p)


def em_prior(p: FloatArray, pi: FloatArray) -> FloatArray:
    """Returns the prior q (k,) of largest likelihood for posteriors p (n, k), calibrated under pi (k,).

    It is found by EM.

    From q = pi on, q becomes the mean of `reweighted` posteriors until no share changes by 1e-6: here as one
    product of matrices, q_c sum_i (p_ic / pi_c) / (n sum_d q_d p_id / pi_d).
    """
    q, ratios = pi, p / pi
    for _ in range(MOST_STEPS):
        before, q = q, q * ((1 / (ratios @ q)) @ ratios) / len(p)
        if np.abs(q - before).max() < NEAR:
            break
    return q / q.sum()


def predicted_shares(predicted: IntArray, k: int) -> FloatArray:
    """Returns mu, the share of images that each class is predicted for, float64 (k,)."""
    return np.bincount(predicted, minlength=k) / len(predicted)


def confusion(source: Source) -> FloatArray:
    """Returns C (k, k): the share of reference images predicted as class i (row) that are of class j."""
    k = source.observation.logits.shape[1]
    places = source.observation.predicted * k + source.labels
    return np.bincount(places, minlength=k * k).reshape(k, k) / len(source.labels)


def bbse_prior(predicted: IntArray, source: Source) -> FloatArray:
    """Returns the prior q (k,) that explains how often each class is predicted (n,).

    C w = mu, q = pi w, q >= 0.

    Solved by non-negative least squares, then divided by its sum; where no class of the source explains what
    is predicted, it is the source's prior.
    """
    joint = confusion(source)
    weights = nnls(joint, predicted_shares(predicted, len(joint)))[0]
    return _normalised(weights, source)


def rlls_prior(predicted: IntArray, source: Source) -> FloatArray:
    """Returns BBSE drawn towards the source's prior: the less it knows of C, the further.

    w = 1 + theta minimises |C theta - (mu - C 1)| + rho |theta| over theta >= -1, both norms Euclidean;
    rho = .01 * 3 (2 L / (3 n) + sqrt(2 L / n)) with L = log(2 k / .05), as in the authors' code. Solutions
    lie on the path of ridge regressions, along which the one that is best here is sought.
    """
    joint = confusion(source)
    k = len(joint)
    shares = predicted_shares(predicted, k)
    bound = 2 * np.log(2 * k / CHANCE) / len(source.labels)
    rho = SHARE * 3 * (bound / 3 + np.sqrt(bound))

    def weights(log_ridge: float) -> FloatArray:
        root = np.sqrt(10**log_ridge)
        left = np.vstack([joint, root * np.eye(k)])
        return nnls(left, np.concatenate([shares, np.full(k, root)]))[0]

    def objective(log_ridge: float) -> float:
        w = weights(log_ridge)
        return float(np.linalg.norm(joint @ w - shares) + rho * np.linalg.norm(w - 1))

    best = minimize_scalar(objective, bounds=LOG_RIDGE, method="bounded", options={"xatol": 1e-4})
    return _normalised(weights(best.x), source)


def _normalised(weights: FloatArray, source: Source) -> FloatArray:
    """Returns pi w, divided by its sum; pi where all is 0."""
    pi = source_prior(source)
    q = pi * weights
    return q / q.sum() if q.sum() > 0 else pi


class UnderPrior(Estimator):
    """A method that first finds the class prior q (k,) of a set.

    Args:
        prior: a name in PRIORS.
    """

    def __init__(self, prior: str = "em") -> None:
        self.prior = prior

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the prior needs."""
        return ("referee",) if self.prior == "referee" else ()

    def _fit(self, meta: MetaTrain) -> None:
        if self.prior not in PRIORS:
            raise UnusableInput(f"prior must be {', '.join(PRIORS)}, got {self.prior!r}")
        self.source_ = meta.source
        self.calibration_ = bias_corrected(meta.source)

    def prior_of(self, target: Observation) -> FloatArray:
        """Returns the set's class prior, float64 (k,)."""
        if self.prior == "bbse":
            return bbse_prior(target.predicted, self.source_)
        if self.prior == "rlls":
            return rlls_prior(target.predicted, self.source_)
        if self.prior == "em":
            return em_prior(calibrated(target, self.calibration_), source_prior(self.source_))
        assert target.referee is not None
        return em_prior(target.referee, source_prior(self.source_))


class LabelShift(UnderPrior):
    """The accuracy expected under label shift: the mean calibrated probability of the predicted class.

    Probabilities are `calibrated` on the source and `reweighted` to the set's prior. If nothing but the class
    prior has changed, that is the accuracy; unlike the source's accuracy weighed by class, which holds under
    the same condition, it also falls where the classifier is less sure.
    """

    def _predict(self, observation: Observation) -> float:
        p, pi = calibrated(observation, self.calibration_), source_prior(self.source_)
        adapted = reweighted(p, pi, self.prior_of(observation))
        return float(adapted[np.arange(len(p)), observation.predicted].mean())
