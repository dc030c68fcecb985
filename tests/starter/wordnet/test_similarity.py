"""The similarity matrices against a naive search and NLTK."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from taxonomy import nltk_reader, real_wordnet, synset_id

from starter.wordnet.assign import mean_similarity, path_similarity, wu_palmer
from starter.wordnet.wordnet import WordNet


def test_known_pairs(wordnet):
    dog, cat, horse, ship = map(synset_id, ("dog", "cat", "horse", "ship"))
    edges = np.array([[0, 2, 2], [2, 0, 4]])
    assert path_similarity(wordnet, [dog, cat], [dog, cat, horse]) == pytest.approx(1 / (1 + edges))
    # carnivore and domestic_animal are equally deep: four nodes from the root; entity is one
    assert wu_palmer(wordnet, [dog], [dog, cat, horse, ship])[0] == pytest.approx(
        [1, 8 / 10, 8 / 10, 2 / (2 + 4 + 4)]
    )


def test_the_mean_is_of_three_measures_in_the_unit_interval(wordnet):
    synsets = sorted(wordnet.words)
    path = path_similarity(wordnet, synsets, synsets)
    top = np.log(2 * max(most for _, most in wordnet.depths.values()))
    leacock = 1 + np.log(path) / top
    mean = mean_similarity(wordnet, synsets, synsets)
    assert mean == pytest.approx((path + leacock + wu_palmer(wordnet, synsets, synsets)) / 3)
    assert mean == pytest.approx(mean.T)
    assert np.diag(mean) == pytest.approx(1)
    assert 0 < mean.min() < mean.max() <= 1 + 1e-12
    assert mean_similarity(wordnet, synsets[:2], []).shape == (2, 0)


@st.composite
def taxonomies(draw):
    """Up to twelve synsets, each below one or two earlier ones."""
    hypernyms = {"n00000000": ()}
    for number in range(1, draw(st.integers(1, 12))):
        above = draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=2))
        hypernyms[f"n{number:08d}"] = tuple(f"n{each:08d}" for each in sorted(above))
    words = {synset: (f"w{synset}",) for synset in hypernyms}
    return WordNet(words, hypernyms, {f"w{synset}": (synset,) for synset in hypernyms}, {})


@settings(deadline=None, max_examples=60)
@given(taxonomies())
def test_matrices_agree_with_a_search_pair_by_pair(wordnet):
    synsets = list(wordnet.words)
    path, palmer = path_similarity(wordnet, synsets, synsets), wu_palmer(wordnet, synsets, synsets)
    for row, first in enumerate(synsets):
        up = wordnet.ancestors(first)
        for column, second in enumerate(synsets):
            other = wordnet.ancestors(second)
            shared = [synset for synset in up if synset in other]
            assert path[row, column] == pytest.approx(
                1 / (1 + min(up[each] + other[each] for each in shared))
            )
            deepest = max(wordnet.depths[each][0] for each in shared)
            lowest = sorted(each for each in shared if wordnet.depths[each][0] == deepest)
            chosen = first if first in lowest else lowest[0]
            nodes = 2 * (wordnet.depths[chosen][1] + 1)
            assert palmer[row, column] == pytest.approx(nodes / (nodes + up[chosen] + other[chosen]))


@pytest.mark.slow
def test_the_real_database_gives_what_nltk_gives():
    wordnet, reader = real_wordnet(), nltk_reader()
    rng, synsets = np.random.default_rng(0), sorted(wordnet.words)
    first, second = list(rng.choice(synsets, 20)), list(rng.choice(synsets, 25))
    theirs = [
        [reader.synset_from_pos_and_offset("n", int(each[1:])) for each in some] for some in (first, second)
    ]

    def pairs(measure):
        return np.array([[getattr(one, measure)(other) for other in theirs[1]] for one in theirs[0]])

    assert path_similarity(wordnet, first, second) == pytest.approx(pairs("path_similarity"))
    leacock = 1 + np.log(pairs("path_similarity")) / np.log(2 * 19)
    assert leacock == pytest.approx(pairs("lch_similarity") / np.log(2 * 19))
    difference = pairs("wup_similarity") - wu_palmer(wordnet, first, second)
    assert (difference > -1e-9).all()  # NLTK takes a shorter way around where there is one
    assert np.mean(difference < 1e-9) > 0.95
