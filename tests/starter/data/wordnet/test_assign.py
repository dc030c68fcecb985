"""Benchmarks by similarity: thresholds, hyponyms, unmatched labels, and Recalcati et al.'s counts.

Semantic pruning: each step on the small taxonomy, and ImageNet-OOD's candidates on the real one.
"""

from collections import Counter
from pathlib import Path

import pytest
from taxonomy import real_wordnet, synset_id

from starter.data.wordnet.assign import STEPS, mean_similarity, prune, similarity_benchmark, steps_text
from starter.data.wordnet.labels import load_classes, match_classes
from submission import UnusableInput


@pytest.fixture
def known(wordnet):
    return match_classes(wordnet, "cifar10", ("dog", "automobile"))


@pytest.fixture
def pool(wordnet):
    return match_classes(wordnet, "zoo", ("dog", "poodle", "fox", "unicorn", "table", "go-kart"))


def test_classes_are_assigned_by_their_distance(wordnet, known, pool):
    entries = similarity_benchmark(wordnet, known, [pool], 0.45)
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


def test_thresholds_are_inclusive(wordnet, known, pool):
    exact = 1 - mean_similarity(wordnet, [synset_id("car")], [synset_id("go-kart")])[0, 0]
    for threshold, expected in ((exact, "ID"), (exact - 1e-6, "near")):
        entries = similarity_benchmark(wordnet, known, [pool], round(threshold, 9))
        assert entries[-1].assignment == expected
    unknown = match_classes(wordnet, "none", ["unicorn"])
    with pytest.raises(UnusableInput, match="no ID class has a synset"):
        similarity_benchmark(wordnet, unknown, [pool], 0.45)
    with pytest.raises(UnusableInput, match="threshold"):
        similarity_benchmark(wordnet, known, [pool], 0.7)


def test_hyponyms_may_be_taken_for_id(wordnet, known, pool):
    strict = similarity_benchmark(wordnet, known, [pool], 0.0)
    loose = similarity_benchmark(wordnet, known, [pool], 0.0, hyponyms=True)
    changed = [new for old, new in zip(strict, loose, strict=True) if old != new]
    assert [(entry.name, entry.assignment, entry.oodness) for entry in changed] == [("poodle", "ID", 1)]
    assert changed[0].reason.startswith("hyponym of dog; ")


@pytest.fixture
def known_of_pruning(wordnet):
    return match_classes(wordnet, "cifar10", ("dog", "cat", "airplane", "automobile", "truck"))


def pool_of_pruning(wordnet, *labels):
    return [match_classes(wordnet, "pool", labels)]


ONLY = "as of the ID classes only"


@pytest.mark.parametrize(
    ("label", "assignment", "oodness", "reason"),
    [
        ("car", "dropped", 0, "ID class automobile"),
        ("carnivore", "dropped", 1, "hypernym of dog"),
        ("entity", "dropped", 1, "hypernym of dog"),
        ("poodle", "dropped", 1, "hyponym of dog"),
        ("bird", "dropped", None, "excluded below organism.n.01"),
        ("glider", "dropped", 1, f"covariate shift below aircraft.n.01, {ONLY} airplane is"),
        ("unicorn", "dropped", None, "unmatched: no synset has its label"),
        ("go-kart", "near", 2, "sister of automobile, truck"),
        ("ship", "far", 3, "no ID class shares a hypernym"),
        ("chair", "far", 3, "no ID class shares a hypernym"),
    ],
)
def test_each_step_names_its_reason(wordnet, known_of_pruning, label, assignment, oodness, reason):
    entry = prune(wordnet, known_of_pruning, pool_of_pruning(wordnet, label))[-1]
    assert (entry.assignment, entry.oodness, entry.reason) == (assignment, oodness, reason)


def test_each_steps_count_is_told(wordnet, known_of_pruning):
    labels = [
        "car",
        "carnivore",
        "poodle",
        "bird",
        "glider",
        "unicorn",
        "go-kart",
        "ship",
        "chair",
        "vehicle",
    ]
    rows = steps_text(prune(wordnet, known_of_pruning, pool_of_pruning(wordnet, *labels))).split("\n")
    assert [row.split()[-1] for row in rows[1:]] == ["10", "9", "8", "6", "5", "4", "3", "1"]


def test_what_is_excluded_can_be_chosen(wordnet, known_of_pruning):
    (bird,) = prune(wordnet, known_of_pruning, pool_of_pruning(wordnet, "bird"), excluded=())[-1:]
    assert bird.assignment == "far"
    (chair,) = prune(
        wordnet, known_of_pruning, pool_of_pruning(wordnet, "chair"), excluded=("furniture", "group")
    )[-1:]
    assert chair.reason == "excluded below furniture.n.01"
    with pytest.raises(UnusableInput, match="'dragon' is no noun synset"):
        prune(wordnet, known_of_pruning, pool_of_pruning(wordnet, "chair"), excluded=("dragon",))


@pytest.mark.slow
def test_imagenet_21k_p_leaves_the_candidates_that_the_papers_words_give():
    pytest.importorskip("timm", reason="timm carries ImageNet's lists: pip install -e '.[wordnet]'")
    wordnet = real_wordnet()
    known_of_pruning, candidates = (
        match_classes(wordnet, *load_classes(name)) for name in ("imagenet-1k", "imagenet-21k-p")
    )
    entries = prune(wordnet, known_of_pruning, [candidates])
    rows = steps_text(entries).split("\n")
    # 4,922 candidates before the last step; published: 5,074
    assert [row.split()[-2] for row in rows[2:-1]] == ["0", "991", "609", "675", "4,024", "1,511"]
    published = Path(__file__).with_name("imagenet_ood.txt").read_text().split()
    found = {entry.synset: entry for entry in entries[1000:]}
    steps = Counter(step for synset in published for step in STEPS if found[synset].reason.startswith(step))
    assert steps == {"hypernym": 2, "hyponym": 1, "excluded": 34, "covariate shift": 15}
    assert len(published) - steps["hypernym"] - steps["hyponym"] - steps["excluded"] == 600
