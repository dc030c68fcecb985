"""Constant: the mean accuracy of the meta-train sets, which every useful method has to beat."""

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation


class Constant(Estimator):
    """The mean of the meta-train targets, against which skill is measured."""

    def _fit(self, meta: MetaTrain) -> None:
        self.mean_ = float(meta.targets.mean())

    def _predict(self, observation: Observation) -> float:
        return self.mean_
