"""COTT with an estimated class prior: transport to the classes of the set in place of the source's.

COTT (Lu et al., "Characterizing Out-of-Distribution Error via Optimal Transport", NeurIPS 2023) assumes the
source's class prior and counts any other prior as error; on a set with two of ten classes its estimate is
wrong by half. `baselines.accuracy.priors` estimates priors by EM, BBSE and RLLS.
"""

import numpy as np

from baselines.accuracy.cot import cott_threshold, transport_to
from baselines.accuracy.priors import UnderPrior
from starter.observing.observation import Observation
from starter.observing.temperature import temperature
from submission.arrays import FloatArray

PARTS = 10_000
"""Number of units into which the mass of a class prior is divided for the transport."""


class CottPrior(UnderPrior):
    """The share of the set that is transported to its own class prior at a cost of at most COTT's threshold.

    Temperature and threshold are those of `cott`, from the source under its own prior.
    """

    def _predict(self, observation: Observation) -> float:
        t, threshold = temperature(self.source_), cott_threshold(self.source_)
        return cott_under(self.prior_of(observation), observation, t, threshold)


def cott_under(q: FloatArray, observation: Observation, t: float, threshold: float) -> float:
    """Returns COTT's estimate, in [0, 1], with the class prior q (k,), rounded to 1 / `PARTS`.

    Args:
        q: Class prior (k,), sum 1.
        observation: The set.
        t: Temperature by which the logits are divided.
        threshold: Largest halved cost at which an image counts as classified correctly.
    """
    classes = np.rint(PARTS * q).astype(np.int64)
    cost, mass = transport_to(classes, observation, t)
    return float(mass[cost <= threshold].sum())
