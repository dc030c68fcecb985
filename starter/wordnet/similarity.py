"""Similarity of synsets in WordNet's noun taxonomy: three measures by paths, and their mean.

The definitions are those of NLTK's `path_similarity`, `lch_similarity` and `wup_similarity`, computed for all
pairs at once from each synset's ancestors. p is the number of edges of the shortest path between two synsets
by way of a synset above both, q that by way of the deepest synset above both, d the depth of that synset + 1,
and D = 19 the length of the longest path from a noun to the root:

| measure | formula | range |
|---|---|---|
| path | 1 / (1 + p) | (0, 1] |
| Leacock & Chodorow 1998 | -log((1 + p) / 2D) | (0, log 2D] |
| Wu & Palmer 1994 | 2d / (2d + q) | (0, 1] |

If another path is shorter than the one by way of the deepest synset, NLTK takes its edges for q: 1 % of Wu &
Palmer's values differ.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from starter.wordnet.wordnet import WordNet
from submission.arrays import FloatArray

_NONE = 10_000
"""Number of edges where there is no path; twice that still fits an int16."""


def path_similarity(wordnet: WordNet, first: Sequence[str], second: Sequence[str]) -> FloatArray:
    """Returns 1 / (1 + p), p the edges of the shortest path, of each `first` (n) and `second` (m): (n, m)."""
    return 1 / (1.0 + _Ways(wordnet, first, second).shortest())


def wu_palmer(wordnet: WordNet, first: Sequence[str], second: Sequence[str]) -> FloatArray:
    """Returns Wu & Palmer's similarity of each `first` (n) and each `second` (m): (n, m), in (0, 1].

    The deepest synset above both is the one whose shortest path to the root is longest; its depth in the
    formula is its longest path. Of several equally deep it is the one in `first`, or the first by name.
    """
    return _Ways(wordnet, first, second).wu_palmer()


def mean_similarity(wordnet: WordNet, first: Sequence[str], second: Sequence[str]) -> FloatArray:
    """Returns the mean of the three measures, in (0, 1]: (n, m). Leacock & Chodorow's is divided by log 2D.

    Source: Recalcati et al. 2023, Toward a Realistic Benchmark for Out-of-Distribution Detection, section IV.
    The paper does not say how the measures are scaled.
    """
    ways = _Ways(wordnet, first, second)
    edges = ways.shortest()
    leacock = 1 - np.log(1.0 + edges) / _depth(wordnet)
    return (1 / (1.0 + edges) + leacock + ways.wu_palmer()) / 3


def _depth(wordnet: WordNet) -> float:
    """Returns log 2D, the largest value of Leacock & Chodorow's measure."""
    return float(np.log(2 * max(most for _, most in wordnet.depths.values())))


class _Ways:
    """The paths from two lists of synsets up to all synsets that are above any of the first list."""

    def __init__(self, wordnet: WordNet, first: Sequence[str], second: Sequence[str]) -> None:
        above = [wordnet.ancestors(synset) for synset in first]
        columns = sorted(
            set().union(*above), key=lambda synset: (-wordnet.depths[synset][0], wordnet.name(synset))
        )
        self.numbers = {synset: number for number, synset in enumerate(columns)}  # deepest first
        self.depths = np.array([wordnet.depths[synset][1] + 1 for synset in columns])
        self.least = np.array([wordnet.depths[synset][0] for synset in columns])
        self.up = self._edges(above)
        self.other = self._edges([wordnet.ancestors(synset) for synset in second])
        self.own = [self.numbers[synset] for synset in first]

    def _edges(self, above: Sequence[dict[str, int]]) -> NDArray[np.int16]:
        edges = np.full((len(above), len(self.numbers)), _NONE, np.int16)
        for row, found in enumerate(above):
            known = {self.numbers[synset]: count for synset, count in found.items() if synset in self.numbers}
            edges[row, list(known)] = list(known.values())
        return edges

    def shortest(self) -> NDArray[np.int16]:
        """Returns the number of edges of the shortest path of each pair (n, m)."""
        found = np.empty((len(self.up), len(self.other)), np.int16)
        for row, up in enumerate(self.up):
            shared = np.flatnonzero(up < _NONE)
            found[row] = (self.other[:, shared] + up[shared]).min(1)
        return found

    def wu_palmer(self) -> FloatArray:
        """Returns Wu & Palmer's similarity of each pair (n, m)."""
        found = np.empty((len(self.up), len(self.other)))
        for row, (up, own) in enumerate(zip(self.up, self.own, strict=True)):
            above = np.flatnonzero(up < _NONE)
            above = above[np.lexsort((above, above != own, -self.least[above]))]
            chosen = above[(self.other[:, above] < _NONE).argmax(1)]
            ways = up[chosen] + self.other[np.arange(len(self.other)), chosen]
            found[row] = 2 * self.depths[chosen] / (2 * self.depths[chosen] + ways)
        return found
