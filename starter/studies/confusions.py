"""Prediction graphs: the classes predicted for images of other classes, and how similar they are.

Source: Recalcati et al. 2023, section V: the mean of the path and the Wu & Palmer similarity of the true and
the predicted class, averaged per class (figures 2 and 3), and the graph of the predictions with its pruning.

A graph is a table with a row for each pair of a true and a predicted class with an image; `word` is the first
of the true class's synset, `similarity` nan if a class has none, `kept` True in the pruned graph.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import torch
from matplotlib.cm import ScalarMappable
from numpy.typing import NDArray

from starter.data.images.figure import Drawn, new_figure
from starter.data.images.reading import Fit
from starter.data.sets.rendering import FromRecipe
from starter.data.wordnet.assign import measured
from starter.data.wordnet.images import load_class_images
from starter.data.wordnet.manifest import ASSIGNMENTS, ClassEntry, read_manifest
from starter.data.wordnet.wordnet import WordNet, load_wordnet
from starter.models.classifiers import load_classifier
from starter.studies.study import Study
from submission.errors import UnusableInput
from submission.progress import progress

LEAST_SHARE = 0.25
"""Share of a class's images below which an edge is pruned. It leaves about one edge per node, as the paper's
threshold does, whose value is not given there."""
ENDS = 10
"""Number of classes at either end of the bars."""


def graph_study(
    manifest: Path,
    *,
    images: Path,
    classifier: str,
    known: str = "cifar10",
    wordnet: Path | None = None,
    image_size: int = 0,
    device: str = "cpu",
) -> Study:
    """Returns which ID classes a manifest's other images are taken for, and how similar in meaning."""
    entries, taxonomy = read_manifest(manifest), load_wordnet(wordnet)
    own = [entry for entry in entries if entry.source == known]
    others = [entry for entry in entries if entry.source != known and entry.assignment != "dropped"]
    if not own or not others:
        there = ", ".join(dict.fromkeys(entry.source for entry in entries))
        raise UnusableInput(
            f"classes of {known!r} and of another source are needed; the manifest has {there}"
        )
    network = load_classifier(classifier, [entry.name for entry in own], device=device)
    taken = load_class_images(others, images, Fit((image_size, image_size) if image_size else None))
    chunks = progress(FromRecipe.whole(taken).chunks(), f"classify with {network.name}", unit="chunks")
    predictions = torch.cat([network(chunk)[0].argmax(1).cpu() for chunk in chunks]).numpy()
    graph = prediction_graph(taxonomy, others, own, taken.truth, predictions)
    tables = {"edges": graph, "classes": per_class(graph), "predictions": per_prediction(graph)}
    figures = {"graph": partial(graph_figure, graph), "similarities": partial(similarities_figure, graph)}
    return Study(tables, figures, graph_text(graph), Path("confusions"))


def prediction_graph(
    wordnet: WordNet,
    entries: Sequence[ClassEntry],
    known: Sequence[ClassEntry],
    labels: NDArray[np.integer],
    predictions: NDArray[np.integer],
) -> pd.DataFrame:
    """Returns the graph of predictions (n,) of `known` classes for images of `entries`, by labels (n,)."""
    counts = np.zeros((len(entries), len(known)), np.int64)
    np.add.at(counts, (labels, predictions), 1)
    rows = []
    for row, column in np.argwhere(counts):
        true, predicted, images = entries[row], known[column], counts[row, column]
        similarity = np.nan
        if true.synset and predicted.synset:
            steps, palmer = measured(wordnet, [true.synset], [predicted.synset])
            similarity = (1 / (1.0 + steps) + palmer).item() / 2
        word = wordnet.words[true.synset][0] if true.synset else true.name
        described = true.source, true.name, word, true.assignment, predicted.name
        rows.append((*described, images, images / counts[row].sum(), similarity))
    columns = "source", "true", "word", "assignment", "predicted", "images", "share", "similarity"
    edges = pd.DataFrame(rows, columns=columns)
    plain = edges[["word", "predicted"]].replace("[-_ ]", "", regex=True).map(str.lower)
    other, ood = plain["word"] != plain["predicted"], edges["assignment"].isin(["near", "far"])
    # ID classes say nothing about OOD images, nor do classes of one name.
    return edges.assign(kept=ood & other & (edges["share"] >= LEAST_SHARE))


def per_class(graph: pd.DataFrame) -> pd.DataFrame:
    """Returns each true class's images, mean similarity, and commonest prediction with share (figure 2)."""
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
    """Returns the pruned graph: OOD classes on a circle, at their mean angle inside it what they pass for."""
    edges = graph[graph["kept"]].fillna({"similarity": 0.0})
    classes = edges.sort_values("share", kind="stable").drop_duplicates(["source", "true"], keep="last")
    classes = classes.sort_values(["predicted", "source", "true"])
    classes["angle"] = np.linspace(0, 2 * np.pi, len(classes), endpoint=False)
    edges = edges.merge(classes[["source", "true", "angle"]])
    edges["inner"] = edges.groupby("predicted")["angle"].transform("mean")
    figure = new_figure(12, 12)
    axis = figure.subplots()
    axis.set(title=sizes(graph), aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    axis.set_axis_off()
    colours = matplotlib.colormaps["viridis"]
    for edge in edges.to_dict("records"):
        ends = zip(_point(edge["angle"], 1.0), _point(edge["inner"], 0.5), strict=True)
        colour = colours(edge["similarity"])
        axis.plot(*ends, color=colour, linewidth=4 * edge["share"], alpha=0.7)
    for word, angle in zip(classes["word"], classes["angle"], strict=True):
        turn = np.degrees(angle)
        flipped = 90 < turn < 270
        axis.text(
            *_point(angle, 1.01), word, size=5, rotation=turn - 180 * flipped, rotation_mode="anchor",
            ha="right" if flipped else "left", va="center",
        )  # fmt: skip
    box = {"boxstyle": "round", "facecolor": "white"}
    for name, angle in edges.groupby("predicted")["inner"].first().items():
        axis.text(*_point(angle, 0.5), name, size=10, ha="center", va="center", bbox=box)
    scale = ScalarMappable(cmap=colours)
    figure.colorbar(scale, ax=axis, shrink=0.5, label="similarity of the two classes")
    return figure


def similarities_figure(graph: pd.DataFrame) -> Drawn:
    """Returns the lowest and highest mean similarities, of true and of predicted classes."""
    true, predicted = per_class(graph), per_prediction(graph)
    true.index = true["word"] + " (" + true["assignment"] + ")"
    tables = {"by true class": true, "by predicted class, OOD images": predicted.set_index("predicted")}
    figure = new_figure(11, 6)
    for axis, (title, table) in zip(figure.subplots(1, 2), tables.items(), strict=True):
        ranked = table.dropna(subset="similarity").sort_values("similarity", ascending=False, kind="stable")
        bars = ranked if len(ranked) <= 2 * ENDS else pd.concat([ranked[:ENDS], ranked[-ENDS:]])
        axis.barh(range(len(bars)), bars["similarity"])
        axis.set_yticks(range(len(bars)), bars.index)
        axis.invert_yaxis()
        axis.set(title=title, xlim=(0, 1), xlabel="mean similarity of true and predicted class")
    return figure


def _point(angle: float, radius: float) -> tuple[float, float]:
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))
