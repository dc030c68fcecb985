"""Referees: who is judged by which probe, what is kept, what is refused; and how probes are fitted."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from starter.classifiers import Classifier
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, Small
from starter.encoders import ImageFunction
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache
from starter.observing.observe import Observer, observe, read
from starter.observing.referee import (
    BINS,
    STRENGTH,
    WHOLE,
    Probes,
    Referee,
    calibrated,
    calibration_error,
    fit_linear,
    operation_blocks,
    packed_name,
    touched,
    write_packed,
)
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe
from submission import UnusableInput

RNG = np.random.default_rng(0)
BASE = ImageSet("base", RNG.integers(256, size=(40, 8, 8, 3)).astype(np.uint8), np.arange(40) % 3)
TRAIN_REF = ImageSet("train_ref", RNG.integers(256, size=(30, 8, 8, 3)).astype(np.uint8))
BLOCKS = (frozenset({"blur", "contrast"}), frozenset({"color"}))
UNSEEN = (WHOLE, (-1, frozenset({0})), (-1, frozenset({0, 1})), (0, frozenset()), (1, frozenset()))


def encode(images):
    return images.reshape(len(images), -1)[:, :6] / 100.0


ENCODER = ImageFunction("corner", encode)


def probes(**changes):
    values = {
        "spec": "corner",
        "encoder": "corner",
        "weight": np.random.default_rng(1).normal(size=(5, 3, 6)).astype(np.float32),
        "bias": np.arange(15, dtype=np.float32).reshape(5, 3),
        "unseen": UNSEEN,
        "blocks": BLOCKS,
        "base": BASE.digest,
        "train_ref": TRAIN_REF.digest,
        "figures": {"accuracy": 0.5},
    }
    return Probes(**{**values, **changes})


def referee(tmp_path, **changes):
    return replace(Referee("corner", probes(), Cache(tmp_path / "cache"), lambda: ENCODER), **changes)


def made(*ops, base=BASE, n=20):
    return FromRecipe(Recipe("train_0001", 5, (("sample", {"n": n}), *ops)), base)


def test_operations_stand_in_blocks():
    blocks = operation_blocks(map(frozenset, ({"b", "identity"}, "ac", {"class_prior"}, "de")))
    assert blocks == (frozenset({"a", "e"}), *map(frozenset, "bcd"))
    assert touched(frozenset({"a", "c"}), blocks) == {0, 2}
    assert operation_blocks([frozenset({"identity"})]) == ()


@pytest.mark.parametrize(
    ("rendering", "expected"),
    [
        (made(), [0] * 20),
        (made(("contrast", {})), [1] * 20),
        (made(("contrast", {}), ("color", {})), [2] * 20),
        (made(("color", {})), [2] * 20),  # no probe has left out its block alone: the one that left out all
        (made(("contrast", {}), base=TRAIN_REF), None),
        (made(("contrast", {}), base=replace(BASE, images=BASE.images[::-1])), [0] * 20),
    ],
)
def test_an_image_is_judged_by_the_probe_that_has_not_seen_what_it_shows(rendering, expected):
    if expected is None:
        expected = [3 + row % 2 for row in rendering.recipe.indices(TRAIN_REF)]
    assert probes().numbers(rendering).tolist() == expected


def test_logits_are_those_of_each_images_probe(tmp_path):
    looked = made(base=TRAIN_REF)
    observer = Observer(None, Cache(tmp_path / "cache"), referees=(referee(tmp_path),))
    mine = observer.referees[0].compute(looked, ("referee",))["referee"]["logits"]
    pixels, own = looked.render(), probes()
    for i, row in enumerate(looked.recipe.indices(TRAIN_REF)):
        features = np.float16(pixels[i].reshape(-1)[:6] / 100.0).astype(np.float64)
        expected = own.weight[3 + row % 2] @ features + own.bias[3 + row % 2]
        np.testing.assert_allclose(mine[i], expected, rtol=1e-4, atol=1e-4)


def test_probes_are_saved_and_loaded(tmp_path):
    first, path = probes(), tmp_path / "probe.safetensors"
    first.save(path)
    again = Probes.load(path, 3)
    assert again.digest == first.digest
    assert (again.spec, again.unseen, again.figures) == ("corner", UNSEEN, first.figures)
    before = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == before
    assert probes(bias=np.zeros((5, 3), np.float32)).digest != first.digest
    with pytest.raises(UnusableInput, match="3 classes, and the competition has 4"):
        Probes.load(path, 4)
    arrays = {"weight": first.weight, "bias": first.bias}
    for changes in ({"bias": np.zeros((5, 4), np.float32)}, {"unseen": UNSEEN[::-1]}):
        with pytest.raises(ValueError, match="weights of another shape"):
            probes(**changes)
    for damaged in (b"no probe", save(arrays, {"referee": "[" * 99_999})):
        path.write_bytes(damaged)
        with pytest.raises(UnusableInput, match=f"{path} is no referee's probe"):
            Probes.load(path, 3)


def test_what_is_packed_needs_no_encoder(tmp_path):
    looked, packed = made(("contrast", {})), tmp_path / "seen.safetensors"
    seen = referee(tmp_path).compute(looked, ("referee",))["referee"]["logits"]
    write_packed(packed, {packed_name("referee", looked): seen})

    def none():
        raise UnusableInput("no such package")

    bare = referee(tmp_path, encoder=none, packed=packed)
    assert bare.has("referee", looked)
    np.testing.assert_array_equal(bare.load("referee", looked)["logits"], seen)
    with pytest.raises(
        UnusableInput, match="corner has not seen set 'train_0001', and its encoder is not here: no"
    ):
        bare.compute(made(), ("referee",))
    write_packed(packed, {packed_name("referee", looked): seen[:3]})
    with pytest.raises(UnusableInput, match="does not fit set 'train_0001'"):
        referee(tmp_path, packed=packed).load("referee", looked)
    packed.write_bytes(b"nothing")
    with pytest.raises(UnusableInput, match="holds nothing that a referee saw"):
        referee(tmp_path, packed=packed).has("referee", looked)


def test_another_encoder_is_told(tmp_path):
    other = referee(tmp_path, encoder=lambda: ImageFunction("edge", encode))
    with pytest.raises(UnusableInput, match="corner is edge here, and the competition was built with corner"):
        other.compute(made(), ("referee",))


def test_an_observation_holds_what_its_referees_say(tmp_path):
    classifier = Classifier("net", "small", Small(3), ("a", "b", "c"), SMALL_MEAN, SMALL_STD)
    first = referee(tmp_path)
    second = replace(first, name="second", probes=probes(bias=-probes().bias))
    observer = Observer(classifier, Cache(tmp_path / "cache"), referees=(first, second))
    assert observe(made(), observer, ("referee", "referee_features"))
    assert not observe(made(), observer, ("referee", "referee_features"))
    seen = read(made(), observer, ("referee", "referee_features"))
    assert seen.views.keys() == {"referee:corner", "referee:second"}
    np.testing.assert_array_equal(seen.referee_features, np.float16(encode(made().render())))
    np.testing.assert_allclose(seen.referee.sum(axis=1), 1)
    assert read(made(), observer).referee is None


# Probes against scikit-learn's logistic regression, and calibration against a loop

DRAWS = np.random.default_rng(0)
LABELS = DRAWS.integers(4, size=600)
CENTRES = DRAWS.normal(size=(4, 20))
SCALES = np.geomspace(0.01, 100, 20)
FEATURES = ((CENTRES[LABELS] + 2 * DRAWS.normal(size=(600, 20))) * SCALES + 5).astype(np.float32)


def test_the_probe_is_logistic_regression_on_standardised_features():
    weight, bias = fit_linear(FEATURES, LABELS, 4)
    scaler = StandardScaler().fit(FEATURES)
    model = LogisticRegression(C=STRENGTH, tol=1e-8, max_iter=5000).fit(scaler.transform(FEATURES), LABELS)
    found = softmax(FEATURES @ weight.T + bias, axis=1)
    np.testing.assert_allclose(found, model.predict_proba(scaler.transform(FEATURES)), atol=2e-3)


def test_calibration_undoes_a_sharpness():
    weight, bias = fit_linear(FEATURES, LABELS, 4)
    sharp, flat = (calibrated((weight * by, bias * by), FEATURES, LABELS) for by in (9, 1 / 9))
    np.testing.assert_allclose(sharp[0], flat[0], rtol=1e-3)


def test_the_calibration_error_is_that_of_a_loop():
    probabilities = DRAWS.dirichlet(np.full(4, 0.5), size=300)
    labels = DRAWS.integers(4, size=300)
    expected = 0.0
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    for place in range(BINS):
        rows = [i for i in range(300) if place <= BINS * confidence[i] < place + 1]
        expected += abs(sum(right[i] - confidence[i] for i in rows)) / 300
    assert calibration_error(probabilities, labels) == pytest.approx(expected, abs=1e-9)
    assert calibration_error(np.eye(4)[labels], labels) == 0
