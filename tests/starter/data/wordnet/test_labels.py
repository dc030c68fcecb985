"""Labels: read from the most to the least that they say, overrides first, every miss listed.

Lists of classes by name, file and folder; overrides; the kit's own against WordNet.
"""

import pandas as pd
import pytest
from taxonomy import real_wordnet, synset_id, write_class_zip, write_taxonomy

from starter.data.wordnet.labels import CLASS_LISTS, kit_overrides, load_classes, match_all, match_classes
from submission import UnusableInput


@pytest.mark.parametrize(
    ("label", "synset", "how"),
    [
        ("dog", "dog", "label"),
        ("Canis familiaris", "dog", "label"),
        ("go_kart", "go-kart", "label"),
        ("air_craft", "aircraft", "label"),
        ("mice", "mouse", "label"),
        ("animal/domestic", "domestic_animal", "qualified"),
        ("table/outdoor", "table", "without qualifier"),
        ("old_rusty_truck", "truck", "head"),
        ("ship_deck/wooden_chair/old_table", None, "unmatched"),
    ],
)
def test_labels_find_their_synset(wordnet, label, synset, how):
    (match,) = match_classes(wordnet, "zoo", [label]).matches
    assert (match.label, match.synset, match.how) == (label, synset and synset_id(synset), how)


def test_ids_and_overrides_win_and_other_senses_are_kept(wordnet):
    by_id, table = match_classes(wordnet, "zoo", [synset_id("fox"), "table"]).matches
    assert (by_id.synset, by_id.how) == (synset_id("fox"), "id")
    assert table.candidates == (synset_id("table"), synset_id("table#2"))
    known = {("", "table"): "table.n.02", ("zoo", "unicorn"): synset_id("horse"), ("sea", "table"): "fox"}
    matches = match_classes(wordnet, "zoo", ["table", "unicorn"], known).matches
    assert [match.synset for match in matches] == [synset_id("table#2"), synset_id("horse")]
    assert {match.how for match in matches} == {"override"}
    with pytest.raises(UnusableInput, match=r"'dragon.n.01' is no noun synset"):
        match_classes(wordnet, "zoo", ["dog"], {("", "dog"): "dragon.n.01"})


def test_files_and_folders_name_classes(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("\ufeff/a/airfield 0\r\n/a/arena/hockey 15\n\nice cream\nn02123045\n", encoding="utf-8")
    labels = ("airfield", "arena/hockey", "ice cream", "n02123045")
    assert load_classes(str(path)) == ("places", labels)
    write_class_zip(tmp_path / "zoo.zip", ("fox", "dog"), count=1)
    assert load_classes(str(tmp_path / "zoo.zip")) == ("zoo", ("dog", "fox"))
    write_class_zip(tmp_path / "parts.zip", ("train/cat", "test/cat", "test/dog"), count=1)
    assert load_classes(str(tmp_path / "parts.zip")) == ("parts", ("cat", "dog"))
    path.write_text("dog\ncat\ndog\n")
    with pytest.raises(UnusableInput, match="'dog' is given twice"):
        load_classes(str(path))


@pytest.mark.slow
def test_imagenets_lists_come_from_timm():
    pytest.importorskip("timm", reason="timm carries the lists: pip install -e '.[wordnet]'")
    counts = {name: len(CLASS_LISTS[name]()) for name in CLASS_LISTS}
    assert counts == {"cifar10": 10, "imagenet-1k": 1000, "imagenet-21k": 21_843, "imagenet-21k-p": 11_221}
    wordnet = real_wordnet()
    assert all(synset in wordnet.words for synset in load_classes("imagenet-21k")[1])


def test_the_kits_overrides_name_synsets_of_the_real_database():
    wordnet = real_wordnet()
    for source in ("cifar100", "places365"):
        known = kit_overrides(source)
        assert known
        assert all(wordnet.synset(name) for name in known.values())
    assert kit_overrides("cifar10") == {}


def test_lists_are_matched_together(tmp_path):
    folder = write_taxonomy(tmp_path / "wordnet")
    zoo, matches = tmp_path / "zoo.txt", tmp_path / "matches.csv"
    overrides = tmp_path / "overrides.csv"
    zoo.write_text("fox\nunicorn\n")
    overrides.write_text("how,label,synset\nhead,unicorn,horse.n.01\nunmatched,fox,\n")
    wordnet, (known, found) = match_all("cifar10", [str(zoo)], overrides, matches, folder)
    assert len(known.by_synset) == 10
    assert "1 by label, 1 by override" in found.describe()
    assert "unmatched: unicorn" in match_classes(wordnet, "zoo", ["unicorn"]).describe()
    assert [wordnet.name(synset) for synset in found.by_synset] == ["fox.n.01", "horse.n.01"]
    assert matches.read_text().splitlines()[-2:] == [
        "zoo,fox,n00000100,fox.n.01,label,",
        "zoo,unicorn,n00000140,horse.n.01,override,",
    ]
    with pytest.raises(UnusableInput, match="name 'cifar10'"):
        match_all("cifar10", ["cifar10"], wordnet=folder)
    again = tmp_path / "again.csv"
    match_all("cifar10", [str(zoo)], matches, again, folder)
    assert pd.read_csv(again)["synset"].equals(pd.read_csv(matches)["synset"])
    for text, word in (("label,synset\ngriffin,bird\n", "'griffin'"), ("label\na\n", "no column 'synset'")):
        overrides.write_text(text)
        with pytest.raises(UnusableInput, match=word):
            match_all("cifar10", [str(zoo)], overrides, wordnet=folder)
