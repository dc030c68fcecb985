"""ORA-A: an MLP that tells from its indicators whether an image is classified correctly (SYP, fig. 3a)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle.indicators import SIX, named
from oracle.limits import check_real, check_whole
from oracle.oracle import Oracle
from oracle.table import ImageTable

if TYPE_CHECKING:
    from torch import nn

    from oracle.training import Training


class OraA(Oracle):
    """Trains on every image of the meta-train sets; predicts the share of images it calls correct.

    Args:
        indicators: names in `oracle.indicators.INDICATORS` with commas between them (paper: six).
        normalisation: set (paper), global or none; see `Normalisation`.
        estimate: the share of images with a probability above `threshold` (paper), or their mean probability.
        threshold: between right and wrong (paper: 0.5).
        iterations: SGD steps, each on `batch_size` images drawn across all sets (paper: 30,000 of 10,000).
        batch_size: images in a step.
        learning_rate: at the start, decaying linearly to 0 (paper: 0.1; 0.05 for RepVGG-A0).
        momentum, weight_decay: of SGD.
        positive_weight: of the loss of rightly classified images in sets of an accuracy below
            `low_accuracy` (paper: 3 below 0.3); 1 turns the adjustment off.
        low_accuracy: see `positive_weight`.
        expansion: the ratio r of the paper's table 4.
        dropout: the paper gives no rate, the winner's code sets 0.
        device: where the network is trained and run.
        seed: of initialisation, batches and dropout.

    `normalisation` and `estimate` may be "cv": cross-validation by family on the meta-train sets chooses,
    which trains once more for every operation and every normalisation.

    `fit` raises UnusableInput where a parameter is out of range or the training diverges.
    """

    def __init__(
        self,
        indicators: str = SIX,
        normalisation: str = "set",
        estimate: str = "threshold",
        threshold: float = 0.5,
        iterations: int = 30_000,
        batch_size: int = 10_000,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        weight_decay: float = 5e-4,
        positive_weight: float = 3.0,
        low_accuracy: float = 0.3,
        expansion: int = 8,
        dropout: float = 0.0,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.indicators = indicators
        self.normalisation = normalisation
        self.estimate = estimate
        self.threshold = threshold
        self.iterations = iterations
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.positive_weight = positive_weight
        self.low_accuracy = low_accuracy
        self.expansion = expansion
        self.dropout = dropout
        self.device = device
        self.seed = seed

    def _check(self) -> None:
        check_whole("expansion", self.expansion, 1, 64)
        check_real("dropout", self.dropout, 0 <= self.dropout < 1, "in [0, 1)")
        check_real("low_accuracy", self.low_accuracy, 0 <= self.low_accuracy <= 1, "in [0, 1]")
        check_real("positive_weight", self.positive_weight, 0 < self.positive_weight <= 1000, "in (0, 1000]")
        self._training()

    def _training(self) -> "Training":
        from oracle.training import Training

        return Training(
            self.iterations,
            self.batch_size,
            self.learning_rate,
            self.momentum,
            self.weight_decay,
            self.seed,
            self.device,
        )

    def _learn(self, table: ImageTable) -> None:
        import torch

        rows, correct = (torch.from_numpy(each).to(self.device) for each in (table.rows, table.correct))
        weighty = None
        if self.positive_weight != 1 and (table.accuracy < self.low_accuracy).any():
            low = np.repeat(table.accuracy < self.low_accuracy, table.sizes)
            low &= table.correct
            weighty = torch.from_numpy(low).to(self.device)
        training, device = self._training(), torch.device(self.device)
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(self.seed)
            self.networks_: list[nn.Module] = []
            for network in self._make_networks(rows.shape[1]):
                training.train(network.to(device), rows, correct, weighty, self.positive_weight)
                self.networks_.append(network)
                torch.manual_seed(self.seed)  # for the next to be what it is alone

    def _make_networks(self, inputs: int) -> "Iterator[nn.Module]":
        from oracle.networks import Mlp

        yield Mlp(inputs, self.expansion, self.dropout)

    def _judge(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        import torch

        values = torch.from_numpy(rows).to(self.device)
        with torch.inference_mode():
            return torch.stack([network(values) for network in self.networks_]).mean(dim=0).cpu().numpy()

    def _model(self) -> list[dict[str, NDArray[np.float32]]]:
        states = [network.state_dict() for network in self.networks_]
        return [{name: values.cpu().numpy() for name, values in state.items()} for state in states]

    def _take(self, model: Any) -> None:
        import torch

        self.networks_ = [*self._make_networks(len(named(self.indicators)))]
        for network, state in zip(self.networks_, model, strict=True):
            network.load_state_dict({name: torch.from_numpy(values) for name, values in state.items()})
            network.to(self.device).eval()
