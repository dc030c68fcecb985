"""Semantic pruning: each step on the small taxonomy, and ImageNet-OOD's candidates on the real one."""

from collections import Counter
from pathlib import Path

import pytest
from taxonomy import real_wordnet, write_taxonomy

from starter.meaning.classlists import ClassList, load_classes
from starter.meaning.pruning import STEPS, prune
from starter.meaning.wordnet import load_wordnet
from submission import UnusableInput


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return load_wordnet(write_taxonomy(tmp_path_factory.mktemp("wordnet")))


@pytest.fixture
def known(wordnet):
    return ClassList("cifar10", ("dog", "cat", "airplane", "automobile", "truck")).match(wordnet)


def pool(wordnet, *labels):
    return [ClassList("pool", labels).match(wordnet)]


@pytest.mark.parametrize(
    ("label", "assignment", "oodness", "reason"),
    [
        ("car", "dropped", 0, "ID class automobile"),
        ("carnivore", "dropped", 1, "hypernym of dog"),
        ("entity", "dropped", 1, "hypernym of dog"),
        ("poodle", "dropped", 1, "hyponym of dog"),
        ("bird", "dropped", None, "excluded below organism.n.01"),
        (
            "glider",
            "dropped",
            1,
            "covariate shift below aircraft.n.01, as of the ID classes only airplane is",
        ),
        ("unicorn", "dropped", None, "unmatched: no synset has its label"),
        ("go-kart", "near", 2, "sister of automobile, truck"),
        ("ship", "far", 3, "no ID class shares a hypernym"),
        ("chair", "far", 3, "no ID class shares a hypernym"),
    ],
)
def test_each_step_names_its_reason(wordnet, known, label, assignment, oodness, reason):
    entry = prune(wordnet, known, pool(wordnet, label)).entries[-1]
    assert (entry.assignment, entry.oodness, entry.reason) == (assignment, oodness, reason)


def test_each_steps_count_is_told(wordnet, known):
    labels = (
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
    )
    pruning = prune(wordnet, known, pool(wordnet, *labels))
    assert dict(pruning.dropped) == dict(zip(STEPS, (1, 1, 2, 1, 1, 1), strict=True))
    assert (pruning.candidates, pruning.sisters, pruning.pairs) == (4, 1, 2)
    rows = [line.split() for line in pruning.describe().split("\n")]
    assert rows[1] == ["pool", "10"]
    assert rows[-2] == ["covariate", "shift", "1", "3"]
    assert rows[-1] == ["sisters:", "near", "2", "1", "2", "pairs"]


def test_what_is_excluded_can_be_chosen(wordnet, known):
    (bird,) = prune(wordnet, known, pool(wordnet, "bird"), excluded=()).entries[-1:]
    assert bird.assignment == "far"
    (chair,) = prune(wordnet, known, pool(wordnet, "chair"), excluded=("furniture", "group")).entries[-1:]
    assert chair.reason == "excluded below furniture.n.01"
    with pytest.raises(UnusableInput, match="'dragon' is no noun synset"):
        prune(wordnet, known, pool(wordnet, "chair"), excluded=("dragon",))


def test_imagenet_21k_p_leaves_the_candidates_that_the_papers_words_give():
    pytest.importorskip("timm", reason="timm carries ImageNet's lists: pip install 'unseen[wordnet]'")
    wordnet = real_wordnet()
    known, candidates = (load_classes(name).match(wordnet) for name in ("imagenet-1k", "imagenet-21k-p"))
    pruning = prune(wordnet, known, [candidates])
    assert dict(pruning.dropped) == dict(zip(STEPS, (0, 991, 609, 675, 4024, 1511), strict=True))
    assert pruning.candidates == 4922  # published: 5,074
    published = (Path(__file__).parents[3] / "benchmarks/results/imagenet_ood.txt").read_text().split()
    found = {entry.synset: entry for entry in pruning.entries[1000:]}
    steps = Counter(step for synset in published for step in STEPS if found[synset].reason.startswith(step))
    assert steps == {"hypernym": 2, "hyponym": 1, "excluded": 34, "covariate shift": 15}
    assert len(published) - steps["hypernym"] - steps["hyponym"] - steps["excluded"] == 600
