"""OOD sets from a class manifest: which classes, under which names; and a competition of them."""

import json

import numpy as np
import pytest
from asked import ood_settings
from taxonomy import write_class_zip

from starter.making import build as building
from starter.making.build import dry_run
from starter.sets.mix import Mix, family
from starter.wordnet.images import load_class_images
from starter.wordnet.manifest import read_manifest
from starter.wordnet.oodsets import count_class_images, load_class_sets
from submission import UnusableInput

NAMES = ("cat", "wolf", "fox", "go_kart", "bus", "chair", "lamp", "table")
MANIFEST = (
    "source,class,oodness,assignment\nzoo,cat,0,\nzoo,wolf,1,\nzoo,fox,2,\nzoo,go_kart,2,\n"
    "zoo,bus,2,\nzoo,chair,3,\nzoo,lamp,3,\nzoo,table,3,dropped\nstreet,bus,3,\nstreet,cab,3,\n"
)


@pytest.fixture
def root(tmp_path):
    """A hand-made manifest and the images of its classes."""
    write_class_zip(tmp_path / "zoo.zip", NAMES, count=45)
    write_class_zip(tmp_path / "street.zip", ("bus", "cab"), count=45, size=40)
    (tmp_path / "manifest.csv").write_text(MANIFEST)
    return tmp_path


@pytest.mark.parametrize(
    ("reading", "names"),
    [
        ("", "fox_near_zoo go-kart_near_zoo bus_near_zoo chair_far_zoo lamp_far_zoo"),
        ("T1", "fox_near_zoo go-kart_near_zoo bus_near_zoo chair_far_zoo lamp_far_zoo"),
        ("T2", "chair_far_zoo lamp_far_zoo"),
    ],
)
def test_near_and_far_classes_are_the_sets(root, reading, names):
    arguments = str(root / "manifest.csv"), str(root)
    sets = load_class_sets(*arguments, (32, 32), reading, limit=30)
    assert set(sets) == {*names.split(), "bus_far_street", "cab_far_street"}
    assert {images.images.shape for images in sets.values()} == {(30, 32, 32, 3)}
    assert all(images.labels is None and images.name == name for name, images in sets.items())
    assert count_class_images(*arguments, reading, limit=30) == dict.fromkeys(sets, 30)
    assert family("go-kart_near_zoo") == "go-kart"


def test_a_set_has_its_classs_images(root):
    sets = load_class_sets(str(root / "manifest.csv"), str(root), (32, 32), exclude=["LAMP_far_zoo"])
    assert "lamp_far_zoo" not in sets
    entry = next(e for e in read_manifest(root / "manifest.csv") if e.name == "go_kart")
    own = load_class_images([entry], root, (32, 32))
    np.testing.assert_array_equal(sets["go-kart_near_zoo"].images, own.images)


BY_SYNSET = (
    "source,class,synset,assignment\nzoo,n00000020,n00000020,near\nzoo,fox,n00000010,near\n"
    "zoo,bus,n00000060,far\nzoo,table,n00000050,far\nzoo,lamp,n00000050,far\n"
    "street,bus,n00000060,far\nstreet,cab,n00000020,near\n"
)


@pytest.fixture
def meanings(root):
    """A manifest in which two sources have a synset, and one has one twice."""
    write_class_zip(root / "zoo.zip", ("n00000020", "fox", "bus", "table", "lamp"), count=4)
    write_class_zip(root / "street.zip", ("bus", "cab"), count=4)
    (root / "manifest.csv").write_text(BY_SYNSET)
    return str(root / "manifest.csv"), str(root)


def test_a_synset_is_one_family_whatever_its_name(meanings):
    assert list(load_class_sets(*meanings, (32, 32))) == [
        *("cab_near_zoo", "cab_near_street", "fox_near_zoo", "bus_far_zoo", "bus_far_street"),
        *("table_far_zoo", "table_far_zoo-lamp"),
    ]


def test_joined_classes_are_related_and_keep_their_images(meanings):
    sets = load_class_sets(*meanings, (32, 32), classes_per_set=2)
    assert {name: len(images) for name, images in sets.items()} == {
        "fox_near_2-classes": 12,
        "table_far_2-classes": 16,
    }
    single = load_class_sets(*meanings, (32, 32))
    for name, of in (("fox_near_2-classes", "near"), ("table_far_2-classes", "far")):
        own = {
            each.tobytes() for images in single.values() if f"_{of}_" in images.name for each in images.images
        }
        assert {each.tobytes() for each in sets[name].images} == own
    assert count_class_images(*meanings, classes_per_set=2, limit=5) == {
        name: len(images)
        for name, images in load_class_sets(*meanings, (32, 32), classes_per_set=2, limit=5).items()
    }
    assert len(load_class_sets(*meanings, (32, 32), classes_per_set=9)) == 2


def test_a_synset_has_one_assignment(meanings, root):
    for assigned in ("ID", "far"):
        (root / "manifest.csv").write_text(
            BY_SYNSET.replace("cab,n00000020,near", f"cab,n00000020,{assigned}")
        )
        with pytest.raises(
            UnusableInput, match=f"n00000020 is near as zoo/n00000020, but {assigned} as street"
        ):
            load_class_sets(*meanings, (32, 32))
    (root / "manifest.csv").write_text(BY_SYNSET.replace("cab,n00000020,near", "cab,n00000020,dropped"))
    assert "n00000020_near_zoo" in load_class_sets(*meanings, (32, 32))


def test_joined_classes_of_one_name_have_one_assignment(root):
    with pytest.raises(UnusableInput, match="bus is near as zoo/bus, but far as street/bus"):
        load_class_sets(str(root / "manifest.csv"), str(root), (32, 32), classes_per_set=2)


@pytest.mark.parametrize(
    ("text", "exclude", "message"),
    [
        ("source,class,oodness\nzoo,\u72ac,3\n", (), "'\u72ac' cannot name a set, rename it"),
        ("source,class,oodness\nzoo,cat,0\n", (), "manifest.csv: no class is near or far"),
        ("source,class,oodness\nzoo,go_kart,3\nzoo,go-kart,3\n", (), "'go-kart' reads like 'go_kart'"),
        (MANIFEST, ("cat",), "--exclude cat: no such OOD set; there are fox_near_zoo"),
        ("source,class,oodness\nzoo,bear,3\n", (), "no images of the class 'bear' of zoo"),
    ],
)
def test_mistakes_are_told(root, text, exclude, message):
    (root / "manifest.csv").write_text(text)
    with pytest.raises(UnusableInput, match=message):
        load_class_sets(str(root / "manifest.csv"), str(root), (32, 32), exclude=exclude)


def test_a_competition_of_a_manifest(root, mix_settings):
    settings = mix_settings(
        ood="",
        classes=str(root / "manifest.csv"),
        images=str(root),
        set_size=50,
        test_sets=2,
        detectors=("msp",),
    )
    assert "images" in dry_run(settings)
    built = building.build(root / "mixes", settings, 3)
    record = json.loads((built.private / "build.json").read_text())
    used = {Mix.from_json(entry["recipe"]).ood_set for entry in record["test"]}
    used |= {path.stem for path in (built.public / "ood").iterdir()}
    assert used
    assert {name.split("_")[1] for name in used} <= {"near", "far"}
    assert not {family(name) for name in used} & {"cat", "wolf", "table"}
    (root / "manifest.csv").write_text(MANIFEST.replace("street,cab,3,\n", ""))
    (root / "mixes/public/competition.json").unlink()
    with pytest.raises(UnusableInput, match=r"--classes .* has changed since"):
        building.build(root / "mixes", settings, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": "m.csv"}, "--classes needs --images ROOT"),
        ({"classes": "m.csv", "images": "x", "ood": "y"}, "leave --ood out"),
        ({"images": "x"}, "--images belongs to --classes MANIFEST"),
        ({"id_up_to": "T1"}, "--id-up-to belongs to --classes MANIFEST"),
        ({"classes_per_set": 3}, "--classes-per-set belongs to --classes MANIFEST"),
        ({"classes": "m.csv", "images": "x", "classes_per_set": 0}, "--classes-per-set"),
        ({"classes": "m.csv", "images": "x", "id_up_to": "2"}, "--id-up-to"),
    ],
)
def test_options_that_do_not_go_together(changes, message):
    with pytest.raises(UnusableInput, match=message):
        ood_settings(**changes)
