"""Manifests: written and read back, made by hand, and every mistake told by its line."""

from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starter.data.wordnet.manifest import ASSIGNMENTS, ClassEntry, read_manifest, summary, write_manifest
from submission import UnusableInput

text = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
synsets = st.integers(0, 99_999_999).map("n{:08d}".format)
similarities = st.none() | st.integers(0, 10**6).map(lambda millionths: millionths / 10**6)
judged = (similarities, st.none() | st.integers(0, 3), st.sampled_from(ASSIGNMENTS), text)
entries = st.builds(ClassEntry, text, text, synsets, *judged)
DIFFERENT = (attrgetter("source", "name"), attrgetter("synset"))


@given(st.lists(entries, min_size=1, max_size=5, unique_by=DIFFERENT))
def test_what_is_written_is_read_back(tmp_path_factory, manifest):
    path = tmp_path_factory.mktemp("manifest") / "manifest.csv"
    write_manifest(path, manifest)
    assert read_manifest(path) == tuple(manifest)


HAND_MADE = "class,oodness,source\nbed,0,sun\nsofa, 1,sun\nlamp,2,sun\nfox,3,zoo\n"


@pytest.mark.parametrize(
    ("reading", "assigned"), [("", "ID ID near far"), ("T1", "ID ID near far"), ("T2", "ID ID ID far")]
)
def test_a_hand_made_one_goes_by_its_oodness(tmp_path, reading, assigned):
    path = tmp_path / "manifest.csv"
    path.write_text(HAND_MADE)
    manifest = read_manifest(path, reading)
    assert [entry.assignment for entry in manifest] == assigned.split()
    assert [entry.ood for entry in manifest] == [name != "ID" for name in assigned.split()]
    assert summary(manifest).split("\n")[2].split()[0] == "zoo"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "'source'"),
        ("source,class\nsun,bed\n", "line 2: assignment"),
        ("source,class,oodness\nsun,bed,0\nsun,bed,1\n", "line 3.*sun/bed"),
        ("source,class,assignment\nsun,bed,OOD\n", "line 2: assignment"),
        ("source,class,assignment,similarity\nsun,bed,ID,nan\n", "line 2: similarity"),
        ("source,class,assignment,synset\nsun,bed,ID,bed.n.01\n", "line 2: synset"),
        ('source,class,assignment\nsun,"bed,ID\n', "CSV"),
    ],
)
def test_mistakes_name_their_line(tmp_path, content, word):
    path = tmp_path / "manifest.csv"
    path.write_text(content)
    with pytest.raises(UnusableInput, match=word) as error:
        read_manifest(path)
    assert str(error.value).startswith(str(path))
