"""Prediction graphs: the classes predicted for images of other classes, and how similar they are.

Source: Recalcati et al. 2023, section V: the mean of the path and the Wu & Palmer similarity of the true and
the predicted class, averaged per class (figures 2 and 3), and the graph of the predictions with its pruning.

A graph is a table with a row for each pair of a true and a predicted class with an image: `source`, `true`,
`word` (the first of its synset), `assignment`, `predicted`, `images` (number), `share` of the true class's
images, `similarity` (nan if a class has no synset), and `kept`, True in the pruned graph.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from numpy.typing import NDArray
from tqdm import tqdm

from starter.classifiers import load_classifier
from starter.images.figure import Drawn, new_figure
from starter.studies.study import Study
from starter.wordnet.assign import path_similarity, wu_palmer
from starter.wordnet.images import load_class_images
from starter.wordnet.manifest import ASSIGNMENTS, ClassEntry
from starter.wordnet.wordnet import WordNet
from submission.errors import UnusableInput

_CHUNK = 500  # number of images classified at a time
LEAST_SHARE = 0.25
"""Share of a class's images below which an edge is pruned. It leaves about one edge per node, as the paper's
threshold does, whose value is not given there."""
ENDS = 10
"""Number of classes at either end of the bars."""


def graph_study(
    wordnet: WordNet,
    entries: Sequence[ClassEntry],
    source: str,
    spec: str,
    root: Path,
    device: str = "cpu",
) -> Study:
    """Classify the images of a manifest's classes, and return the graph of the predictions with its figures.

    Args:
        wordnet: The taxonomy.
        entries: Classes of the manifest; dropped ones and those of `source` are not classified.
        source: Source of the classifier's classes, in the order of its logits.
        spec: Classifier, as NAME=WEIGHTS.
        root: Folder of the images, as for `load_class_images`.
        device: As for `Classifier`.
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
    graph = prediction_graph(wordnet, others, known, images.labels, np.concatenate(logits))
    tables = {"edges": graph, "classes": per_class(graph), "predictions": per_prediction(graph)}
    figures = {"graph": partial(graph_figure, graph), "similarities": partial(similarities_figure, graph)}
    return Study(tables, figures)


def prediction_graph(
    wordnet: WordNet,
    entries: Sequence[ClassEntry],
    known: Sequence[ClassEntry],
    labels: NDArray[np.integer],
    predictions: NDArray[np.integer],
) -> pd.DataFrame:
    """Returns the graph of the predictions for images.

    The pruned graph leaves out edges from ID classes, which say nothing about OOD images, edges between
    classes of one name, edges with less than `LEAST_SHARE` of a class's images, and nodes without an edge.

    Args:
        wordnet: The taxonomy.
        entries: The k classes of the images, of a manifest.
        known: The c ID classes of the classifier, in the order of its logits.
        labels: Class of each image, an index into `entries` (n,).
        predictions: Class predicted for each image, an index into `known` (n,).
    """
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
    ood = edges["assignment"].isin(["near", "far"])
    other = edges["word"].map(_plain) != edges["predicted"].map(_plain)
    return edges.assign(kept=ood & other & (edges["share"] >= LEAST_SHARE))


def per_class(graph: pd.DataFrame) -> pd.DataFrame:
    """Returns a row for each true class (figure 2).

    Columns: its images, their mean similarity, the class predicted most often and its share.
    """
    most = graph.loc[graph.groupby(["source", "true"], sort=False)["images"].idxmax()]
    found = _means(graph, ["source", "true", "word", "assignment"])
    return found.assign(most=most["predicted"].to_numpy(), most_share=most["share"].to_numpy())


def per_prediction(graph: pd.DataFrame) -> pd.DataFrame:
    """Returns number and mean similarity of the OOD classes' images for each predicted class (figure 3)."""
    return _means(graph[graph["assignment"].isin(["near", "far"])], ["predicted"])


def graph_text(graph: pd.DataFrame) -> str:
    """Returns `sizes` and, for each assignment, the means over its classes, as text."""
    means = per_class(graph).groupby("assignment", sort=False)[["similarity", "most_share"]]
    table = means.mean().assign(classes=means.size())
    lines = [
        f"{name:4}: {row.classes:.0f} classes, mean similarity {row.similarity:.3f}, "
        f"{row.most_share:.0%} of the images taken for one class"
        for name, row in table.reindex([name for name in ASSIGNMENTS if name in means.groups]).iterrows()
    ]
    return "\n".join((sizes(graph), *lines))


def sizes(graph: pd.DataFrame) -> str:
    """Returns the numbers of nodes and edges of the full and of the pruned graph, as text."""
    full, pruned = (
        f"{len(edges[['source', 'true']].drop_duplicates()) + edges['predicted'].nunique():,}"
        for edges in (graph, graph[graph["kept"]])
    )
    return f"full graph: {full} nodes, {len(graph):,} edges; pruned: {pruned}, {graph['kept'].sum():,}"


def _similarity(
    wordnet: WordNet, entries: Sequence[ClassEntry], known: Sequence[ClassEntry]
) -> NDArray[np.float64]:
    """Returns the mean of the two similarities (k, c), NaN if a class has no synset."""
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


def graph_figure(graph: pd.DataFrame) -> Drawn:
    """Returns the pruned graph: OOD classes on the outer circle, their predicted classes inside.

    The width of a line is its share of the class's images, its colour the similarity of the two classes.
    """
    edges = graph[graph["kept"]]
    figure = new_figure(12, 12)
    axis = figure.subplots()
    axis.set(title=sizes(graph), aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    axis.set_axis_off()
    outer, inner = _angles(edges)
    colours = matplotlib.colormaps["viridis"]
    for edge in edges.to_dict("records"):
        ends = _point(outer[edge["source"], edge["true"]], 1.0), _point(inner[edge["predicted"]], 0.5)
        similarity = 0.0 if pd.isna(edge["similarity"]) else edge["similarity"]
        axis.plot(*zip(*ends, strict=True), color=colours(similarity), linewidth=4 * edge["share"], alpha=0.7)
    words = dict(zip(zip(edges["source"], edges["true"], strict=True), edges["word"], strict=True))
    for key, angle in outer.items():
        turn = np.degrees(angle) % 360
        flipped = 90 < turn < 270
        axis.text(
            *_point(angle, 1.01), words[key], size=5, rotation=turn - 180 * flipped, rotation_mode="anchor",
            ha="right" if flipped else "left", va="center",
        )  # fmt: skip
    for name, angle in inner.items():
        box = {"boxstyle": "round", "facecolor": "white"}
        axis.text(*_point(angle, 0.5), name, size=10, ha="center", va="center", bbox=box)
    scale = ScalarMappable(Normalize(0, 1), colours)
    figure.colorbar(scale, ax=axis, shrink=0.5, label="similarity of the two classes")
    return figure


def similarities_figure(graph: pd.DataFrame) -> Drawn:
    """Returns the lowest and highest mean similarities, of true and of predicted classes."""
    true, predicted = per_class(graph), per_prediction(graph)
    true["name"] = true["word"] + " (" + true["assignment"] + ")"
    tables = {
        "by true class": true,
        "by predicted class, OOD images": predicted.assign(name=predicted["predicted"]),
    }
    figure = new_figure(11, 6)
    for axis, (title, table) in zip(figure.subplots(1, 2), tables.items(), strict=True):
        ranked = table.dropna(subset="similarity").sort_values("similarity", ascending=False, kind="stable")
        bars = ranked if len(ranked) <= 2 * ENDS else pd.concat([ranked[:ENDS], ranked[-ENDS:]])
        axis.barh(np.arange(len(bars)), bars["similarity"], color="tab:blue")
        axis.set_yticks(np.arange(len(bars)), bars["name"])
        axis.invert_yaxis()
        axis.set(title=title, xlim=(0, 1), xlabel="mean similarity of true and predicted class")
    return figure


def _angles(edges: pd.DataFrame) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Returns the angles of true and of predicted classes on their circles, in radians.

    True classes are evenly spaced, sorted by their commonest prediction; a predicted class is at the mean
    angle of its true classes.
    """
    strongest = edges.sort_values("share", kind="stable").drop_duplicates(["source", "true"], keep="last")
    strongest = strongest.sort_values(["predicted", "source", "true"]).set_index(["source", "true"])
    turns = np.linspace(0, 2 * np.pi, len(strongest), endpoint=False)
    outer = pd.Series(turns, strongest.index)
    inner = edges.join(outer.rename("angle"), on=["source", "true"]).groupby("predicted")["angle"].mean()
    return dict(zip(strongest.index, turns, strict=True)), dict(zip(inner.index, inner, strict=True))


def _point(angle: float, radius: float) -> tuple[float, float]:
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))
