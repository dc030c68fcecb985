"""TS: the maximum softmax probability after temperature scaling (Guo et al., ICML 2017).

"On Calibration of Modern Neural Networks", arXiv 1706.04599.
"""

from dataclasses import dataclass

from starter.observing.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation, Source
from starter.observing.temperature import temperature


@dataclass
class TS(Detector):
    """-max_c softmax(f / T)_c, with the T that minimises the negative log-likelihood on the labelled source.

    pytorch-ood's own search for T stops after 50 small steps, before it has converged on real logits.
    """

    def _fit(self, source: Source) -> None:
        self.temperature_ = temperature(source)

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxSoftmax  # slow to import

        return MaxSoftmax.score(tensor(observation.logits), self.temperature_)
