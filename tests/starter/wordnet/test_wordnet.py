"""WordNet's nouns: the small taxonomy, damaged files, and the real database against NLTK."""

import zipfile

import numpy as np
import pytest
from taxonomy import TREE, nltk_reader, real_wordnet, synset_id, write_taxonomy

from starter.wordnet.wordnet import load_wordnet
from submission import UnusableInput


def test_synsets_have_words_and_neighbours(wordnet):
    dog = synset_id("dog")
    assert len(wordnet.words) == len(TREE)
    assert wordnet.words[dog] == ("dog", "Canis_familiaris")
    assert wordnet.hypernyms[dog] == (synset_id("carnivore"), synset_id("domestic_animal"))
    assert wordnet.hypernyms[synset_id("Paris")] == (synset_id("entity"),)  # an instance


def test_ancestors_carry_the_fewest_edges(wordnet):
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
    monkeypatch.setattr("starter.wordnet.wordnet.PACKAGED", tmp_path / "no package")
    assert load_wordnet() == wordnet


def test_without_files_one_error_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr("starter.wordnet.wordnet.wordnet_folders", lambda: [tmp_path])
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
