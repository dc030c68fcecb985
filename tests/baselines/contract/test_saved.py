"""Saved methods: what may be held, what comes back, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from sklearn.base import clone

from baselines import BASELINES, Estimator
from baselines.contract.conformance import example_classifier, example_meta_train, example_observation
from baselines.contract.saved import read_saved, write_saved
from starter.observing import MetaTrain, Observation, Source
from submission.errors import UnusableInput


class Keeps(Estimator):
    """Keeps whatever it is given as learnt."""

    def __init__(self, what: object = None) -> None:
        self.what = what

    def _fit(self, meta: MetaTrain) -> None:
        self.kept_ = self.what

    def _predict(self, observation: Observation) -> float:
        return 0.5


@pytest.mark.parametrize("value", [None, True, 3, 0.1, "text", [1, (2.5, "x")], {"a": [None]}, np.float64(2)])
def test_plain_values_come_back_as_they_were(value: object, tmp_path: Path) -> None:
    write_saved(tmp_path / "m", "Method", {"p": 1}, {"value": value})
    assert read_saved(tmp_path / "m", "Method") == ({"p": 1}, {"value": value})


def test_arrays_and_observations_come_back_without_their_images(tmp_path: Path) -> None:
    observation, labels = example_observation("a", 20, 2.0, seed=0)
    source = Source(observation, labels, observation, np.ones((10, 16)), np.zeros(10), example_classifier())
    write_saved(tmp_path / "m", "Method", {}, {"source": source})
    back = read_saved(tmp_path / "m", "Method")[1]["source"]
    np.testing.assert_array_equal(back.observation.features, observation.features)
    assert back.observation.features.dtype == np.float16
    assert back.observation.views.keys() == observation.views.keys()
    assert back.observation.classifier == "example"
    assert back.observation.render is None
    assert back.classifier is None


def test_a_classifier_comes_back_with_its_weights(tmp_path: Path) -> None:
    classifier = example_classifier()
    write_saved(tmp_path / "m", "Method", {}, {"classifier": classifier})
    assert read_saved(tmp_path / "m", "Method")[1]["classifier"].digest == classifier.digest


def test_a_classifier_of_a_device_that_is_not_here_is_refused_as_that(tmp_path: Path) -> None:
    write_saved(tmp_path / "m", "Method", {}, {"classifier": example_classifier()})
    data = (tmp_path / "m").read_bytes().replace(rb"\"device\": \"cpu\"", rb"\"device\": \"cup\"")
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(UnusableInput, match=r"m cannot be used here: device 'cup' cannot be used here"):
        read_saved(tmp_path / "m", "Method")


def test_a_classifier_of_other_weights_is_refused_in_one_line(tmp_path: Path) -> None:
    write_saved(tmp_path / "m", "Method", {}, {"classifier": example_classifier()})
    data = (tmp_path / "m").read_bytes().replace(rb"\"fc.weight\"", rb"\"fd.weight\"")
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(UnusableInput, match=r"damaged: save it again \(.*fc\.weight.*\)$") as refused:
        read_saved(tmp_path / "m", "Method")
    assert "\n" not in str(refused.value)


def test_the_same_method_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        BASELINES["fd"].fit(example_meta_train()).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_parameters_are_saved_too(tmp_path: Path) -> None:
    Keeps([1]).fit(example_meta_train()).save(tmp_path / "m")
    loaded = Keeps().load(tmp_path / "m")
    assert (loaded.what, loaded.kept_) == ([1], [1])


def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    method = Keeps().fit(example_meta_train())
    method.kept_ = {"inner": lambda: 0}
    with pytest.raises(
        UnusableInput, match=r"^kept_\.inner is a function, which cannot be saved: use arrays"
    ):
        method.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_intervals_of_an_earlier_fit_are_forgotten_on_loading(tmp_path: Path) -> None:
    meta = example_meta_train()
    clone(BASELINES["fd"]).fit(meta).save(tmp_path / "m")
    method = clone(BASELINES["fd"]).fit(example_meta_train(12))
    method.predict_interval(meta.sets[:1])
    with pytest.raises(ValueError, match="Regressed: call fit before predict_interval"):
        method.load(tmp_path / "m").predict_interval(meta.sets[:1])


def test_saving_needs_a_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Keeps: call fit before save"):
        Keeps().save(tmp_path / "m")


def test_a_path_may_be_text(tmp_path: Path) -> None:
    method = clone(BASELINES["fd"]).fit(example_meta_train())
    method.save(str(tmp_path / "m"))
    sets = example_meta_train().sets
    np.testing.assert_array_equal(
        clone(BASELINES["fd"]).load(str(tmp_path / "m")).predict(sets), method.predict(sets)
    )


def test_a_method_with_a_fit_of_its_own_is_told_what_to_define(tmp_path: Path) -> None:
    class Own(Keeps):
        def fit(self, meta: MetaTrain) -> "Own":
            return self

    with pytest.raises(
        ValueError, match="Own: call fit before save: a method defines _fit and _predict, not"
    ):
        Own().fit(example_meta_train()).save(tmp_path / "m")


def test_a_file_of_another_method_is_refused(tmp_path: Path) -> None:
    BASELINES["fd"].fit(example_meta_train()).save(tmp_path / "m")
    with pytest.raises(UnusableInput, match=r"m holds Regressed\(fd\), not Regressed\(entropy\)"):
        BASELINES["entropy"].load(tmp_path / "m")


@pytest.mark.parametrize(
    "content",
    [b"", b"no safetensors", save({}, {}), save({}, {"unseen": "{"}), save({}, {"unseen": "[]"})],
)
def test_damaged_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(UnusableInput, match="is not a saved method, or is damaged"):
        Keeps().load(tmp_path / "m")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableInput, match="there is no saved method"):
        Keeps().load(tmp_path / "m")


def test_another_format_is_refused(tmp_path: Path) -> None:
    document = '{"format": 2, "method": "Keeps", "parameters": {"dict": {}}, "state": {"dict": {}}}'
    (tmp_path / "m").write_bytes(save({}, {"unseen": document}))
    with pytest.raises(UnusableInput, match="was saved by another version of the kit"):
        Keeps().load(tmp_path / "m")


def test_a_file_that_lacks_what_the_method_needs_is_refused_by_name(tmp_path: Path) -> None:
    meta = example_meta_train()
    method = BASELINES["fd"].fit(meta)
    state = {name: value for name, value in method._state().items() if name != "rows"}
    write_saved(tmp_path / "m", "Regressed(fd)", method._parameters(), state)
    with pytest.raises(UnusableInput, match=r"m was saved by another version of the kit \(no 'rows'\): fit"):
        BASELINES["fd"].load(tmp_path / "m")
    write_saved(tmp_path / "p", "Keeps", {"which": 1}, {})
    with pytest.raises(UnusableInput, match=r"p was saved by another version of the kit \(Invalid parameter"):
        Keeps().load(tmp_path / "p")


def test_what_a_loaded_file_did_not_hold_is_told_when_it_is_needed(tmp_path: Path) -> None:
    class Needs(Keeps):
        def _predict(self, observation: Observation) -> float:
            return float(self.kept_ + self.more_)  # type: ignore[attr-defined]

    seen = example_meta_train().sets[:1]
    write_saved(tmp_path / "m", "Needs", {"what": 1}, {"kept_": 1})
    with pytest.raises(UnusableInput, match=r"m was saved by another version .* has no attribute 'more_'"):
        Needs().load(tmp_path / "m").predict(seen)
    with pytest.raises(AttributeError, match="more_"):  # the author's own mistake stays one
        Needs(1).fit(example_meta_train()).predict(seen)
