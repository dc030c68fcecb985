"""Energy: the free energy of the logits (Liu et al., NeurIPS 2020).

"Energy-based Out-of-distribution Detection", arXiv 2010.03759; computed by pytorch-ood.
"""

from dataclasses import dataclass

from starter.observing.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation


@dataclass
class Energy(Detector):
    """-T log sum_c exp(f_c / T), with the logits f and the temperature T > 0."""

    temperature: float = 1.0

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import EnergyBased  # slow to import

        return EnergyBased.score(tensor(observation.logits), self.temperature)
