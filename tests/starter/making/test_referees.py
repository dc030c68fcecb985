"""Referees of a build: what their probes learn from, what is packed, and what is refused."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import referees
from built import linked
from rules import with_fields
from safetensors.numpy import load_file
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from starter.classifiers.networks import body
from starter.images.imageset import ImageSet
from starter.making.build import build
from starter.making.referees import (
    CLEAN,
    DISTORTED,
    ProbeImages,
    check_differs,
    fit_referees,
    load_referees,
    referee_look,
    train_ref,
)
from starter.observing.cache import Cache
from starter.observing.observation import unmet
from starter.observing.referee import WHOLE, Probes
from starter.sets.recipe import Recipe, unpacked
from starter.sources.glyphs.digits import glyph_splits
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.accuracy.plan import hard_to_easy
from starter.tracks.sets import PublicSets
from starter.tracks.subject import open_referees
from submission import Competition, UnusableInput
from submission.pack import write_archive

SPEC = "referees:edges"
SIZES = {"train_sets": 8, "val_sets": 2, "test_sets": 4, "set_size": 40}


@pytest.fixture(scope="module")
def asked(settings):
    """Settings of a competition with a referee, with changes."""
    return lambda **changes: settings(**{**SIZES, "referees": (SPEC,), **changes})


@pytest.fixture(scope="module")
def refereed(once, tmp_path_factory, asked):
    made = once("refereed", lambda folder: build(folder / "contest", asked(), 11))
    return Competition.open(linked(made / "contest", tmp_path_factory.mktemp("refereed") / "contest"))


@pytest.fixture(scope="module")
def splits(glyphs):
    return glyph_splits(0)


def recipes():
    ops = [("contrast",), ("color",), ("contrast", "affine"), (), ("solarize", "brightness", "color")]
    found = []
    for number, names in enumerate(ops):
        given = tuple((name, {}) for name in names)
        found.append(Recipe(f"train_{number:04d}", number, (("sample", {"n": 30}), *given)))
    return found


def test_probes_learn_from_training_images_that_methods_do_not_see(splits):
    images = ProbeImages.of(splits, recipes(), 0)
    assert len(images.images) == CLEAN + 5 * DISTORTED
    known = set(ImageSet("x", images.images[:CLEAN]).hashes())
    assert not known & set(train_ref(splits, 0).hashes())
    assert (images.rows == -1).all()
    assert not known & set(splits.meta_base.hashes()) | known & set(splits.reference.hashes())
    pixels = {
        image.tobytes(): label for image, label in zip(splits.train.images, splits.train.labels, strict=True)
    }
    assert all(pixels[images.images[i].tobytes()] == images.labels[i] for i in range(0, CLEAN, 97))


def test_where_training_images_are_few_the_halves_of_train_ref_are_held_out(splits, monkeypatch):
    monkeypatch.setattr("starter.making.referees.TRAIN_REF", 4000)
    few = replace(splits, train=splits.train.take(np.arange(3000)))
    images = ProbeImages.of(few, recipes(), 0)
    public = train_ref(few, 0).images
    assert (images.rows >= 0).all()
    assert all((images.images[i] == public[images.rows[i]]).all() for i in range(0, 3000, 131))
    assert {(0, frozenset()), (1, frozenset())} < set(images.left_out(recipes()))
    odd = images.seen((0, frozenset()))
    np.testing.assert_array_equal(odd, images.rows % 2 == 1)


def test_a_probe_has_not_seen_the_blocks_that_it_is_to_judge(splits):
    images = ProbeImages.of(splits, recipes(), 0)
    assert sorted(map(sorted, images.blocks)) == [
        ["affine", "solarize"],
        ["brightness"],
        ["color"],
        ["contrast"],
    ]
    for recipe in recipes():
        mine = {number for number, block in enumerate(images.blocks) if block & recipe.families}
        unseen = (-1, frozenset(mine))
        assert unseen in images.left_out(recipes())
        for family, seen in zip(images.families, images.seen(unseen), strict=True):
            shares = any(block & family and block & recipe.families for block in images.blocks)
            assert seen != shares
    assert images.left_out(recipes())[0] == WHOLE
    assert images.seen(WHOLE).all()


def test_the_probes_are_those_of_scikit_learn(refereed, splits):
    """All that a build has fitted, by another library, from the images anew."""
    sets, (mine,) = PublicSets(refereed), open_referees(refereed)
    images = ProbeImages.of(splits, [each.recipe for each in sets.train], refereed.seed)
    encoder, looked = referees.edges(), splits.reference.images
    shown, known = (
        np.float16(encoder.encode_images(images)).astype(float) for images in (images.images, looked)
    )
    for number, unseen in enumerate(mine.probes.unseen[:3]):
        rows = images.seen(unseen)
        scaler = StandardScaler().fit(shown[rows])
        model = LogisticRegression(C=0.007, tol=1e-7, max_iter=3000)
        model.fit(scaler.transform(shown[rows]), images.labels[rows])
        logits = model.decision_function(scaler.transform(known))
        found = mine.probes.logits(np.float16(known), np.full(len(known), number))
        ratio = np.ptp(logits, axis=1) / np.ptp(found, axis=1)
        temperature = np.median(ratio)
        np.testing.assert_allclose(ratio, temperature, rtol=0.03)
        expected = softmax(logits / temperature, axis=1)
        np.testing.assert_allclose(softmax(found, axis=1), expected, atol=5e-3)


def test_competition_json_tells_of_referees_and_the_archive_holds_them(refereed, tmp_path):
    (told,) = Competition.open(refereed.root).settings["referees"]
    assert (told["name"], told["spec"], told["encoder"]) == ("edges", SPEC, "edges")
    assert 0.2 < told["accuracy_distorted"] < told["accuracy"] < 1
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
    monkeypatch.setattr("starter.tracks.subject.ENCODERS", {})
    return Competition.open(root)


def test_participants_see_all_public_sets_without_the_encoder(copy, refereed):
    subject = ClassifierSubject.open(PublicSets(copy), "tiny", ("referee", "referee_features"))
    meta = subject.meta_train()
    tests = subject.observations("test")
    probes = Probes.load(refereed.file("referees/edges.safetensors"), 10)
    for seen in (meta.sets[0], meta.sets[5], meta.source.observation, meta.source.train_ref, *tests[:2]):
        features = np.float16(referees.edges().encode_images(seen.images()))
        np.testing.assert_array_equal(seen.referee_features, features)
    for seen, rendering in zip(meta.sets, subject.sets.train, strict=True):
        blocks = {n for n, block in enumerate(probes.blocks) if block & rendering.recipe.families}
        number = probes.unseen.index((-1, frozenset(blocks)))
        logits = seen.referee_features.astype(float) @ probes.weight[number].T + probes.bias[number]
        np.testing.assert_allclose(seen.referee, softmax(logits, axis=1), atol=1e-4)
    plain = tests[0].referee_features.astype(float) @ probes.weight[0].T + probes.bias[0]
    np.testing.assert_allclose(tests[0].referee, softmax(plain, axis=1), atol=1e-4)
    accuracy = (meta.source.observation.referee.argmax(axis=1) == meta.source.labels).mean()
    assert accuracy == pytest.approx(refereed.settings["referees"][0]["accuracy"], abs=2e-3)


def test_a_worker_of_a_cluster_asks_the_referee(copy, refereed, tmp_path):
    """It makes what a single machine makes, from copies of public files in the cache."""
    pytest.importorskip("distributed", reason="needs unseen[cluster]")
    from starter.competition.cluster import INPUTS, Work, see

    files = {file: digest for file, digest in copy.files.items() if ".seen." not in file}
    shared, cache = with_fields(copy, files=files, root=tmp_path / "unseen here"), Cache(tmp_path / "cache")
    for file, digest in files.items():
        cache.write(f"{INPUTS}/{digest}", (copy.public / file).read_bytes())
    work = Work("here", shared, str(cache.root), ("referee",), "cpu", (SPEC,))
    see(work, "observe", "tiny", "train", "train_0002")
    (entry,) = (cache.root / "referee").iterdir()
    looked = PublicSets(refereed).train[1]
    expected = open_referees(refereed)[0].load("referee", looked)["logits"]
    np.testing.assert_array_equal(load_file(entry)["logits"], expected)


def test_an_interrupted_build_takes_the_probes_that_are_there(refereed, asked, tmp_path, monkeypatch, capsys):
    root = linked(refereed.root, tmp_path / "contest")
    (root / "public/competition.json").unlink()
    (root / "public/referees/edges.seen.safetensors").unlink()
    monkeypatch.delattr("starter.making.referees.fit_linear")
    assert build(root, asked(), 11).files == refereed.files
    assert "accuracy distorted " in capsys.readouterr().out


def test_sub_populations_are_drawn_from_the_referees_features(once, asked, splits, tmp_path):
    settings = asked(group="natural-like", ops_per_set=(0, 2), train_sets=16)
    made = once("populations", lambda folder: build(folder / "contest", settings, 11))
    competition = Competition.open(linked(made / "contest", tmp_path / "contest"))
    sets = PublicSets(competition)
    drawn = [each for each in sets.train if each.recipe.selection == "among"]
    looked = referee_look(SPEC, referees.edges(), splits, competition.seed, drawn[0].base)
    clusters = hard_to_easy(*looked, competition.seed)
    for each in drawn:
        rows = unpacked(each.recipe.ops[0][1]["rows"])
        assert set(rows) == set(np.flatnonzero(np.isin(clusters, clusters[rows]))), "clusters are whole"
        assert (np.diff(np.unique(clusters[rows])) == 1).all(), "and neighbours"
        assert len(each) == len(each.labels()) == 40
    assert len(drawn) > 2


@pytest.mark.parametrize(
    ("specs", "problem"),
    [
        (("referees:blind",), "--referee referees:blind is at chance: right for"),
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
    with pytest.raises(UnusableInput, match="--referee copy says of each image what tiny says"):
        check_differs(("edges", "copy"), same)


def test_class_names_may_take_the_place_of_a_probe(splits, tmp_path, monkeypatch):
    """An encoder whose texts are the means of the images of a class, and so is its own probe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_texts.py").write_text(
        "import numpy as np, referees\n"
        "from starter.encoders import EncoderPair\n"
        "from starter.sources.glyphs.digits import glyph_splits\n"
        "def encoder():\n"
        "    train, encode = glyph_splits(0).train, referees.edges().encode_images\n"
        "    shown = encode(train.images[:4000])\n"
        "    middle = shown.mean(axis=0)\n"
        "    means = [(shown[train.labels[:4000] == label] - middle).mean(axis=0) for label in range(10)]\n"
        "    return EncoderPair('means', lambda images: encode(images) - middle,\n"
        "                       lambda texts: np.array([means[int(text)] for text in texts]))\n"
    )
    spec = "zero-shot:own_texts:encoder"
    (found,) = fit_referees(load_referees((spec,)), splits, recipes(), 11, Cache(tmp_path))
    assert (found.name, found.probes.spec, found.probes.unseen) == ("zero-shot-encoder", spec, (WHOLE,))
    assert found.probes.figures["accuracy"] > 0.2
    images = splits.reference.images[:50]
    encoder = found.encoder()
    features = np.float16(encoder.encode_images(images))
    nearest = (encoder.encode_images(images) @ encoder.encode_texts(list("0123456789")).T).argmax(axis=1)
    judged = found.probes.logits(features, np.zeros(50, int)).argmax(axis=1)
    assert (judged == nearest).mean() > 0.95
