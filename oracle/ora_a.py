"""ORA-A: an MLP that predicts from an image's indicators if it is classed rightly (SYP, fig. 3a)."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from tqdm import tqdm

from oracle.indicators import ImageTable
from oracle.oracle import Oracle
from oracle.variant import RATE, RATE_B, WEIGHT, is_repvgg, parts_of
from submission.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    import torch
    from torch import nn

UNDERTRAINED = ("", "drawn again", "one answer")
"""A network learnt; gave all training images one answer and was drawn again; did so however often it was."""
DRAWS = 4
"""Largest number of attempts at training a network."""
OTHERS = 0.1
"""Smallest share of the rarer kind of training images at which one answer for all is a failure."""
BLOCK = 100_000
"""Number of images that are judged at once."""


@dataclass(eq=False, repr=False)
class OraA(Oracle):
    """SYP's oracle: an MLP predicts from six indicators if an image is right (Chen, Zhang & Song 2023).

    The estimate is the share of images that the network calls correct, mean_i 1[p_i > threshold].

    Args:
        indicators: Comma-separated names from `oracle.indicators.INDICATORS` (six in the paper).
        normalisation: "set" (paper), "global" or "none", see `Normalisation`.
        estimate: "threshold" for the share of images with a probability above `threshold` (paper), "mean" for
            the mean probability.
        threshold: Probability between right and wrong (0.5 in the paper).
        iterations: Number of SGD steps (30,000 in the paper).
        batch_size: Number of images in a step, drawn from all sets (10,000 in the paper).
        learning_rate: Initial learning rate, which decays linearly to 0 (0.1 in the paper; 0.05 for
            RepVGG-A0).
        momentum: Momentum of SGD.
        weight_decay: Weight decay of SGD.
        positive_weight: Weight in the loss of correctly classified images in sets with an accuracy below
            `low_accuracy` (3 in the paper); 1 for no adjustment.
        low_accuracy: Accuracy below which `positive_weight` applies (0.3 in the paper).
        expansion: Ratio r of the paper's table 4.
        dropout: Dropout rate; the paper gives none, and the winner's code has 0.
        variant: "paper"; "released" for the authors' published code wherever it differs from the paper; or a
            comma-separated list of parts of it, from `oracle.variant.PARTS`.
        device: Device that trains and runs the network.
        seed: Seed of initialisation, batches and dropout.

    A network that gives the same answer for all training images, although a tenth of them need the other
    answer, is trained again with the next seed, up to three times, and a line on standard error says so.

    `fit` raises UnusableInput if a parameter is out of range or the training diverges.
    """

    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **Oracle.ranges,
        "iterations": (1, 10_000_000),
        "batch_size": (1, 100_000),
        "learning_rate": (1e-9, 1e6),
        "momentum": (0, 0.9999),
        "weight_decay": (0, 1),
        "positive_weight": (1e-9, 1000),
        "low_accuracy": (0, 1),
        "expansion": (1, 64),
        "dropout": (0, 0.9999),
        "seed": (0, 2**63 - 1),
    }

    iterations: int = 30_000
    batch_size: int = 10_000
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    positive_weight: float = 3.0
    low_accuracy: float = 0.3
    expansion: int = 8
    dropout: float = 0.0
    variant: str = "paper"
    device: str = "cpu"
    seed: int = 0

    def _learn(self, table: ImageTable) -> None:
        import torch

        from starter.models.classifiers.classifier import check_device

        check_device(self.device)
        device, self.undertrained_ = torch.device(self.device), ""
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            self.networks_: list[nn.Module] = [
                self._drawn(make, table) for make in self._networks(table.rows.shape[1])
            ]

    def _drawn(self, make: "Callable[[], nn.Module]", table: ImageTable) -> "nn.Module":
        """Returns a trained network; training that fails is repeated with the next seed."""
        import torch

        rows, correct = (torch.from_numpy(each).to(self.device) for each in (table.rows, table.correct))
        for draw in range(DRAWS):
            seed = (int(self.seed) + draw) % 2**63
            torch.manual_seed(seed)
            network = make().to(self.device)
            self._train(network, rows, correct, table, seed)
            if not self._says_one_thing(network, rows, table.correct):
                break
            again = "it is trained again with the next seed"
            then = again if draw + 1 < DRAWS else f"so do all {DRAWS} attempts: lower learning_rate"
            name = type(network).__name__.lower()
            tqdm.write(
                f"{name} of seed {seed} gives all training images the same answer; {then}", file=sys.stderr
            )
            state = UNDERTRAINED[1 + (draw + 1 == DRAWS)]  # the worst of its networks
            self.undertrained_ = max(self.undertrained_, state, key=UNDERTRAINED.index)
        return network

    def _train(
        self,
        network: "nn.Module",
        rows: "torch.Tensor",
        correct: "torch.Tensor",
        table: ImageTable,
        seed: int,
    ) -> None:
        from oracle.networks import Attention
        from oracle.training import descent, drawn_images, train, whole_sets

        parts = parts_of(self.variant)
        repvgg = is_repvgg(self.source_)
        slower = "rate" in parts and repvgg and isinstance(network, Attention) and self.learning_rate == RATE
        rate = RATE_B if slower else self.learning_rate
        biases = not ("biases" in parts and repvgg)
        power = 0.9 if "decay" in parts else 1.0
        drawn = drawn_images(len(rows), self.batch_size, seed, rows.device)
        train(
            network,
            rows,
            correct,
            weights=self._weights(table),
            batches=whole_sets(table.sizes.tolist(), rows.device) if "batches" in parts else drawn,
            optimiser=descent(network, self.momentum, self.weight_decay, biases),
            rates=[rate * (1 - step / self.iterations) ** power for step in range(self.iterations)],
        )

    def _weights(self, table: ImageTable) -> "torch.Tensor | None":
        """Returns the weights of the images in the loss, float32 (n,); None if all are 1."""
        import torch

        plain = "weight" in parts_of(self.variant) and not is_repvgg(self.source_)
        weight = 1.0 if plain and self.positive_weight == WEIGHT else self.positive_weight
        low = np.repeat(table.accuracy < self.low_accuracy, table.sizes) & table.correct
        if weight == 1 or not low.any():
            return None
        return torch.from_numpy(np.where(low, weight, 1).astype(np.float32)).to(self.device)

    def _says_one_thing(self, network: "nn.Module", rows: "torch.Tensor", correct: BoolArray) -> bool:
        """Returns True if a network gives one answer for all images, although enough need the other one."""
        import torch

        if min(correct.mean(), 1 - correct.mean()) < OTHERS:
            return False
        with torch.inference_mode():
            answers = [(network(part) > self.threshold).unique() for part in rows.split(BLOCK)]
        return len(torch.cat(answers).unique()) == 1

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        """Returns the functions that make each network, for `inputs` indicators."""
        from oracle.networks import Mlp

        return [partial(Mlp, inputs, self.expansion, self.dropout)]

    def _judge(self, rows: FloatArray) -> FloatArray:
        import torch

        values = torch.from_numpy(rows).to(self.device)
        with torch.inference_mode():
            return torch.stack([network(values) for network in self.networks_]).mean(dim=0).cpu().numpy()

    def _model(self) -> list[dict[str, FloatArray]]:
        states = [network.state_dict() for network in self.networks_]
        return [{name: values.cpu().numpy() for name, values in state.items()} for state in states]

    def _take(self, model: Any) -> None:
        import torch

        self.networks_ = [make() for make in self._networks(len(self._names()))]
        for network, state in zip(self.networks_, model, strict=True):
            network.load_state_dict({name: torch.from_numpy(values) for name, values in state.items()})
            network.to(self.device).eval()
