"""WordNet's nouns: the small taxonomy, damaged files, and the real database against NLTK; similarities too."""

import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from taxonomy import TREE, nltk_reader, real_wordnet, synset_id, write_taxonomy

from starter.data.wordnet.assign import mean_similarity, measured
from starter.data.wordnet.wordnet import WordNet, load_wordnet
from submission import UnusableInput


def test_synsets_have_words_neighbours_and_ancestors(wordnet):
    dog = synset_id("dog")
    assert len(wordnet.words) == len(TREE)
    assert wordnet.words[dog] == ("dog", "Canis_familiaris")
    assert wordnet.hypernyms[dog] == (synset_id("carnivore"), synset_id("domestic_animal"))
    assert wordnet.hypernyms[synset_id("Paris")] == (synset_id("entity"),)  # an instance
    above = wordnet.ancestors(synset_id("poodle"))
    names = ["poodle", "dog", "carnivore", "domestic_animal", "animal", "organism", "entity"]
    assert above == {synset_id(name): edges for name, edges in zip(names, (0, 1, 2, 2, 3, 4, 5), strict=True)}
    assert wordnet.depths[synset_id("poodle")] == (5, 5)
    assert wordnet.depths[synset_id("entity")] == (0, 0)


def test_words_are_looked_up_in_any_form(wordnet):
    mouse = (synset_id("mouse"), synset_id("mouse#2"))
    assert wordnet.synsets("mouse") == wordnet.synsets("Mice") == mouse
    assert wordnet.synsets("dogs") == wordnet.synsets("canis familiaris") == (synset_id("dog"),)
    assert wordnet.synsets("unicorn") == wordnet.synsets("") == ()


def test_names_lead_to_synsets_and_back(wordnet):
    assert wordnet.name(synset_id("mouse#2")) == "mouse.n.02"
    for synset in wordnet.words:
        assert wordnet.synset(wordnet.name(synset)) == wordnet.synset(synset) == synset
    assert wordnet.synset("table") == synset_id("table")
    for name in ("table.n.03", "table.n.00", "table.n.x", "unicorn", "n00000001", ""):
        with pytest.raises(UnusableInput, match="no noun synset"):
            wordnet.synset(name)


def test_a_zip_is_read_where_it_lies(tmp_path, wordnet, monkeypatch):
    folder = write_taxonomy(tmp_path / "files")
    corpora = tmp_path / "nltk_data" / "corpora"
    corpora.mkdir(parents=True)
    with zipfile.ZipFile(corpora / "wordnet.zip", "w") as zipped:
        for file in folder.iterdir():
            zipped.write(file, f"wordnet/{file.name}")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk_data"))
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr("starter.data.wordnet.wordnet.PACKAGED", tmp_path / "no package")
    assert load_wordnet() == wordnet


def test_without_files_one_error_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr("starter.data.wordnet.wordnet.wordnet_folders", lambda: [tmp_path])
    with pytest.raises(UnusableInput, match=r"apt install wordnet-base"):
        load_wordnet()
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UnusableInput, match=folder.name):
            load_wordnet(folder)


@pytest.mark.parametrize(
    ("old", "new"), [(" n 01 ", " n zz "), ("001 ~", "xyz ~"), ("WordNet 3.0", "WordNet 3.1")]
)
def test_damaged_files_and_other_versions_are_refused(tmp_path, old, new):
    data = write_taxonomy(tmp_path) / "data.noun"
    data.write_text(data.read_text().replace(old, new, 1))
    with pytest.raises(UnusableInput, match=r"no noun files of WordNet 3\.0"):
        load_wordnet(tmp_path)


@pytest.mark.slow
def test_the_real_database_is_what_nltk_reads():
    wordnet, reader = real_wordnet(), nltk_reader()
    assert len(wordnet.words) == 82_115
    assert wordnet.name("n02123045") == "tabby.n.01"
    assert max(most for _, most in wordnet.depths.values()) == 19
    for synset in np.random.default_rng(0).choice(sorted(wordnet.words), 200):
        theirs = reader.synset_from_pos_and_offset("n", int(synset[1:]))
        assert (wordnet.name(synset), list(wordnet.words[synset])) == (theirs.name(), theirs.lemma_names())
        above = {*theirs.hypernyms(), *theirs.instance_hypernyms()}
        assert {wordnet.name(each) for each in wordnet.hypernyms[synset]} == {each.name() for each in above}
        assert wordnet.depths[synset] == (theirs.min_depth(), theirs.max_depth())
    for word in ("mice", "Dogs", "geese", "glass", "boxes", "wolves", "firemen", "pet shop", "x"):
        theirs = reader.synsets(word.replace(" ", "_"), "n")
        assert [wordnet.name(synset) for synset in wordnet.synsets(word)] == [each.name() for each in theirs]


@st.composite
def taxonomies(draw):
    """Up to twelve synsets, each below one or two earlier ones."""
    hypernyms = {"n00000000": ()}
    for number in range(1, draw(st.integers(1, 12))):
        above = draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=2))
        hypernyms[f"n{number:08d}"] = tuple(f"n{each:08d}" for each in sorted(above))
    words = {synset: (f"w{synset}",) for synset in hypernyms}
    return WordNet(words, hypernyms, {f"w{synset}": (synset,) for synset in hypernyms}, {})


@given(taxonomies())
def test_matrices_agree_with_a_search_pair_by_pair(wordnet):
    synsets = list(wordnet.words)
    edges, palmer = measured(wordnet, synsets, synsets)
    for row, first in enumerate(synsets):
        up = wordnet.ancestors(first)
        for column, second in enumerate(synsets):
            other = wordnet.ancestors(second)
            shared = [synset for synset in up if synset in other]
            assert edges[row, column] == min(up[each] + other[each] for each in shared)
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

    edges, palmer = measured(wordnet, first, second)
    assert 1 / (1 + edges) == pytest.approx(pairs("path_similarity"))
    leacock = 1 + np.log(pairs("path_similarity")) / np.log(2 * 19)
    assert leacock == pytest.approx(pairs("lch_similarity") / np.log(2 * 19))
    measures = 1 / (1 + edges) + leacock + palmer
    assert mean_similarity(wordnet, first, second) == pytest.approx(measures / 3)
    difference = pairs("wup_similarity") - palmer
    assert (difference > -1e-9).all()  # NLTK takes a shorter way around where there is one
    assert np.mean(difference < 1e-9) > 0.95
