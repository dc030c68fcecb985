"""ORA-L: gradient-boosted trees in place of the oracle's network; developed for this kit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oracle.indicators import ImageTable
from oracle.oracle import Oracle
from submission.arrays import FloatArray

if TYPE_CHECKING:
    from lightgbm import Booster


@dataclass(eq=False, repr=False)
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

    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **Oracle.ranges,
        "trees": (1, 100_000),
        "leaves": (2, 10_000),
        "rate": (1e-9, 1),
        "most": (1, 100_000_000),
        "seed": (0, 2**31 - 1),
    }

    normalisation: str = "none"
    estimate: str = "mean"
    trees: int = 200
    leaves: int = 15
    rate: float = 0.1
    most: int = 1_000_000
    seed: int = 0

    def _learn(self, table: ImageTable) -> None:
        import torch  # before LightGBM, which then uses the OpenMP runtime that torch loads
        from lightgbm import Dataset, train

        parameters = {
            "objective": "binary",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": 100,
            "bagging_fraction": 0.5,
            "bagging_freq": 1,
            "seed": self.seed,
            "num_threads": torch.get_num_threads(),
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }
        drawn = np.sort(np.random.default_rng(self.seed).permutation(len(table.rows))[: self.most])
        data = Dataset(table.rows[drawn], table.correct[drawn].astype(np.float32), params={"verbose": -1})
        self.trees_: Booster = train(parameters, data, self.trees)

    def _judge(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.trees_.predict(rows), np.float32)

    def _model(self) -> str:
        return self.trees_.model_to_string()

    def _take(self, model: Any) -> None:
        import torch  # noqa: F401 (before LightGBM)
        from lightgbm import Booster

        self.trees_ = Booster(model_str=model)
