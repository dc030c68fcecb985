"""IP+TS+MLS: ODIN's input preprocessing and temperature with MaxLogit (Recalcati et al., DSAA 2023)."""

from dataclasses import dataclass

from starter.detectors.detector import Detector, Scores
from starter.detectors.odin import moved_logits
from starter.observation import Observation, Source


@dataclass
class InputMaxLogit(Detector):
    """-max_c f_c(x') / T, with ODIN's moved images x'.

    Attributes:
        temperature: T, which bears on the gradients.
        eps: how far each value of a pixel moves, on [0, 1].
    """

    temperature: float = 1000.0
    eps: float = 0.0014

    online = True

    def _fit(self, source: Source) -> None:
        self.classifier_ = source.classifier

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxLogit  # slow to import

        logits = moved_logits(observation, self.classifier_, self.temperature, self.eps)
        return MaxLogit.score(logits / self.temperature)
