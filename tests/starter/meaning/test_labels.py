"""Labels: read from the most to the least that they say, overrides first, every miss listed."""

import csv

import pytest
from taxonomy import synset_id, write_taxonomy

from starter.meaning.labels import Matches, match_labels, write_matches
from starter.meaning.wordnet import load_wordnet
from submission import UnusableInput


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return load_wordnet(write_taxonomy(tmp_path_factory.mktemp("wordnet")))


@pytest.mark.parametrize(
    ("label", "synset", "how"),
    [
        ("dog", "dog", "label"),
        ("Canis familiaris", "dog", "label"),
        ("motor-vehicle", "motor_vehicle", "label"),
        ("go_kart", "go-kart", "label"),
        ("air_craft", "aircraft", "label"),
        ("mice", "mouse", "label"),
        ("animal/domestic", "domestic_animal", "qualified"),
        ("table/outdoor", "table", "without qualifier"),
        ("old_rusty_truck", "truck", "head"),
        ("ship_deck/wooden_chair/old_table", None, "unmatched"),
        ("unicorn", None, "unmatched"),
    ],
)
def test_labels_find_their_synset(wordnet, label, synset, how):
    (match,) = match_labels(wordnet, [label])
    assert (match.label, match.synset, match.how) == (label, synset and synset_id(synset), how)


def test_an_id_is_taken_as_it_is_and_other_senses_are_kept(wordnet):
    by_id, table = match_labels(wordnet, [synset_id("fox"), "table"])
    assert (by_id.synset, by_id.how) == (synset_id("fox"), "id")
    assert table.candidates == (synset_id("table"), synset_id("table#2"))


def test_overrides_win(wordnet):
    known = {"table": "table.n.02", "unicorn": synset_id("horse")}
    matches = match_labels(wordnet, ["table", "unicorn"], known)
    assert [match.synset for match in matches] == [synset_id("table#2"), synset_id("horse")]
    assert {match.how for match in matches} == {"override"}
    with pytest.raises(UnusableInput, match=r"'dragon.n.01' is no noun synset"):
        match_labels(wordnet, ["dog"], {"dog": "dragon.n.01"})


def test_what_is_unmatched_is_listed(wordnet):
    matches = Matches("zoo", tuple(match_labels(wordnet, ["dog", "unicorn", "cat", "griffin"])))
    assert matches.describe() == "zoo: 4 labels: 2 by label\n  unmatched: unicorn, griffin"
    assert list(matches.by_synset) == [synset_id("dog"), synset_id("cat")]
    assert (
        Matches("none", tuple(match_labels(wordnet, ["x"])))
        .describe()
        .startswith("none: 1 labels: none matched")
    )


def test_matches_are_written_with_other_senses(wordnet, tmp_path):
    matches = Matches("zoo", tuple(match_labels(wordnet, ["table", "unicorn"])))
    write_matches(tmp_path / "matches.csv", wordnet, [matches])
    rows = list(csv.DictReader((tmp_path / "matches.csv").read_text().splitlines()))
    assert [(row["label"], row["name"], row["how"], row["others"]) for row in rows] == [
        ("table", "table.n.01", "label", "table.n.02"),
        ("unicorn", "", "unmatched", ""),
    ]
