"""Agreement with a referee, a network that was trained on other images and so makes different errors.

Agreement estimates accuracy as in GDE (Jiang, Nagarajan, Baek & Kolter, "Assessing Generalization of SGD via
Disagreement", ICLR 2022), with the competition's referee in place of a second classifier. EM may adapt the
class prior to the set (`baselines.accuracy.priors`).
"""

from baselines.accuracy.priors import em_prior, expected_accuracy, reweighted, source_prior
from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation
from submission.arrays import FloatArray

KINDS = ("hard", "soft")


def agreement(target: Observation, referee: FloatArray, kind: str = "hard") -> float:
    """Returns the agreement of the referee's probabilities r (n, k) with the predicted classes y, in [0, 1].

    Hard: mean_i 1[argmax_c r_ic = y_i]. Soft: mean_i r_i(y_i), the accuracy if the referee is calibrated.
    """
    if kind == "soft":
        return expected_accuracy(referee, target.predicted)
    return float((referee.argmax(axis=1) == target.predicted).mean())


class Agreement(Estimator):
    """Agreement with the referee, plus accuracy minus agreement on the source (Jiang et al. 2022).

    Args:
        kind: "hard" or "soft".
        em: True to adapt the referee's probabilities to the set's class prior first, which EM estimates from
            them. This raises the agreement on sets of few classes, where the referee makes fewer errors. Do
            not combine it with the offset, which already corrects for the referee's errors on all classes.
        offset: True to add the difference of accuracy and agreement on the source. Without it the estimate is
            too low, since the referee makes errors too.
    """

    needs = ("referee",)

    def __init__(self, kind: str = "hard", em: bool = False, offset: bool = True) -> None:
        self.kind = kind
        self.em = em
        self.offset = offset

    def _fit(self, meta: MetaTrain) -> None:
        self._require("kind", self.kind in KINDS, " or ".join(KINDS))
        self.prior_ = source_prior(meta.source)
        missing = meta.source.accuracy - self._agreement(meta.source.observation)
        self.offset_ = missing if self.offset else 0.0

    def _predict(self, observation: Observation) -> float:
        return self._agreement(observation) + self.offset_

    def _agreement(self, observation: Observation) -> float:
        p = observation.referee
        assert p is not None
        if self.em:
            p = reweighted(p, self.prior_, em_prior(p, self.prior_))
        return agreement(observation, p, self.kind)
