"""ORA-A: an MLP that tells from its indicators whether an image is classified correctly (SYP, fig. 3a)."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from oracle.indicators import SIX
from oracle.limits import UNDERTRAINED, check_real, check_whole
from oracle.oracle import Oracle
from oracle.table import ImageTable
from oracle.variant import Variant
from submission.errors import UnusableInput

if TYPE_CHECKING:
    import torch
    from torch import nn

    from oracle.training import Training

DRAWS = 4
"""How often a network is drawn, at most."""
OTHERS = 0.1
"""The share of training images of the rarer kind from which on one answer for all is no answer."""
BLOCK = 100_000
"""Images that are judged at once."""


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
        variant: "paper", or "released", what the authors published: where a parameter is as the paper has it
            the released value stands in its place. Its parts can be named one by one, with commas between
            them: see `oracle.variant.PARTS`.
        device: where the network is trained and run.
        seed: of initialisation, batches and dropout.

    `normalisation` and `estimate` may be "cv": cross-validation by family on the meta-train sets chooses,
    which trains once more for every operation and every normalisation.

    A network that gives all training images one answer, though a tenth of them need the other, has learnt
    nothing: it is drawn again, with the next seed, up to three times, and standard error says so.

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
        variant: str = "paper",
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
        self.variant = variant
        self.device = device
        self.seed = seed

    def _check(self) -> None:
        check_whole("expansion", self.expansion, 1, 64)
        check_real("dropout", self.dropout, 0 <= self.dropout < 1, "in [0, 1)")
        check_real("low_accuracy", self.low_accuracy, 0 <= self.low_accuracy <= 1, "in [0, 1]")
        check_real("positive_weight", self.positive_weight, 0 < self.positive_weight <= 1000, "in (0, 1000]")
        self._training()

    def _names(self) -> tuple[str, ...]:
        return self._variant.indicators(super()._names())

    def _scaling(self) -> str:
        return self._variant.scaling(super()._scaling())

    @property
    def _variant(self) -> Variant:
        return Variant.named(self.variant)

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
            self._variant.power,
        )

    def _learn(self, table: ImageTable) -> None:
        import torch

        device, self.undertrained_ = torch.device(self.device), ""
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            self.networks_: list[nn.Module] = [
                self._drawn(make, table) for make in self._networks(table.rows.shape[1])
            ]

    def _drawn(self, make: "Callable[[], nn.Module]", table: ImageTable) -> "nn.Module":
        """Returns a trained network; one that learns nothing is drawn again."""
        import torch

        rows, correct = (torch.from_numpy(each).to(self.device) for each in (table.rows, table.correct))
        weighty = self._weighty(table)
        sizes = table.sizes.tolist() if "batches" in self._variant.parts else ()
        training = replace(self._training(), decay_biases=self._variant.decays_biases(self.source_))
        for draw in range(DRAWS):
            seed = (int(self.seed) + draw) % 2**63
            torch.manual_seed(seed)
            network = make().to(self.device)
            replace(training, seed=seed).train(network, rows, correct, weighty, self.positive_weight, sizes)
            if not self._says_one_thing(network, rows, table.correct):
                break
            then = "it is drawn again" if draw + 1 < DRAWS else f"so did {DRAWS}: lower learning_rate"
            told = f"{type(network).__name__.lower()} of seed {seed} gives all training images one answer"
            tqdm.write(f"{told}; {then}", file=sys.stderr)
            self._note(UNDERTRAINED[1])
        else:
            self._note(UNDERTRAINED[2])
        return network

    def _note(self, state: str) -> None:
        """Keep the worst state of its networks."""
        self.undertrained_ = max(self.undertrained_, state, key=UNDERTRAINED.index)

    def _weighty(self, table: ImageTable) -> "torch.Tensor | None":
        """Returns which images count `positive_weight` times, bool (n,); None where none does."""
        import torch

        if self.positive_weight == 1 or not (table.accuracy < self.low_accuracy).any():
            return None
        low = np.repeat(table.accuracy < self.low_accuracy, table.sizes)
        return torch.from_numpy(low & table.correct).to(self.device)

    def _says_one_thing(self, network: "nn.Module", rows: "torch.Tensor", correct: NDArray[np.bool_]) -> bool:
        """Returns whether a network has one answer for all images, though enough of them need the other."""
        import torch

        if min(correct.mean(), 1 - correct.mean()) < OTHERS:
            return False
        with torch.inference_mode():
            answers = [(network(part) > self.threshold).unique() for part in rows.split(BLOCK)]
        return len(torch.cat(answers).unique()) == 1

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        """Returns what makes each network, of `inputs` indicators."""
        from oracle.networks import Mlp

        return [partial(Mlp, inputs, self.expansion, self.dropout)]

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

        self.networks_ = [make() for make in self._networks(len(self._names()))]
        for network, state in zip(self.networks_, model, strict=True):
            weights = {name: torch.from_numpy(values) for name, values in state.items()}
            if {*weights} != {*network.state_dict()}:
                raise UnusableInput("it was saved by another version of the kit: fit it and save it again")
            network.load_state_dict(weights)
            network.to(self.device).eval()
