"""COTT under an estimated class prior: transport to the classes that a set has, not to the source's.

COTT (Lu et al., NeurIPS 2023) takes the source's class prior for granted and reads every other as error; with
two classes of ten it is wrong by half. Priors by EM, BBSE and RLLS: see `baselines.accuracy.priors`.
"""

import numpy as np

from baselines.accuracy.cot import cott_threshold, transport_to
from baselines.accuracy.priors import UnderPrior
from starter.observing.observation import Observation
from starter.observing.temperature import temperature
from submission.arrays import FloatArray

PARTS = 10_000
"""Of so many parts a class prior is made up when it is transported to."""


class CottPrior(UnderPrior):
    """The share of the set transported to its own class prior at a cost of at most COTT's threshold.

    Temperature and threshold are those of `cott`, from the source under its own prior.
    """

    def _predict(self, observation: Observation) -> float:
        t, threshold = temperature(self.source_), cott_threshold(self.source_)
        return cott_under(self.prior_of(observation), observation, t, threshold)


def cott_under(q: FloatArray, observation: Observation, t: float, threshold: float) -> float:
    """Returns COTT's estimate under the class prior q (k,), which is taken in ten-thousandths: in [0, 1]."""
    classes = np.rint(PARTS * q).astype(np.int64)
    cost, mass = transport_to(classes, observation, t)
    return float(mass[cost <= threshold].sum())
