"""The graph of predictions: counts, similarities and pruning against those made by hand; a real classifier."""

import numpy as np
import pandas as pd
import pytest
from taxonomy import synset_id, write_class_zip, write_taxonomy

from starter.data.wordnet.assign import measured
from starter.data.wordnet.manifest import ClassEntry, write_manifest
from starter.models.classifiers import read_classifier
from starter.studies.confusions import (
    graph_study,
    graph_text,
    per_class,
    per_prediction,
    prediction_graph,
    sizes,
)
from submission import UnusableInput


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
    return prediction_graph(wordnet, OTHERS, KNOWN, LABELS, PREDICTIONS)


def test_edges_count_images_and_carry_similarities(wordnet, graph):
    edges = graph.set_index(["true", "predicted"])
    kept = {("fox", "dog"): 6, ("fox", "truck"): 3, ("griffin", "dog"): 1, ("griffin", "ship"): 1}
    others = {("fox", "ship"): 1, ("poodle", "dog"): 4, ("Truck", "truck"): 2}
    assert edges["images"].to_dict() == kept | others
    assert edges["images"][edges["kept"]].to_dict() == kept
    assert sizes(graph) == "full graph: 7 nodes, 7 edges; pruned: 5, 4"
    assert edges.loc[("fox", "truck"), "share"] == pytest.approx(0.3)
    steps, palmer = measured(wordnet, [synset_id("fox")], [synset_id("dog")])
    expected = (1 / (1 + steps) + palmer) / 2
    assert edges.loc[("fox", "dog"), "similarity"] == pytest.approx(expected[0, 0])
    assert edges.loc["griffin"]["similarity"].isna().all()


def test_means_are_over_images(graph):
    similarity = graph.set_index(["true", "predicted"])["similarity"]
    classes = per_class(graph).set_index("true")
    fox = (6 * similarity["fox", "dog"] + 3 * similarity["fox", "truck"] + similarity["fox", "ship"]) / 10
    assert classes.loc["fox", "similarity"] == pytest.approx(fox)
    assert classes.loc["fox", ["most", "most_share"]].tolist() == ["dog", 0.6]
    assert np.isnan(classes.loc["griffin", "similarity"])
    first, *lines = graph_text(graph).split("\n")
    assert first == sizes(graph)
    assert lines[1] == f"near: 1 classes, mean similarity {fox:.3f}, 60% of the images taken for one class"
    assert [line[:4].strip() for line in lines] == ["ID", "near", "far"]
    predicted = per_prediction(graph).set_index("predicted")
    assert predicted["images"].to_dict() == {"dog": 7, "truck": 5, "ship": 2}
    assert predicted.loc["dog", "similarity"] == pytest.approx(similarity["fox", "dog"])


def test_a_classifiers_own_predictions_make_the_graph(tmp_path, weights):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "poodle"), count=5)
    classifier = read_classifier(weights)
    known = [ClassEntry("digits", name, "", None, 0, "ID") for name in classifier.classes]
    manifest = tmp_path / "manifest.csv"
    taxonomy = write_taxonomy(tmp_path / "wordnet")
    asked = {"images": tmp_path, "classifier": f"tiny={weights}", "wordnet": taxonomy}
    write_manifest(manifest, [*known, *OTHERS[:2]])
    study = graph_study(manifest, **asked, known="digits")
    edges = study.tables["edges"]
    assert edges["images"].sum() == 10
    (tmp_path / "zoo.zip").unlink()
    write_class_zip(tmp_path / "zoo.zip", ("fox", "poodle"), count=5, size=64)
    small = graph_study(manifest, **asked, known="digits", image_size=32)
    assert f"{small.tables['edges']}" != f"{graph_study(manifest, **asked, known='digits').tables['edges']}"
    assert set(edges["true"]) == {"fox", "poodle"}
    assert set(edges["predicted"]) <= set(classifier.classes)
    names = {path.name for path in study.write(tmp_path / "out")}
    assert names == {"edges.csv", "classes.csv", "predictions.csv", "graph.png", "similarities.png"}
    assert len(pd.read_csv(tmp_path / "out/edges.csv")) == len(edges)
    with pytest.raises(UnusableInput, match="zoo"):
        graph_study(manifest, **asked, known="cifar10")
