"""ORA-L: gradient-boosted trees in place of the oracle's network; developed for this kit."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle.indicators import SIX
from oracle.oracle import Oracle, check_real, check_whole
from oracle.table import ImageTable

if TYPE_CHECKING:
    from lightgbm import Booster


def grow(
    rows: NDArray[np.float32], correct: NDArray[np.float32], trees: int, leaves: int, rate: float, seed: int
) -> "Booster":
    """Returns trees, trained with log loss, that predict the probability that `correct` is 1.

    Args:
        rows: Indicators (n, p).
        correct: 1 for images that are classified correctly, else 0, (n,).
        trees: Number of trees.
        leaves: Largest number of leaves of a tree.
        rate: Learning rate.
        seed: Seed of the bagging.
    """
    import torch  # before LightGBM, which then uses the OpenMP runtime that torch loads
    from lightgbm import Dataset, train

    parameters = {
        "objective": "binary",
        "num_leaves": leaves,
        "learning_rate": rate,
        "min_data_in_leaf": 100,
        "bagging_fraction": 0.5,
        "bagging_freq": 1,
        "seed": seed,
        "num_threads": torch.get_num_threads(),
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    return train(parameters, Dataset(rows, correct, params={"verbose": -1}), trees)


def read_trees(text: str) -> "Booster":
    """Returns the trees that `Booster.model_to_string` wrote."""
    import torch  # noqa: F401 (before LightGBM)
    from lightgbm import Booster

    return Booster(model_str=text)


class OraL(Oracle):
    """LightGBM on the oracle's table, trained in seconds where ORA-A takes minutes.

    Trees need no normalisation, so by default there is none. The estimate is the mean probability, mean_i
    p_i.

    Args:
        indicators, normalisation, estimate, threshold: As for ORA-A.
        trees: Number of trees.
        leaves: Largest number of leaves of a tree.
        rate: Learning rate, in (0, 1].
        most: Largest number of images to train on, drawn from all sets.
        seed: Seed of the draw.
    """

    def __init__(
        self,
        indicators: str = SIX,
        normalisation: str = "none",
        estimate: str = "mean",
        threshold: float = 0.5,
        trees: int = 200,
        leaves: int = 15,
        rate: float = 0.1,
        most: int = 1_000_000,
        seed: int = 0,
    ) -> None:
        self.indicators = indicators
        self.normalisation = normalisation
        self.estimate = estimate
        self.threshold = threshold
        self.trees = trees
        self.leaves = leaves
        self.rate = rate
        self.most = most
        self.seed = seed

    def _check(self) -> None:
        check_whole("trees", self.trees, 1, 100_000)
        check_whole("leaves", self.leaves, 2, 10_000)
        check_whole("most", self.most, 1, 100_000_000)
        check_whole("seed", self.seed, 0, 2**31 - 1)
        check_real("rate", self.rate, 0 < self.rate <= 1, "in (0, 1]")

    def _learn(self, table: ImageTable) -> None:
        rows, correct = table.rows, table.correct
        if len(rows) > self.most:
            drawn = np.sort(np.random.default_rng(self.seed).permutation(len(rows))[: self.most])
            rows, correct = rows[drawn], correct[drawn]
        self.trees_ = grow(rows, correct.astype(np.float32), self.trees, self.leaves, self.rate, self.seed)

    def _judge(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(self.trees_.predict(rows), np.float32)

    def _model(self) -> str:
        return self.trees_.model_to_string()

    def _take(self, model: Any) -> None:
        self.trees_ = read_trees(model)
