"""Referees: what they say, what is kept, what is refused; and how probes are fitted."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromRecipe
from starter.models.classifiers import Classifier
from starter.models.classifiers.linear import fit_linear
from starter.models.classifiers.networks.small import SMALL_MEAN, SMALL_STD, Small
from starter.models.encoders import ImageFunction
from starter.observing.cache import Cache
from starter.observing.observe import Observer, missing, observe_all, read
from starter.observing.referee import BINS, Probe, Referee, calibration_error, packed_name
from submission import UnusableInput

RNG = np.random.default_rng(0)
BASE = ImageSet("base", RNG.integers(256, size=(40, 8, 8, 3)).astype(np.uint8), np.arange(40) % 3)


def encode(images):
    return images.reshape(len(images), -1)[:, :6] / 100.0


ENCODER = ImageFunction("corner", encode)


def probe(**changes):
    weight = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    made = Probe("corner", "corner", weight, np.arange(3, dtype=np.float32), {"accuracy": 0.5})
    return replace(made, **changes)


def referee(tmp_path, **changes):
    return replace(Referee("corner", probe(), Cache(tmp_path / "cache"), lambda: ENCODER), **changes)


def made(*ops):
    return FromRecipe(Recipe("train_0001", 5, (("sample", {"n": 20}), *ops)), BASE)


def test_logits_are_those_of_the_probe_on_halved_features(tmp_path):
    mine = referee(tmp_path).compute(made(), ("referee",))["referee"]["logits"]
    for found, image in zip(mine, made().render(), strict=True):
        features = np.float16(image.reshape(-1)[:6] / 100.0).astype(np.float64)
        np.testing.assert_allclose(found, probe().weight @ features + probe().bias, rtol=1e-4, atol=1e-4)


def test_a_damaged_entry_is_made_again_and_adds_nothing_to_what_is_read(tmp_path):
    mine = referee(tmp_path)
    first = mine.read(made(), ("referee",))
    mine.cache.write(f"referee/{mine.key('referee', made())}.safetensors", b"garbage")
    again = mine.read(made(), ("referee",))
    assert again.keys() == first.keys() == {"referee"}
    np.testing.assert_array_equal(again["referee"]["logits"], first["referee"]["logits"])


def test_a_probe_is_saved_and_loaded(tmp_path):
    first, path = probe(), tmp_path / "probe.safetensors"
    first.save(path)
    again = Probe.load(path, 3)
    with pytest.raises(UnusableInput, match="no finite weights of the competition's 4 classes"):
        Probe.load(path, 4)
    assert again.digest == first.digest
    assert (again.spec, again.encoder, again.figures) == ("corner", "corner", first.figures)
    before = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == before
    assert probe(bias=np.zeros(3, np.float32)).digest != first.digest


@pytest.mark.parametrize(
    "stored",
    [
        probe(bias=np.zeros(4, np.float32)),
        probe(bias=np.zeros(3)),
        probe(weight=np.full((3, 6), np.nan, np.float32)),
        probe(weight=np.ones((), np.float32)),
        b"no probe",
        save({"weight": probe().weight}, {"referee": "[" * 99_999}),
    ],
)
def test_a_file_that_is_no_probe_with_finite_weights_of_its_shapes_is_refused(stored, tmp_path):
    path = tmp_path / "probe.safetensors"
    path.write_bytes(stored) if isinstance(stored, bytes) else stored.save(path)
    with pytest.raises(UnusableInput, match=f"{path} is no referee's probe"):
        Probe.load(path, 3)


def test_what_is_packed_needs_no_encoder_and_another_one_is_told(tmp_path):
    looked, packed = made(("contrast", {})), tmp_path / "seen.safetensors"
    seen = referee(tmp_path).compute(looked, ("referee",))["referee"]["logits"]
    packed.write_bytes(save({packed_name("referee", looked): seen}))

    def none():
        raise UnusableInput("no such package")

    bare = referee(tmp_path, encoder=none, packed=packed)
    assert bare.has("referee", looked)
    np.testing.assert_array_equal(bare.load("referee", looked)["logits"], seen)
    with pytest.raises(
        UnusableInput, match="corner has not seen set 'train_0001', and its encoder is not here: no"
    ):
        bare.compute(made(), ("referee",))
    packed.write_bytes(save({packed_name("referee", looked): seen[:3]}))
    with pytest.raises(UnusableInput, match="does not fit set 'train_0001'"):
        referee(tmp_path, packed=packed).load("referee", looked)
    packed.write_bytes(b"nothing")
    with pytest.raises(UnusableInput, match="holds nothing that a referee saw"):
        referee(tmp_path, packed=packed).has("referee", looked)
    other = referee(tmp_path, encoder=lambda: ImageFunction("edge", encode))
    with pytest.raises(UnusableInput, match="corner is edge here, and the competition was built with corner"):
        other.compute(made(), ("referee",))


def test_an_observation_holds_what_its_referees_say(tmp_path):
    classifier = Classifier("net", "small", Small(3), ("a", "b", "c"), SMALL_MEAN, SMALL_STD)
    first = referee(tmp_path)
    second = replace(first, name="second", probe=probe(bias=-probe().bias))
    observer = Observer(classifier, Cache(tmp_path / "cache"), referees=(first, second))
    needs = ("referee", "referee_features")
    observe_all([made()], observer, needs)
    assert not missing([made()], observer, needs)
    seen = read(made(), observer, needs)
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
    model = LogisticRegression(C=0.007, tol=1e-8, max_iter=5000).fit(scaler.transform(FEATURES), LABELS)
    found = softmax(FEATURES @ weight.T + bias, axis=1)
    np.testing.assert_allclose(found, model.predict_proba(scaler.transform(FEATURES)), atol=2e-3)


def test_a_class_without_images_gets_next_to_no_probability():
    weight, bias = fit_linear(FEATURES, LABELS, 5)
    assert softmax(FEATURES @ weight.T + bias, axis=1)[:, 4].max() < 0.01


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
