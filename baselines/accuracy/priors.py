"""Class priors of an unlabelled set under label shift, and the expected accuracy with these priors.

Under label shift p(x | y) is unchanged, and p(y) changes from the source's prior pi (k,) to the set's prior q
(k,). Papers:

- EM, or MLLS: Saerens, Latinne & Decaestecker, "Adjusting the Outputs of a Classifier to New a Priori
  Probabilities", Neural Computation 2002.
- Bias-corrected temperature scaling: Alexandari, Kundaje & Shrikumar, "Maximum Likelihood with Bias-Corrected
  Calibration is Hard-To-Beat at Label Shift Adaptation", ICML 2020, arXiv 1901.06852.
- BBSE: Lipton, Wang & Smola, "Detecting and Correcting for Label Shift with Black Box Predictors", ICML 2018,
  arXiv 1802.03916.
"""

import numpy as np
from scipy.optimize import minimize, nnls

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation, Source, once
from starter.observing.temperature import BLOCK, LOG_RANGE, blocks, softmax, temperature
from submission.arrays import FloatArray, IntArray

PRIORS = ("em", "bbse", "referee")
"""EM on the classifier's calibrated probabilities, BBSE, and EM on the referee's probabilities."""
NEAR = 1e-6
"""EM ends when the share of no class changes by this much."""
MOST_STEPS = 10_000
LARGEST_BIAS, FLAT = 20.0, 1e-5
"""Limit of the biases; share of the loss by which a step must lower it, or it is the last."""
LAST_SHARES = f"{__name__}.last_shares"
"""Key of the last prior by EM among the values that a source has computed."""


def source_prior(source: Source) -> FloatArray:
    """Returns the source's class prior pi, float64 (k,); a class without an image counts as half an image."""
    counts = np.bincount(source.labels, minlength=source.observation.logits.shape[1])
    whole = np.where(counts > 0, counts, 0.5)
    return whole / whole.sum()


@once
def bias_corrected(source: Source) -> FloatArray:
    """Returns 1 / T and the biases b, together float64 (1 + k,), that fit softmax(f / T + b) to the source.

    They minimise the mean negative log-likelihood of the labels (BCTS), which is convex in both; the entries
    of b are in [-20, 20]. EM for the prior needs probabilities whose mean is calibrated for every class. The
    loss bends by about a class's share along its bias: steps are in units of one over that share's root.
    """
    import torch  # not needed to list the methods

    n, k = source.observation.logits.shape
    memory = torch.empty((min(n, max(BLOCK // k, 1)), k))
    units = np.concatenate([[1.0], source_prior(source) ** -0.5])

    def loss(steps: FloatArray) -> tuple[float, FloatArray]:
        parameters = steps * units
        biases = torch.from_numpy(parameters[1:].astype(np.float32))
        value = 0.0
        slope = np.zeros(1 + k)
        first = 0
        for logits in blocks(source.observation.logits, np.float32):
            labels = source.labels[first : first + len(logits)]
            own = np.arange(len(labels)), labels
            scaled = torch.add(biases, logits, alpha=parameters[0], out=memory[: len(labels)])
            logs = torch.log_softmax(scaled, dim=1, out=scaled)
            value -= logs.numpy()[own].sum(dtype=np.float64)
            p = logs.exp_().numpy()
            p[own] -= 1
            slope[0] += np.vdot(p, logits.numpy())
            slope[1:] += p.sum(axis=0)
            first += len(logits)
        return value / n, slope * units / n

    start = np.concatenate([[1 / temperature(source)], np.zeros(k)])
    low, high = (float(np.exp(-edge)) for edge in reversed(LOG_RANGE))
    bounds = [(low, high), *((-LARGEST_BIAS / unit, LARGEST_BIAS / unit) for unit in units[1:])]
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": FLAT}).x * units


def calibrated(observation: Observation, parameters: FloatArray) -> FloatArray:
    """Returns softmax(f / T + b) of each image, float64 (n, k), with the parameters of `bias_corrected`."""
    return softmax(observation.logits, scale=parameters[0], biases=parameters[1:])


def reweighted(p: FloatArray, pi: FloatArray, q: FloatArray) -> FloatArray:
    """Returns the posteriors (n, k) with the prior q for posteriors p with the prior pi.

    They are p_c q_c / pi_c, normalised over c. An image for which all classes with a share in q have
    probability 0 keeps its p.
    """
    weighed = p * (q / pi)
    impossible = weighed.sum(axis=1) == 0
    weighed[impossible] = p[impossible]
    weighed /= weighed.sum(axis=1, keepdims=True)
    return weighed


def em_prior(p: FloatArray, pi: FloatArray) -> FloatArray:
    """Returns the maximum-likelihood prior q (k,), found by EM.

    Starting from q = pi, each step replaces q by the mean of the `reweighted` posteriors p (n, k), which are
    calibrated with the source's prior pi (k,).
    """
    q, ratios = pi, p / pi
    for _ in range(MOST_STEPS):
        before, q = q, q * ((1 / (ratios @ q)) @ ratios) / len(p)
        if np.abs(q - before).max() < NEAR:
            break
    return q / q.sum()


def shares(observation: Observation, source: Source) -> FloatArray:
    """Returns a set's class prior (k,) by EM on calibrated probabilities; the source keeps the last one."""
    logits, found = source.computed.get(LAST_SHARES, (None, None))
    if logits is not observation.logits:
        found = em_prior(calibrated(observation, bias_corrected(source)), source_prior(source))
        source.computed[LAST_SHARES] = (observation.logits, found)
    return found


def expected_accuracy(p: FloatArray, predicted: IntArray) -> float:
    """Returns the mean probability of the predicted class, mean_i p_i(y_i), of p (n, k) and y (n,)."""
    return float(p[np.arange(len(p)), predicted].mean())


def predicted_shares(predicted: IntArray, k: int) -> FloatArray:
    """Returns mu, the share of images for which each class is predicted, float64 (k,)."""
    return np.bincount(predicted, minlength=k) / len(predicted)


def confusion(source: Source) -> FloatArray:
    """Returns C (k, k): the share of reference images predicted as class i (row) with label j."""
    k = source.observation.logits.shape[1]
    places = source.observation.predicted * k + source.labels
    return np.bincount(places, minlength=k * k).reshape(k, k) / len(source.labels)


def bbse_prior(predicted: IntArray, source: Source) -> FloatArray:
    """Returns BBSE's prior q (k,), which explains the shares mu of the predicted classes (n,).

    q = pi w, where w >= 0 solves C w = mu by non-negative least squares; q is divided by its sum. If no class
    of the source explains the predictions, q is the source's prior.
    """
    joint, pi = confusion(source), source_prior(source)
    q = pi * nnls(joint, predicted_shares(predicted, len(joint)))[0]
    return q / q.sum() if q.sum() > 0 else pi


class UnderPrior(Estimator):
    """Base of methods that first estimate the class prior q (k,) of a set by `prior`, one of PRIORS."""

    def __init__(self, prior: str = "em") -> None:
        self.prior = prior

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields of an observation that the prior needs."""
        return ("referee",) if self.prior == "referee" else ()

    def _fit(self, meta: MetaTrain) -> None:
        self._require("prior", self.prior in PRIORS, ", ".join(PRIORS))
        self.source_ = meta.source
        self.calibration_ = bias_corrected(meta.source)

    def prior_of(self, target: Observation) -> FloatArray:
        """Returns the estimated class prior of the set, float64 (k,)."""
        if self.prior == "bbse":
            return bbse_prior(target.predicted, self.source_)
        if self.prior == "em":
            return shares(target, self.source_)
        assert target.referee is not None
        return em_prior(target.referee, source_prior(self.source_))


class LabelShift(UnderPrior):
    """Expected accuracy under label shift; prior by EM (Alexandari et al. 2020) or BBSE (Lipton et al. 2018).

    It is the mean probability of the predicted class, mean_i p_i(y_i). The probabilities are `calibrated` on
    the source and `reweighted` to the set's prior. If only the class prior has changed, this is the accuracy.
    """

    def _predict(self, observation: Observation) -> float:
        p, pi = calibrated(observation, self.calibration_), source_prior(self.source_)
        return expected_accuracy(reweighted(p, pi, self.prior_of(observation)), observation.predicted)
