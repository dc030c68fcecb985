"""Prediction graphs: the classes predicted for images of other classes, and how similar they are.

Source: Recalcati et al. 2023, section V: the mean of the path and the Wu & Palmer similarity of the true and
the predicted class, averaged per class (figures 2 and 3), and the graph of the predictions with its pruning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from starter.classifiers import load_classifier
from starter.meaning.images import load_class_images
from starter.meaning.manifest import ASSIGNMENTS, ClassEntry
from starter.meaning.similarity import path_similarity, wu_palmer
from starter.meaning.wordnet import WordNet
from submission.errors import UnusableInput
from submission.files import write_text

_CHUNK = 500  # number of images classified at a time
LEAST_SHARE = 0.25
"""Share of a class's images below which an edge is pruned. It leaves about one edge per node, as the paper's
threshold does, whose value is not given there."""


@dataclass(frozen=True)
class PredictionGraph:
    """Classes and the classes predicted for their images.

    Attributes:
        edges: A row for each pair of a true and a predicted class with an image: `source`, `true`, `word`
            (the first of its synset), `assignment`, `predicted`, `images` (number), `share` of the true
            class's images, `similarity` (NaN if a class has no synset), and `kept`, True in the pruned graph.
        nodes: Number of classes in the full graph, including the predicted ones.
    """

    edges: pd.DataFrame
    nodes: int

    @property
    def pruned(self) -> pd.DataFrame:
        """The edges of the pruned graph."""
        return self.edges[self.edges["kept"]]

    def per_class(self) -> pd.DataFrame:
        """Returns a row for each true class (figure 2).

        Columns: its images, their mean similarity, the class predicted most often and its share.
        """
        most = self.edges.loc[self.edges.groupby(["source", "true"], sort=False)["images"].idxmax()]
        found = _means(self.edges, ["source", "true", "word", "assignment"])
        return found.assign(most=most["predicted"].to_numpy(), most_share=most["share"].to_numpy())

    def per_prediction(self) -> pd.DataFrame:
        """Returns a row for each predicted class, over images of OOD classes (figure 3).

        Columns: their number and mean similarity.
        """
        return _means(self.edges[self.edges["assignment"].isin(["near", "far"])], ["predicted"])

    def describe(self) -> str:
        """Returns `sizes` and, for each assignment, the means over its classes, as text."""
        means = self.per_class().groupby("assignment", sort=False)[["similarity", "most_share"]]
        table = (
            means.mean()
            .assign(classes=means.size())
            .reindex([name for name in ASSIGNMENTS if name in means.groups])
        )
        lines = [
            f"{name:4}: {row.classes:.0f} classes, mean similarity {row.similarity:.3f}, "
            f"{row.most_share:.0%} of the images taken for one class"
            for name, row in table.iterrows()
        ]
        return "\n".join((self.sizes(), *lines))

    def sizes(self) -> str:
        """Returns the numbers of nodes and edges of the full and of the pruned graph, as text."""
        pruned = self.pruned
        nodes = len({*zip(pruned["source"], pruned["true"], strict=True)}) + pruned["predicted"].nunique()
        return (
            f"full graph: {self.nodes:,} nodes, {len(self.edges):,} edges; pruned: {nodes:,}, {len(pruned):,}"
        )

    def write(self, folder: Path) -> list[Path]:
        """Write edges.csv, classes.csv and predictions.csv, and return their paths."""
        tables = {"edges": self.edges, "classes": self.per_class(), "predictions": self.per_prediction()}
        paths = {folder / f"{name}.csv": table for name, table in tables.items()}
        for path, table in paths.items():
            write_text(path, table.to_csv(index=False, float_format="%.6f", lineterminator="\n"))
        return list(paths)


def predicted_graph(
    wordnet: WordNet,
    entries: Sequence[ClassEntry],
    source: str,
    spec: str,
    root: Path,
    least_share: float = LEAST_SHARE,
    device: str = "cpu",
) -> PredictionGraph:
    """Classify the images of a manifest's classes, and return the graph of the predictions.

    Args:
        wordnet: The taxonomy.
        entries: Classes of the manifest; dropped ones and those of `source` are not classified.
        source: Source of the classifier's classes, in the order of its logits.
        spec: Classifier, as NAME=WEIGHTS.
        root: Folder of the images, as for `load_class_images`.
        least_share: As for `prediction_graph`.
        device: As for `Classifier`.

    Raises:
        UnusableInput: The manifest has no class of `source`, or no other; or as for `load_classifier`,
            `load_class_images` and `prediction_graph`.
    """
    known = [entry for entry in entries if entry.source == source]
    others = [entry for entry in entries if entry.source != source and entry.assignment != "dropped"]
    if not known or not others:
        there = ", ".join(dict.fromkeys(entry.source for entry in entries))
        raise UnusableInput(
            f"classes of {source!r} and of another source are needed; the manifest has {there}"
        )
    classifier = load_classifier(spec, [entry.name for entry in known], device=device)
    images = load_class_images(others, root)
    chunks = range(0, len(images), _CHUNK)
    logits = [
        classifier(images.images[start : start + _CHUNK])[0].argmax(1).cpu().numpy()
        for start in tqdm(chunks, f"classify with {classifier.name}", unit="chunk", delay=1)
    ]
    assert images.labels is not None
    return prediction_graph(wordnet, others, known, images.labels, np.concatenate(logits), least_share)


def prediction_graph(
    wordnet: WordNet,
    entries: Sequence[ClassEntry],
    known: Sequence[ClassEntry],
    labels: NDArray[np.integer],
    predictions: NDArray[np.integer],
    least_share: float = LEAST_SHARE,
) -> PredictionGraph:
    """Returns the graph of the predictions for images.

    The pruned graph leaves out edges from ID classes, which say nothing about OOD images, edges between
    classes of one name, edges with less than `least_share` of a class's images, and nodes without an edge.

    Args:
        wordnet: The taxonomy.
        entries: The k classes of the images, of a manifest.
        known: The c ID classes of the classifier, in the order of its logits.
        labels: Class of each image, an index into `entries` (n,).
        predictions: Class predicted for each image, an index into `known` (n,).
        least_share: Smallest share of an edge in the pruned graph, in [0, 1].

    Raises:
        UnusableInput: A synset is not in WordNet, or `least_share` is out of range.
    """
    if not 0 <= least_share <= 1:
        raise UnusableInput(f"--least-share must lie in [0, 1], got {least_share:g}")
    counts = np.zeros((len(entries), len(known)), np.int64)
    np.add.at(counts, (labels, predictions), 1)
    similarity = _similarity(wordnet, entries, known)
    rows, columns = (found.tolist() for found in counts.nonzero())
    totals = counts.sum(1)
    edges = pd.DataFrame(
        {
            "source": [entries[row].source for row in rows],
            "true": [entries[row].name for row in rows],
            "word": [_word(wordnet, entries[row]) for row in rows],
            "assignment": [entries[row].assignment for row in rows],
            "predicted": [known[column].name for column in columns],
            "images": counts[rows, columns],
            "share": counts[rows, columns] / totals[rows],
            "similarity": similarity[rows, columns],
        }
    )
    edges["kept"] = (
        edges["assignment"].isin(["near", "far"])
        & (edges["word"].map(_plain) != edges["predicted"].map(_plain))
        & (edges["share"] >= least_share)
    )
    seen = {(entries[row].source, entries[row].name) for row in rows}
    predicted = {(known[column].source, known[column].name) for column in columns}
    return PredictionGraph(edges, len(seen | predicted))


def _similarity(
    wordnet: WordNet, entries: Sequence[ClassEntry], known: Sequence[ClassEntry]
) -> NDArray[np.float64]:
    """Returns the mean of the two similarities (k, c), NaN if a class has no synset."""
    for entry in (*entries, *known):
        if entry.synset and entry.synset not in wordnet:
            raise UnusableInput(
                f"{entry.source}/{entry.name}: {entry.synset} is no noun synset of WordNet 3.0"
            )
    rows = [row for row, entry in enumerate(entries) if entry.synset]
    columns = [column for column, entry in enumerate(known) if entry.synset]
    first, second = [entries[row].synset for row in rows], [known[column].synset for column in columns]
    found = np.full((len(entries), len(known)), np.nan)
    if rows and columns:
        mean = (path_similarity(wordnet, first, second) + wu_palmer(wordnet, first, second)) / 2
        found[np.ix_(rows, columns)] = mean
    return found


def _word(wordnet: WordNet, entry: ClassEntry) -> str:
    """Returns the first word of a class's synset, or the class's name if it has none."""
    return wordnet.words[entry.synset][0] if entry.synset else entry.name


def _plain(name: str) -> str:
    """Returns a class's name without the differences in spelling of data sets: case, spaces, "_" and "-"."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _means(edges: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Returns the number and mean similarity of images for each group, in the order of appearance."""
    known = edges.assign(
        weighted=edges["similarity"] * edges["images"],
        counted=edges["images"].where(edges["similarity"].notna()),
    )
    sums = known.groupby(by, sort=False)[["images", "weighted", "counted"]].sum().reset_index()
    similarity = sums["weighted"] / sums["counted"].where(sums["counted"] > 0)
    return sums[[*by, "images"]].assign(similarity=similarity)
