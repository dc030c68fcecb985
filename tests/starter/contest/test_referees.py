"""Referees of a build: what their probes learn from, what is packed, and what is refused."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import referees
from built import fewer_images, linked
from rules import with_fields
from safetensors.numpy import load_file
from scipy.special import softmax

from starter.contest.accuracy.observe import ClassifierSubject
from starter.contest.accuracy.plan import hard_to_easy
from starter.contest.build import build
from starter.contest.referees import check_differs
from starter.contest.subject import open_referees
from starter.data.sets.recipe import unpacked
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.glyphs.digits import glyph_splits
from starter.models.classifiers.networks import body
from starter.models.encoders.choose import load_encoder
from starter.observing.cache import Cache, place_cache
from starter.observing.observation import unmet
from starter.observing.referee import Probe
from starter.observing.referee_fit import (
    FEWEST,
    LEARNT,
    fit_referees,
    learnt_images,
    load_referees,
    train_ref,
)
from starter.observing.sets import PublicSets
from submission import Competition, UnusableInput
from submission.files import sha256
from submission.pack import write_archive

SPEC = "referees:edges"
DRAWN = {"group": "natural-like", "ops_per_set": (0, 2)}
SIZES = {"train_sets": 16, "val_sets": 2, "test_sets": 4, "set_size": 40}


@pytest.fixture(scope="module")
def asked(settings):
    """Settings of a competition with a referee, with changes."""
    return lambda **changes: settings(**{**SIZES, **DRAWN, "referees": (SPEC,), **changes})


@pytest.fixture(scope="module")
def refereed(once, tmp_path_factory, asked):
    with fewer_images():
        made = once("refereed", lambda folder: build(folder / "contest", asked(), 11))
    return Competition.open(linked(made / "contest", tmp_path_factory.mktemp("refereed") / "contest"))


@pytest.fixture(scope="module")
def splits(glyphs):
    return glyph_splits(0)


def test_a_probe_learns_training_images_that_methods_do_not_see(splits, monkeypatch):
    few = replace(splits, train=splits.train.take(np.arange(len(train_ref(splits, 0)) + FEWEST - 1)))
    assert sorted(learnt_images(few, 0).hashes()) == sorted(few.train.hashes()[:LEARNT]), (
        "all, if they are few"
    )
    monkeypatch.setattr("starter.observing.referee_fit.LEARNT", 2500)
    learnt = learnt_images(splits, 0)
    assert len(learnt) == 2500
    for public in (train_ref(splits, 0), splits.meta_base, splits.reference):
        assert set(learnt.hashes()).isdisjoint(public.hashes())
    label = {
        image.tobytes(): label for image, label in zip(splits.train.images, splits.train.labels, strict=True)
    }
    assert [label[image.tobytes()] for image in learnt.images[::97]] == list(learnt.labels[::97])


def test_competition_json_tells_of_referees_and_the_archive_holds_them(refereed, tmp_path):
    (told,) = Competition.open(refereed.root).settings["referees"]
    assert (told["name"], told["spec"], told["encoder"]) == ("edges", SPEC, "edges")
    assert 0.2 < told["accuracy"] < 1
    assert 0 < told["calibration_error"] < 0.1
    files = {file for file in refereed.files if file.startswith("referees/")}
    assert files == {"referees/edges.safetensors", "referees/edges.seen.safetensors"}
    assert write_archive(refereed, tmp_path / "contest.zip").stat().st_size
    assert unmet(("referee", "referee_features"), refereed) == ""
    assert "\n  referees     edges\n" in refereed.describe()


@pytest.fixture
def copy(refereed, tmp_path, monkeypatch):
    """A participant's copy: no ``private/``, no cache, and nobody has named the encoder's module."""
    root = linked(refereed.root, tmp_path / "contest")
    shutil.rmtree(root / "private")
    shutil.rmtree(root / "cache")
    body._used.clear()
    monkeypatch.setattr("starter.observing.referee_fit.ENCODERS", {})
    return Competition.open(root)


def test_participants_see_all_public_sets_without_the_encoder(copy, refereed):
    subject = ClassifierSubject.open(PublicSets(copy), "tiny", ("referee", "referee_features"))
    meta = subject.meta_train()
    tests = subject.observations("test")
    probe = Probe.load(refereed.file("referees/edges.safetensors"), 10)
    for seen in (meta.sets[0], meta.sets[5], meta.source.observation, meta.source.train_ref, *tests[:2]):
        features = np.float16(referees.edges().encode_images(seen.images()))
        np.testing.assert_array_equal(seen.referee_features, features)
    for seen in (*meta.sets, tests[0]):
        logits = probe.logits(seen.referee_features)
        np.testing.assert_allclose(seen.referee, softmax(logits, axis=1), atol=1e-4)
    accuracy = (meta.source.observation.referee.argmax(axis=1) == meta.source.labels).mean()
    assert accuracy == pytest.approx(refereed.settings["referees"][0]["accuracy"], abs=2e-3)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [(SPEC, "get the module of"), ("mine.safetensors", "a competition may name"), ("a=mine.pt", "may name")],
)
def test_a_competition_names_neither_code_nor_files_that_are_read(copy, monkeypatch, spec, problem):
    """What the referee has seen is left out, so that its encoder is asked for."""
    monkeypatch.setattr("starter.contest.subject.ENCODERS", {})
    path = copy.file("referees/edges.safetensors")
    probe = Probe.load(path, 10)
    path.unlink()
    replace(probe, spec=spec).save(path)
    files = {file: digest for file, digest in copy.files.items() if ".seen." not in file}
    shared = with_fields(copy, files={**files, "referees/edges.safetensors": sha256(path)})
    monkeypatch.chdir(copy.root)
    load_encoder("embedded").save(copy.root / "mine.safetensors")
    with pytest.raises(UnusableInput, match=problem):
        open_referees(shared)[0].compute(PublicSets(shared).train[0], ("referee",))


def test_a_worker_of_a_cluster_asks_the_referee(copy, refereed, tmp_path):
    """It makes what a single machine makes."""
    pytest.importorskip("distributed", reason="needs the extra cluster")
    from starter.contest.cluster import Work, see

    files = {file: digest for file, digest in copy.files.items() if ".seen." not in file}
    place_cache(copy.root, str(tmp_path / "cache"))
    see(
        Work("here", with_fields(copy, files=files), ("referee",), "cpu", (SPEC,)),
        "observe",
        "tiny",
        "train",
        "train_0002",
    )
    (entry,) = (tmp_path / "cache/referee").iterdir()
    looked = PublicSets(refereed).train[1]
    expected = open_referees(refereed)[0].load("referee", looked)["logits"]
    np.testing.assert_array_equal(load_file(entry)["logits"], expected)


def test_an_interrupted_build_takes_the_probes_that_are_there(refereed, asked, tmp_path, monkeypatch, capsys):
    root = linked(refereed.root, tmp_path / "contest")
    (root / "public/competition.json").unlink()
    (root / "public/referees/edges.seen.safetensors").unlink()
    monkeypatch.delattr("starter.observing.referee_fit.fit_linear")
    assert build(root, asked(), 11).files == refereed.files
    assert "calibration error " in capsys.readouterr().out


def test_sub_populations_are_drawn_from_the_referees_features(refereed, splits, tmp_path):
    drawn = [each for each in PublicSets(refereed).train if each.recipe.selection == "among"]
    (first,) = fit_referees({SPEC: referees.edges()}, splits, refereed.seed, Cache(tmp_path))
    seen = first.compute(FromRecipe.whole(drawn[0].base), ("referee",))
    confidence = softmax(seen["referee"]["logits"], axis=1).max(axis=1)
    clusters = hard_to_easy(seen["referee_features"]["features"], confidence, refereed.seed)
    for each in drawn:
        rows = unpacked(each.recipe.ops[0][1]["rows"])
        assert set(rows) == set(np.flatnonzero(np.isin(clusters, clusters[rows]))), "clusters are whole"
        assert (np.diff(np.unique(clusters[rows])) == 1).all(), "and neighbours"
        assert len(each) == len(each.labels()) == 40
    assert len(drawn) > 2


@pytest.mark.parametrize(
    ("specs", "problem"),
    [
        (("referees:blind",), "referees referees:blind is at chance: right for"),
        (("referees:fussy",), "fussy cannot encode images of 32 x 32 pixels: 64 x 64 pixels are needed"),
        ((SPEC, SPEC), "'referees:edges' names no encoder, or one like another's: name lite0"),
        (("zero-shot:",), "'zero-shot:' names no encoder"),
        (("nothing",), "there is no encoder 'nothing'"),
        (("zero-shot:referees:edges",), "encodes no texts"),
    ],
)
def test_refuses_referees_before_anything_is_written(specs, problem, asked, tmp_path):
    with pytest.raises(UnusableInput, match=problem):
        build(tmp_path / "contest", asked(referees=specs), 11)
    assert not (tmp_path / "contest/public").exists()


def test_a_referee_that_says_what_the_classifier_says_is_refused(refereed):
    sets = ClassifierSubject.open(PublicSets(refereed), "tiny", ("referee",)).observations("val")
    same = [replace(each, views={**each.views, "referee:copy": each.probabilities}) for each in sets]
    with pytest.raises(UnusableInput, match="referees copy says of each image what tiny says"):
        check_differs(("edges", "copy"), same)


@pytest.mark.slow
def test_class_names_may_take_the_place_of_a_probe(splits, tmp_path, monkeypatch):
    """An encoder whose texts are the means of the images of a class, and so is its own probe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_texts.py").write_text(
        "import numpy as np, referees\n"
        "from starter.models.encoders import EncoderPair\n"
        "from starter.data.sources.glyphs.digits import glyph_splits\n"
        "def encoder():\n"
        "    train, encode = glyph_splits(0).train, referees.edges().encode_images\n"
        "    shown = encode(train.images[:4000])\n"
        "    middle = shown.mean(axis=0)\n"
        "    means = [(shown[train.labels[:4000] == label] - middle).mean(axis=0) for label in range(10)]\n"
        "    return EncoderPair('means', lambda images: encode(images) - middle,\n"
        "                       lambda texts: np.array([means[int(text)] for text in texts]))\n"
    )
    spec = "zero-shot:own_texts:encoder"
    (found,) = fit_referees(load_referees((spec,)), splits, 11, Cache(tmp_path))
    assert (found.name, found.probe.spec) == ("zero-shot-encoder", spec)
    assert found.probe.figures["accuracy"] > 0.2
    images = splits.reference.images[:50]
    encoder = found.encoder()
    features = np.float16(encoder.encode_images(images))
    nearest = (encoder.encode_images(images) @ encoder.encode_texts(list("0123456789")).T).argmax(axis=1)
    judged = found.probe.logits(features).argmax(axis=1)
    assert (judged == nearest).mean() > 0.95
