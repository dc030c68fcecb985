"""The graph of predictions: counts, similarities and pruning against those made by hand; a real classifier."""

import numpy as np
import pandas as pd
import pytest
from taxonomy import synset_id, write_class_zip, write_taxonomy

from starter.classifiers import read_classifier
from starter.meaning.manifest import ClassEntry
from starter.meaning.similarity import path_similarity, wu_palmer
from starter.meaning.wordnet import load_wordnet
from starter.studies.confusions import predicted_graph, prediction_graph
from starter.studies.figures import plot_graph, plot_similarities
from submission import UnusableInput


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return load_wordnet(write_taxonomy(tmp_path_factory.mktemp("wordnet")))


def entry(source, name, assignment, word=None):
    return ClassEntry(source, name, synset_id(word) if word else "", None, None, assignment)


KNOWN = [entry("cifar10", name, "ID", name) for name in ("dog", "truck", "ship")]
OTHERS = [
    entry("zoo", "fox", "near", "fox"),
    entry("zoo", "poodle", "ID", "poodle"),
    entry("zoo", "Truck", "far", "truck"),
    entry("zoo", "griffin", "far"),
]
LABELS = np.array([0] * 10 + [1] * 4 + [2] * 2 + [3] * 2)
PREDICTIONS = np.array([0] * 6 + [1] * 3 + [2] + [0] * 4 + [1] * 2 + [0, 2])


@pytest.fixture
def graph(wordnet):
    return prediction_graph(wordnet, OTHERS, KNOWN, LABELS, PREDICTIONS, least_share=0.3)


def test_edges_count_images_and_carry_similarities(wordnet, graph):
    edges = graph.edges.set_index(["true", "predicted"])
    assert edges["images"].to_dict() == {
        ("fox", "dog"): 6,
        ("fox", "truck"): 3,
        ("fox", "ship"): 1,
        ("poodle", "dog"): 4,
        ("Truck", "truck"): 2,
        ("griffin", "dog"): 1,
        ("griffin", "ship"): 1,
    }
    assert edges.loc[("fox", "truck"), "share"] == pytest.approx(0.3)
    pair = (wordnet, [synset_id("fox")], [synset_id("dog")])
    expected = (path_similarity(*pair) + wu_palmer(*pair)) / 2
    assert edges.loc[("fox", "dog"), "similarity"] == pytest.approx(expected[0, 0])
    assert edges.loc["griffin"]["similarity"].isna().all()
    assert graph.nodes == 7


def test_pruning_leaves_strong_edges_from_ood_classes_of_other_names(graph):
    kept = set(zip(graph.pruned["true"], graph.pruned["predicted"], strict=True))
    assert kept == {("fox", "dog"), ("fox", "truck"), ("griffin", "dog"), ("griffin", "ship")}
    assert graph.sizes() == "full graph: 7 nodes, 7 edges; pruned: 5, 4"


def test_means_are_over_images(graph):
    similarity = graph.edges.set_index(["true", "predicted"])["similarity"]
    classes = graph.per_class().set_index("true")
    fox = (6 * similarity["fox", "dog"] + 3 * similarity["fox", "truck"] + similarity["fox", "ship"]) / 10
    assert classes.loc["fox", "similarity"] == pytest.approx(fox)
    assert classes.loc["fox", ["most", "most_share"]].tolist() == ["dog", 0.6]
    assert np.isnan(classes.loc["griffin", "similarity"])
    first, *lines = graph.describe().split("\n")
    assert first == graph.sizes()
    assert lines[1] == f"near: 1 classes, mean similarity {fox:.3f}, 60% of the images taken for one class"
    assert [line[:4].strip() for line in lines] == ["ID", "near", "far"]
    predicted = graph.per_prediction().set_index("predicted")
    assert predicted["images"].to_dict() == {"dog": 7, "truck": 5, "ship": 2}
    assert predicted.loc["dog", "similarity"] == pytest.approx(similarity["fox", "dog"])


def test_tables_and_pictures_are_written(graph, tmp_path):
    tables = {path.stem: pd.read_csv(path) for path in graph.write(tmp_path)}
    assert {name: len(table) for name, table in tables.items()} == {
        "edges": 7,
        "classes": 4,
        "predictions": 3,
    }
    for draw in (plot_graph, plot_similarities):
        path = draw(graph, tmp_path / f"{draw.__name__}.png")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_pictures_of_nothing_are_drawn_too(wordnet, tmp_path):
    graph = prediction_graph(wordnet, OTHERS[1:2], KNOWN, LABELS[:2], PREDICTIONS[:2])
    assert len(graph.pruned) == 0
    assert plot_graph(graph, tmp_path / "graph.png").exists()
    assert plot_similarities(graph, tmp_path / "similarities.png").exists()


def test_mistakes_are_told(wordnet, tmp_path):
    with pytest.raises(UnusableInput, match=r"--least-share must lie in \[0, 1\], got 2"):
        prediction_graph(wordnet, OTHERS, KNOWN, LABELS, PREDICTIONS, least_share=2)
    stranger = [ClassEntry("zoo", "fox", "n99999999", None, None, "far")]
    with pytest.raises(UnusableInput, match="zoo/fox: n99999999 is no noun synset"):
        prediction_graph(wordnet, stranger, KNOWN, LABELS[:1], PREDICTIONS[:1])
    with pytest.raises(
        UnusableInput, match="'cifar10' and of another source are needed; the manifest has zoo"
    ):
        predicted_graph(wordnet, OTHERS, "cifar10", "small=x.safetensors", tmp_path)


def test_a_classifiers_own_predictions_make_the_graph(wordnet, tmp_path, weights):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "poodle"), count=5)
    classifier = read_classifier(weights)
    known = [ClassEntry("digits", name, "", None, 0, "ID") for name in classifier.classes]
    graph = predicted_graph(wordnet, [*known, *OTHERS[:2]], "digits", f"tiny={weights}", tmp_path)
    assert graph.edges["images"].sum() == 10
    assert set(graph.edges["true"]) == {"fox", "poodle"}
    assert set(graph.edges["predicted"]) <= set(classifier.classes)
