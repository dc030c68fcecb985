"""What unseen-best knows of single images: trees on rich indicators beside a small SYP oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from oracle.indicators import named
from oracle.networks import Mlp
from oracle.ora_l import grow, read_trees
from oracle.table import Normalisation
from oracle.training import Training
from submission.arrays import FloatArray

if TYPE_CHECKING:
    from lightgbm import Booster

SYP = "entropy,atc,variance,image_entropy,laplacian"
"""The oracle's indicators: SYP's without the Frechet distance, which takes other class shares for shift."""
BATCH = 1000
EXPANSION = 8


@dataclass(frozen=True)
class Tables:
    """A set's indicators, float32: `rich` (n, p) for the trees, `scaled` (n, 5) or None for SYP's oracle."""

    rich: FloatArray
    scaled: FloatArray | None = None


def scaled(table: FloatArray) -> FloatArray:
    """The columns of SYP (n, 5), each by the set's own range, as ORA-A reads them (eq. 17)."""
    names = named(SYP)
    return Normalisation.of("set", names, [table]).apply(table.copy())


@dataclass(frozen=True)
class Judge:
    """Trees, and, unless it was left out, the network of an ORA-A."""

    forest: "Booster"
    network: Mlp | None

    @classmethod
    def of(
        cls,
        sets: Sequence[Tables],
        correct: Sequence[NDArray[np.bool_]],
        source: Tables,
        right: NDArray[np.bool_],
        forest: Mapping[str, int],
        most: int,
        steps: int,
        seed: int,
    ) -> "Judge":
        """Learn from meta-train sets which images are right; the trees learn from the source too.

        Args:
            sets, correct: the sets, and whether the classifier is right about each image, bool (n_i,).
            source, right: the labelled source likewise.
            forest: how many `trees` of how many `leaves`.
            most: at most so many images are learnt from.
            steps: of the network, each on 1,000 images; 0 for none.
            seed: of everything that is drawn.
        """
        rows, truth = _drawn([*(each.rich for each in sets), source.rich], [*correct, right], most, seed)
        trees = grow(rows, truth.astype(np.float32), forest["trees"], forest["leaves"], 0.1, seed)
        seen = [each.scaled for each in sets if each.scaled is not None]
        return cls(trees, _network(seen, correct, most, steps, seed) if steps else None)

    def probabilities(self, tables: Tables) -> NDArray[np.float64]:
        """The trees' probability that each image is classified correctly, (n,)."""
        return np.asarray(self.forest.predict(tables.rich))

    def share(self, tables: Tables) -> float:
        """The share of images that the network calls right."""
        assert self.network is not None
        assert tables.scaled is not None
        with torch.inference_mode():
            return float((self.network(torch.from_numpy(tables.scaled)) > 0.5).float().mean())

    def state(self) -> dict[str, Any]:
        """What was learnt, in text and arrays."""
        weights = self.network.state_dict() if self.network else {}
        return {
            "trees": self.forest.model_to_string(),
            "network": {name: values.numpy() for name, values in weights.items()},
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> "Judge":
        """What `state` gave, as it was."""
        network = None
        if state["network"]:
            network = Mlp(len(named(SYP)), EXPANSION, 0.0)
            network.load_state_dict({k: torch.from_numpy(v) for k, v in state["network"].items()})
        return cls(read_trees(state["trees"]), network.eval() if network else None)


def _drawn(
    tables: Sequence[FloatArray], correct: Sequence[NDArray[np.bool_]], most: int, seed: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """At most so many images of all sets: their rows, and whether the classifier is right about them."""
    truth = np.concatenate(correct)
    if len(truth) <= most:
        return np.concatenate(tables), truth
    drawn = np.sort(np.random.default_rng(seed).permutation(len(truth))[:most])
    starts = np.cumsum([0, *map(len, tables[:-1])])
    parts = np.split(drawn, np.searchsorted(drawn, starts[1:]))
    rows = [table[part - start] for table, part, start in zip(tables, parts, starts, strict=True)]
    return np.concatenate(rows), truth[drawn]


def _network(
    tables: Sequence[FloatArray], correct: Sequence[NDArray[np.bool_]], most: int, steps: int, seed: int
) -> Mlp:
    """ORA-A's network, trained for so many steps."""
    rows, truth = (torch.from_numpy(each) for each in _drawn(tables, correct, most, seed))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Mlp(rows.shape[1], EXPANSION, 0.0)
        Training(steps, BATCH, 0.1, 0.9, 5e-4, seed, "cpu").train(network, rows, truth)
    return network
