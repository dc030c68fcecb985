"""Lists of classes by name, file and folder; overrides; the kit's own against WordNet."""

import importlib.util

import pytest
from taxonomy import real_wordnet, write_class_zip, write_taxonomy

from starter.meaning.classlists import CLASS_LISTS, kit_overrides, load_classes, match_all, read_overrides
from starter.meaning.wordnet import load_wordnet
from submission import UnusableInput

needs_timm = pytest.mark.skipif(
    importlib.util.find_spec("timm") is None, reason="timm carries the lists: pip install 'unseen[wordnet]'"
)


def test_a_file_has_a_label_a_line(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("\ufeff/a/airfield 0\r\n/a/arena/hockey 15\n\nice cream\nn02123045\n", encoding="utf-8")
    classes = load_classes(str(path))
    assert (classes.source, classes.labels) == (
        "places",
        ("airfield", "arena/hockey", "ice cream", "n02123045"),
    )


def test_class_folders_give_their_names(tmp_path):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "dog"), count=1)
    assert load_classes(str(tmp_path / "zoo.zip")).labels == ("dog", "fox")
    assert load_classes(str(tmp_path / "zoo.zip")).source == "zoo"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no label"),
        ("dog\ncat\ndog\n", "'dog' stands there twice"),
        ("dog\n\x07\n", "is no label"),
        ("x" * 300, "is no label"),
    ],
)
def test_a_list_that_is_none_is_refused(tmp_path, text, message):
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(UnusableInput, match=message):
        load_classes(str(tmp_path / "list.txt"))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnusableInput, match="cifar10, imagenet-1k, imagenet-21k, imagenet-21k-p"):
        load_classes("imagenet")


@needs_timm
def test_imagenets_lists_come_from_timm_without_importing_it():
    import sys

    loaded = "timm" in sys.modules
    counts = {name: len(CLASS_LISTS[name]()) for name in CLASS_LISTS}
    assert counts == {"cifar10": 10, "imagenet-1k": 1000, "imagenet-21k": 21_843, "imagenet-21k-p": 11_221}
    assert ("timm" in sys.modules) == loaded
    wordnet = real_wordnet()
    assert all(synset in wordnet for synset in load_classes("imagenet-21k").labels)


def test_without_timm_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnusableInput, match=r"pip install 'unseen\[wordnet\]'"):
        load_classes("imagenet-1k")


def test_overrides_are_read_by_column(tmp_path):
    path = tmp_path / "overrides.csv"
    path.write_text("how,label,synset\nhead,ice cream,ice.n.01\nunmatched,x,\n,ice cream,ice.n.01\n")
    assert read_overrides(path) == {"ice cream": "ice.n.01"}
    path.write_text("label,synset\na,b\na,c\n")
    with pytest.raises(UnusableInput, match="line 3: the label 'a' has another synset above"):
        read_overrides(path)
    path.write_text("label\na\n")
    with pytest.raises(UnusableInput, match="no column 'synset'"):
        read_overrides(path)


def test_the_kits_overrides_name_synsets_of_the_real_database():
    wordnet = real_wordnet()
    for source in ("cifar100", "places365"):
        known = kit_overrides(source)
        assert known
        assert all(wordnet.synset(name) for name in known.values())
    assert kit_overrides("cifar10") == {}


def test_lists_are_matched_together(tmp_path):
    wordnet = load_wordnet(write_taxonomy(tmp_path / "wordnet"))
    (tmp_path / "zoo.txt").write_text("fox\nunicorn\n")
    known, zoo = match_all(wordnet, ["cifar10", str(tmp_path / "zoo.txt")], {"unicorn": "horse.n.01"})
    assert len(known.by_synset) == 10
    assert [wordnet.name(synset) for synset in zoo.by_synset] == ["fox.n.01", "horse.n.01"]
    with pytest.raises(UnusableInput, match="two class lists go by the name 'cifar10'"):
        match_all(wordnet, ["cifar10", "cifar10"], {})
    with pytest.raises(UnusableInput, match="the overrides name 'griffin', which no class list has"):
        match_all(wordnet, ["cifar10"], {"griffin": "horse.n.01"})
