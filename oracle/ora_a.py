"""ORA-A: an MLP that tells from its indicators whether an image is classified correctly (SYP, fig. 3a)."""

import reprlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from tqdm import trange

from baselines.estimator import Estimator
from oracle.indicators import INDICATORS, NEEDS, Normalisation, indicator_table
from starter.observation import MetaTrain, Observation
from submission.errors import UnusableInput

RANGES = {
    "iterations": (1, 10_000_000),
    "batch_size": (1, 100_000),
    "expansion": (1, 64),
    "seed": (0, 2**63 - 1),
}
"""Of the whole numbers, both ends allowed; the largest batch and network together take some GB."""


def mlp(inputs: int, expansion: int, dropout: float) -> nn.Sequential:
    """Expand `inputs` by `expansion`, then reduce gradually to one probability (6-48-48-48-24-1 at 8)."""
    width = inputs * expansion
    return nn.Sequential(
        *(nn.Linear(inputs, width), nn.GELU()),
        *(nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout)),
        *(nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout)),
        *(nn.Linear(width, width // 2), nn.GELU(), nn.Dropout(dropout)),
        *(nn.Linear(width // 2, 1), nn.Sigmoid()),
    )


class OraA(Estimator):
    """Trains on every image of the meta-train sets; predicts the share of images it calls correct.

    Args:
        iterations: SGD steps, each on `batch_size` images drawn across all sets (paper: 30,000 of 10,000).
        learning_rate: at the start, decaying linearly to 0 (paper: 0.1; 0.05 for RepVGG-A0).
        expansion: the ratio r of the paper's table 4.
        dropout: rate inside the MLP; the paper gives none, the winner's code sets 0.
        threshold: an image counts as correct above this probability (paper: 0.5).
        seed: of initialisation, batches and dropout.

    `fit` raises UnusableInput where a parameter is out of range or the training diverges.
    """

    needs = NEEDS

    def __init__(
        self,
        iterations: int = 30_000,
        batch_size: int = 10_000,
        learning_rate: float = 0.1,
        expansion: int = 8,
        dropout: float = 0.0,
        threshold: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.iterations = iterations
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.expansion = expansion
        self.dropout = dropout
        self.threshold = threshold
        self.seed = seed

    def _fit(self, meta: MetaTrain) -> None:
        self._check_parameters()
        self.source_ = meta.source
        tables = [indicator_table(observation, meta.source) for observation in meta.sets]
        self.normalisation_ = Normalisation.of(tables)
        inputs = torch.from_numpy(np.concatenate([self.normalisation_(table) for table in tables]))
        correct = torch.from_numpy(np.concatenate(list(meta.correct))).float()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network_ = mlp(len(INDICATORS), self.expansion, self.dropout)
            self._train(inputs, correct)
        self.network_.eval()

    def _train(self, inputs: torch.Tensor, correct: torch.Tensor) -> None:
        optimiser = torch.optim.SGD(
            self.network_.parameters(), self.learning_rate, momentum=0.9, weight_decay=5e-4
        )
        decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1e-6, total_iters=self.iterations)
        for step, batch in zip(
            trange(self.iterations, desc="ora-a", leave=False), self._batches(len(inputs)), strict=False
        ):
            loss = nn.functional.mse_loss(self.network_(inputs[batch])[:, 0], correct[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            decay.step()
            if step % 100 == 0 and not torch.isfinite(loss):
                raise self._diverged(f"the loss is {loss.item()} at step {step}")
        if not all(torch.isfinite(parameter).all() for parameter in self.network_.parameters()):
            raise self._diverged("training ends in weights that are not finite")

    def _diverged(self, problem: str) -> UnusableInput:
        return UnusableInput(f"{problem}: lower learning_rate, which is {self.learning_rate}")

    def _batches(self, rows: int) -> Iterator[torch.Tensor]:
        generator = torch.Generator().manual_seed(int(self.seed))
        while True:
            yield torch.randint(rows, (self.batch_size,), generator=generator)

    def _predict(self, observation: Observation) -> float:
        table = self.normalisation_(indicator_table(observation, self.source_))
        with torch.inference_mode():
            probability = self.network_(torch.from_numpy(table))[:, 0]
        return float((probability > self.threshold).float().mean())

    def _check_parameters(self) -> None:
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or not low <= value <= high:
                raise UnusableInput(
                    f"{name} must be a whole number in {low:,}..{high:,}, got {reprlib.repr(value)}"
                )
        for name, fits, needed in (
            ("dropout", 0 <= self.dropout < 1, "in [0, 1)"),
            ("threshold", 0 <= self.threshold <= 1, "in [0, 1]"),
            ("learning_rate", 0 < self.learning_rate <= 1e6, "in (0, 1e6]"),
        ):
            if not fits:
                raise UnusableInput(f"{name} must be {needed}, got {getattr(self, name)}")
