"""TS: the maximum softmax probability after temperature scaling (Guo et al., ICML 2017)."""

from dataclasses import dataclass

from starter.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation, Source
from starter.observing.temperature import temperature


@dataclass
class TS(Detector):
    """-max_c softmax(f / T)_c; T minimises the negative log-likelihood on the labelled source.

    pytorch-ood's search for T stops after 50 small steps, half way on real logits, so the kit's is used.
    """

    def _fit(self, source: Source) -> None:
        self.temperature_ = temperature(source)

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxSoftmax  # slow to import

        return MaxSoftmax.score(tensor(observation.logits), self.temperature_)
