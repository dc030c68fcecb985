"""Images of a manifest's classes: where they lie, which are drawn, and balanced halves.

OOD sets from a manifest: which classes, under which names; and a competition of them.
"""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from taxonomy import write_class_zip

from starter.contest import build as building
from starter.contest.build import dry_run
from starter.data.images.arrays import read_npz
from starter.data.images.reading import Fit
from starter.data.sets.mix import Mix, family
from starter.data.wordnet.images import (
    class_files,
    class_sets,
    even_shares,
    load_class_images,
    load_class_sets,
    write_halves,
)
from starter.data.wordnet.manifest import ClassEntry, write_manifest
from submission import UnusableInput


def entry(source, name, assignment="far"):
    return ClassEntry(source, name, "", None, None, assignment)


@pytest.fixture
def root(tmp_path):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "wolf", "bear"), count=5)
    write_class_zip(tmp_path / "street.zip", ("car", "cab"), count=3)
    write_class_zip(tmp_path / "big.zip", ("house",), count=2, size=40)
    write_class_zip(tmp_path / "parts.zip", ("train/cat", "test/cat", "test/dog"), count=2)
    return tmp_path


def test_images_come_in_the_manifests_order_if_sizes_agree_or_one_is_chosen(root):
    entries = [entry("street", "cab"), entry("zoo", "fox"), entry("street", "car")]
    images = load_class_images(entries, root, Fit())
    assert images.images.shape == (11, 32, 32, 3)
    assert images.labels.tolist() == [0] * 3 + [1] * 5 + [2] * 3
    fox = load_class_images([entry("zoo", "fox")], root / "zoo.zip", Fit())  # the source itself
    assert np.array_equal(fox.images, images.images[3:8])
    tested = load_class_images([entry("parts", "cat"), entry("parts", "dog")], root, Fit())
    assert len(tested) == 4, "those of test/ alone"
    few, again, other = (load_class_images([entry("zoo", "fox")], root, Fit(), 2, seed) for seed in (1, 1, 2))
    assert len(few) == 2
    assert few.digest == again.digest != other.digest
    entries = [entry("zoo", "fox"), entry("big", "house")]
    with pytest.raises(UnusableInput, match="zoo has images of 32 x 32 pixels; big has images of 40 x 40"):
        load_class_images(entries, root, Fit())
    assert load_class_images(entries, root, Fit((16, 16))).images.shape == (7, 16, 16, 3)


def test_a_selection_keeps_and_drops_images(root):
    entries = [entry("zoo", "fox"), entry("zoo", "wolf"), entry("street", "car")]
    whole = class_files(entries, root)
    path, lines = root / "selection.csv", [f"zoo/{whole[0][1]},yes", f"zoo/{whole[0][3]},no"]
    lines += [f"street/{whole[2][0]},no", "zoo/bear/none.png,no"]  # bears are not asked for
    path.write_text("\n".join(["image,keep", *lines]))
    assert class_files(entries, root) == [whole[0][1:2], whole[1], whole[2][1:]]
    assert len(load_class_images(entries, root, Fit())) == 1 + 5 + 2
    every = ",no\n".join(f"zoo/{file}" for file in whole[1])
    for wrong, word in (
        (f"{every},no", "keeps no image of zoo/wolf"),
        ("zoo/fox/9.png,no", "no image zoo/fox/9.png"),
        ("zoo/x,maybe", "yes or no, got 'maybe'"),
    ):
        path.write_text(f"image,keep\n{wrong}\n")
        with pytest.raises(UnusableInput, match=word):
            class_files(entries, root)


def test_halves_are_balanced_and_share_no_image(root, tmp_path):
    entries = [entry("zoo", "fox", "near"), entry("zoo", "wolf", "near"), entry("zoo", "bear", "dropped")]
    entries += [entry("street", name, "ID") for name in ("car", "cab")]
    manifest, unbalanced = tmp_path / "manifest.csv", tmp_path / "ood.csv"
    write_manifest(manifest, entries)
    write_manifest(unbalanced, entries[:2])
    lines = write_halves(manifest, images=root, out=tmp_path / "out", seed=3).splitlines()
    assert lines[0] == "validation: 3 images of 2 ID classes, 3 of 2 OOD classes"
    table, pixels = pd.read_csv(tmp_path / "out/classes.csv"), []
    assert table["class"].tolist() == ["fox", "wolf", "car", "cab"]
    for name in ("validation", "test"):
        half = read_npz(tmp_path / f"out/{name}.npz")
        np.testing.assert_array_equal(half.labels, np.repeat(table["assignment"] != "ID", table[name]))
        assert half.labels.sum() == 3 == len(half) / 2
        pixels.append({image.tobytes() for image in half.images})
    assert not pixels[0] & pixels[1]
    write_halves(manifest, images=root, out=tmp_path / "again", seed=3)
    assert (tmp_path / "again/test.npz").read_bytes() == (tmp_path / "out/test.npz").read_bytes()
    few = write_halves(manifest, images=root, out=tmp_path / "few", limit=1)
    assert few.splitlines()[1].startswith("test: 1 image")
    with pytest.raises(UnusableInput, match="of ID classes and of OOD classes are needed"):
        write_halves(unbalanced, images=root, out=tmp_path / "none")


LABELS = "source,class,oodness,assignment\nparts,cat,0,\nparts,dog,0,\n"
OWN = "zoo,fox,1,\nzoo,wolf,2,\nstreet,car,3,\n"
COMPOSED = [
    ("digits,digit,3,\n", "", ["parts 2 0 2 0", "digits 0 1 0 2"]),
    ("zoo,fox,3,\nzoo,wolf,3,\nzoo,bear,0,dropped\n", "", ["parts 2 0 2 0", "zoo 0 2 0 2"]),
    (OWN, "T1", ["parts 2 0 2 0", "zoo 1 1 2 3", "street 0 1 0 1"]),
    (OWN, "T2", ["parts 1 0 1 0", "street 0 1 0 1"]),
]
"""A user's labels, as in FACETS' tables II, III (without classes that both have) and V: the validation half."""


@pytest.mark.parametrize(("labels", "reading", "expected"), COMPOSED)
def test_the_composition_is_that_of_the_users_labels(labels, reading, expected, root):
    write_class_zip(root / "digits.zip", ("digit",), count=4)
    (root / "mine.csv").write_text(LABELS + labels)
    text = write_halves(root / "mine.csv", images=root, out=root / "out", id_up_to=reading)
    found = pd.read_csv(root / "out/composition.csv")
    assert "OOD_classes" in text
    rows = [" ".join(map(str, row[1:])) for row in found[found.half == "validation"].to_numpy()]
    assert rows == expected


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(0, 100))
def test_shares_are_as_even_as_the_counts_allow(counts, total):
    counts, total = np.array(counts), min(total, sum(counts))
    shares = even_shares(counts, total)
    assert shares.sum() == total
    assert (shares <= counts).all()
    short = shares[shares < counts]
    assert not len(short) or shares.max() <= short.min() + 1


NAMES = ("cat", "wolf", "fox", "go_kart", "bus", "chair", "lamp", "table")
MANIFEST = (
    "source,class,oodness,assignment\nzoo,cat,0,\nzoo,wolf,1,\nzoo,fox,2,\nzoo,go_kart,2,\n"
    "zoo,bus,2,\nzoo,chair,3,\nzoo,lamp,3,\nzoo,table,3,dropped\nstreet,bus,3,\nstreet,cab,3,\n"
)


@pytest.fixture
def listed(tmp_path):
    """A hand-made manifest and the images of its classes."""
    write_class_zip(tmp_path / "zoo.zip", NAMES, count=45)
    write_class_zip(tmp_path / "street.zip", ("bus", "cab"), count=45, size=40)
    (tmp_path / "manifest.csv").write_text(MANIFEST)
    return tmp_path


@pytest.mark.parametrize(
    ("reading", "names"),
    [("", "fox_near_zoo go-kart_near_zoo bus_near_zoo chair_far_zoo"), ("T2", "chair_far_zoo")],
)
def test_near_and_far_classes_are_the_sets(listed, reading, names):
    chosen = class_sets(str(listed / "manifest.csv"), reading, exclude=["LAMP_far_zoo"])
    sets = load_class_sets(chosen, str(listed), Fit((32, 32)))
    assert set(sets) == {*names.split(), "bus_far_street", "cab_far_street"}
    assert all(each.labels is None and each.name == name for name, each in sets.items())
    assert [*class_sets(str(listed / "manifest.csv"), reading, exclude=["lamp_far_zoo"])] == [*sets]
    own = load_class_images([entry("zoo", "chair")], listed, Fit((32, 32)))
    np.testing.assert_array_equal(sets["chair_far_zoo"].images, own.images)
    few = load_class_sets(chosen, str(listed), Fit((32, 32)), per_class=30)
    assert {each.images.shape for each in few.values()} == {(30, 32, 32, 3)}


BY_SYNSET = (
    "source,class,synset,assignment\nzoo,n00000020,n00000020,near\nzoo,fox,n00000010,near\n"
    "zoo,bus,n00000060,far\nzoo,table,n00000050,far\nzoo,lamp,n00000050,far\n"
    "street,bus,n00000060,far\nstreet,cab,n00000020,near\n"
)


def test_a_synset_is_one_family_and_related_ones_are_joined(listed):
    """Two sources have a synset, and one has one twice."""
    write_class_zip(listed / "zoo.zip", ("n00000020", "fox", "bus", "table", "lamp"), count=4)
    write_class_zip(listed / "street.zip", ("bus", "cab"), count=4)
    (listed / "manifest.csv").write_text(BY_SYNSET)
    manifest = str(listed / "manifest.csv")
    single = load_class_sets(class_sets(manifest), str(listed), Fit((32, 32)))
    assert list(single) == [
        *("cab_near_zoo", "cab_near_street", "fox_near_zoo", "bus_far_zoo", "bus_far_street"),
        *("table_far_zoo", "table_far_zoo-lamp"),
    ]
    pairs = class_sets(manifest, classes_per_set=2)
    joined = load_class_sets(pairs, str(listed), Fit((32, 32)))
    counts = {"fox_near_2-classes": 12, "table_far_2-classes": 16}
    assert {name: len(each) for name, each in joined.items()} == counts
    for name, images in joined.items():
        parts = [each for own, each in single.items() if own.split("_")[1] == name.split("_")[1]]
        assert {each.tobytes() for each in images.images} == {
            each.tobytes() for part in parts for each in part.images
        }


SAME = "cab,n00000020,near"


@pytest.mark.parametrize(
    ("text", "exclude", "message"),
    [
        (BY_SYNSET.replace(SAME, "cab,n00000020,ID"), (), "near as zoo/n00000020, but ID as street"),
        (BY_SYNSET.replace(SAME, "cab,n00000020,far"), (), "near as zoo/n00000020, but far as street"),
        ("source,class,oodness\nzoo,\u72ac,3\n", (), "'\u72ac' cannot name a set, rename it"),
        ("source,class,oodness\nzoo,cat,0\n", (), "manifest.csv: no class is near or far"),
        ("source,class,oodness\nzoo,go_kart,3\nzoo,go-kart,3\n", (), "'go-kart' reads like 'go_kart'"),
        (MANIFEST, ("cat",), "exclude cat: no such OOD set; there are fox_near_zoo"),
        ("source,class,oodness\nzoo,bear,3\n", (), "no images of the class 'bear' of zoo"),
    ],
)
def test_mistakes_are_told(listed, text, exclude, message):
    (listed / "manifest.csv").write_text(text)

    def load():
        chosen = class_sets(str(listed / "manifest.csv"), exclude=exclude)
        return load_class_sets(chosen, str(listed), Fit((32, 32)))

    with pytest.raises(UnusableInput, match=message):
        load()


def test_a_competition_of_a_manifest(listed, mix_settings):
    where = {"ood": "", "classes": str(listed / "manifest.csv"), "images": str(listed)}
    settings = mix_settings(**where, set_size=50, test_sets=2, detectors=("msp",))
    assert "images" in dry_run(settings)[0]
    built = building.build(listed / "mixes", settings, 3)
    record = json.loads((built.private / "build.json").read_text())
    used = {Mix.from_json(entry["recipe"]).ood_set for entry in record["test"]}
    used |= {path.stem for path in (built.public / "ood").iterdir()}
    assert used
    assert {name.split("_")[1] for name in used} <= {"near", "far"}
    assert not {family(name) for name in used} & {"cat", "wolf", "table"}
