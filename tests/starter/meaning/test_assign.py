"""Benchmarks by similarity: thresholds, hyponyms, unmatched labels, and Recalcati et al.'s counts."""

import os
from pathlib import Path

import numpy as np
import pytest
from taxonomy import real_wordnet, synset_id, write_taxonomy

from starter.meaning.assign import T40, T45, T50, nearest, similarity_benchmark
from starter.meaning.classlists import ClassList, load_classes
from starter.meaning.labels import Matches, match_labels
from starter.meaning.similarity import mean_similarity
from starter.meaning.wordnet import load_wordnet
from submission import UnusableInput


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return load_wordnet(write_taxonomy(tmp_path_factory.mktemp("wordnet")))


@pytest.fixture
def known(wordnet):
    return ClassList("cifar10", ("dog", "automobile")).match(wordnet)


@pytest.fixture
def pool(wordnet):
    return ClassList("zoo", ("dog", "poodle", "fox", "unicorn", "table", "go-kart")).match(wordnet)


def test_the_nearest_class_is_the_most_similar_one(wordnet):
    known, others = [synset_id("dog"), synset_id("car")], sorted(wordnet.words)
    best, values = nearest(wordnet, known, others)
    similarity = mean_similarity(wordnet, known, others)
    assert values == pytest.approx(similarity.max(0))
    assert best.tolist() == similarity.argmax(0).tolist()


def test_classes_are_assigned_by_their_distance(wordnet, known, pool):
    entries = similarity_benchmark(wordnet, known, [pool], threshold=0.45, near=0.6)
    found = {(entry.source, entry.name): entry for entry in entries}
    assert [entry.name for entry in entries[:2]] == ["dog", "automobile"]
    assert all(entry.assignment == "ID" and entry.oodness == 0 for entry in entries[:2])
    assert found["zoo", "unicorn"].assignment == "dropped"
    assert found["zoo", "unicorn"].reason == "unmatched: no synset has its label"
    for entry in entries[2:]:
        if entry.similarity is None:
            continue
        distance = 1 - entry.similarity
        expected = "ID" if distance <= 0.45 else "near" if distance <= 0.6 else "far"
        assert entry.assignment == expected
    assert found["zoo", "dog"].oodness == 0
    assert found["zoo", "poodle"].oodness == 1
    assert "nearest to automobile" in found["zoo", "go-kart"].reason


def test_thresholds_are_inclusive_and_monotone(wordnet, known, pool):
    exact = 1 - mean_similarity(wordnet, [synset_id("car")], [synset_id("go-kart")])[0, 0]
    for threshold, expected in ((exact, "ID"), (exact - 1e-6, "near")):
        entries = similarity_benchmark(wordnet, known, [pool], round(threshold, 9), 1.0)
        assert entries[-1].assignment == expected
    counts = [
        sum(
            entry.assignment == "ID" for entry in similarity_benchmark(wordnet, known, [pool], threshold, 1.0)
        )
        for threshold in np.linspace(0, 1, 9)
    ]
    assert counts == sorted(counts)
    assert counts[-1] == 7  # all but the unicorn


def test_hyponyms_may_be_taken_for_id(wordnet, known, pool):
    strict = similarity_benchmark(wordnet, known, [pool], 0.0, 0.1)
    loose = similarity_benchmark(wordnet, known, [pool], 0.0, 0.1, hyponyms=True)
    changed = [new for old, new in zip(strict, loose, strict=True) if old != new]
    assert [(entry.name, entry.assignment, entry.oodness) for entry in changed] == [("poodle", "ID", 1)]
    assert changed[0].reason.startswith("hyponym of dog; ")


@pytest.mark.parametrize(("threshold", "near"), [(-0.1, 0.5), (0.5, 0.4), (0.5, 1.1), (float("nan"), 1)])
def test_thresholds_out_of_range_are_refused(wordnet, known, pool, threshold, near):
    with pytest.raises(UnusableInput, match="--threshold"):
        similarity_benchmark(wordnet, known, [pool], threshold, near)


def test_without_an_id_synset_nothing_can_be_built(wordnet, pool):
    known = Matches("none", tuple(match_labels(wordnet, ["unicorn"])))
    with pytest.raises(UnusableInput, match="no ID class has a synset"):
        similarity_benchmark(wordnet, known, [pool])


@pytest.mark.skipif("UNSEEN_DATA" not in os.environ, reason="UNSEEN_DATA names no folder of real data")
def test_imagenet_against_places365_counts_nearly_as_published():
    pytest.importorskip("timm", reason="timm carries ImageNet's list: pip install 'unseen[wordnet]'")
    wordnet = real_wordnet()
    places = load_classes(str(Path(os.environ["UNSEEN_DATA"]) / "classes/places365.txt")).match(wordnet)
    imagenet = load_classes("imagenet-1k").match(wordnet)
    counts = [
        sum(
            entry.assignment == "ID"
            for entry in similarity_benchmark(wordnet, places, [imagenet], threshold)[365:]
        )
        for threshold in (T40, T45, T50)
    ]
    assert counts == [59, 88, 155]  # published: 56, 90, 140
