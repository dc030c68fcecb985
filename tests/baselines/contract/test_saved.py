"""Saved methods: what may be held, what comes back, and what is refused."""

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from sklearn.base import clone
from torch import nn

from baselines import BASELINES, Estimator
from baselines.contract.conformance import example_classifier, example_meta_train, example_observation
from baselines.contract.saved import read_saved, reading, write_saved
from starter.observing.observation import Source
from submission.errors import UnusableInput

META = example_meta_train()


class Keeps(Estimator):
    """Keeps whatever it is given as learnt."""

    def __init__(self, what=None):
        self.what = what

    def _fit(self, meta):
        self.kept_ = self.what

    def _predict(self, observation):
        return 0.5


@pytest.mark.parametrize("value", [None, True, 3, 0.1, "text", [1, (2.5, "x")], {"a": [None]}, np.float64(2)])
def test_plain_values_come_back_as_they_were(value, tmp_path):
    write_saved(tmp_path / "m", "Method", {"p": 1}, {"value": value})
    assert read_saved(tmp_path / "m", "Method") == ({"p": 1}, {"value": value})


def test_arrays_and_observations_come_back_without_their_images(tmp_path):
    observation, labels = example_observation("a", 20, 2.0, seed=0)
    classifier = example_classifier()
    source = Source(observation, labels, observation, np.ones((10, 16)), np.zeros(10), classifier)
    write_saved(tmp_path / "m", "Method", {}, {"source": source, "classifier": classifier})
    own, back = read_saved(tmp_path / "m", "Method")[1].values()
    np.testing.assert_array_equal(back.observation.features, observation.features)
    assert back.observation.features.dtype == np.float16
    assert back.observation.views.keys() == observation.views.keys()
    assert back.observation.classifier == "example"
    assert back.observation.render is None
    assert back.classifier is None
    assert own.digest == classifier.digest, "that has its weights"


class Net(nn.Module):
    """A network with a setting, a child of many layers in order, and a parameter that is absent."""

    def __init__(self):
        super().__init__()
        layers = [layer for _ in range(6) for layer in (nn.Linear(5, 5, bias=False), nn.Tanh())]
        self.layers = nn.Sequential(*layers, nn.BatchNorm1d(5))
        self.scale = 3.0

    def forward(self, rows):
        return self.scale * self.layers(rows)


def test_networks_and_their_weights_come_back_without_a_word_of_the_methods(tmp_path):
    network, rows = Net(), torch.randn(7, 5)
    network(rows)
    network.eval()
    method = Keeps([network, dict(network.state_dict())]).fit(META)
    method.what = None
    method.save(tmp_path / "m")
    again, weights = Keeps().load(tmp_path / "m").kept_
    assert torch.equal(again(rows), network(rows))
    assert all(torch.equal(weights[name], value) for name, value in network.state_dict().items())


def test_a_class_of_a_network_that_cannot_be_found_again_is_refused(tmp_path):
    class Inner(nn.Module):
        pass

    with pytest.raises(UnusableInput, match=r"Inner is no class of networks here"):
        Keeps(Inner()).fit(META).save(tmp_path / "m")
    write_saved(tmp_path / "m", "Keeps", {}, {"kept_": nn.Identity()})
    edit(tmp_path / "m", b"nn.modules.linear:Identity", b"utils.data.dataset:Dataset")
    with pytest.raises(UnusableInput, match=r"Dataset is no class of networks"):
        Keeps().load(tmp_path / "m")


def edit(path, there, instead):
    path.write_bytes(path.read_bytes().replace(there, instead))


@pytest.mark.parametrize(
    ("there", "instead", "word"),
    [(b"cpu", b"cup", "device 'cup' cannot be used here"), (b"fc.weight", b"fd.weight", "fc.weight")],
)
def test_a_classifier_that_cannot_be_made_is_refused_in_one_line(there, instead, word, tmp_path):
    write_saved(tmp_path / "m", "Method", {}, {"classifier": example_classifier()})
    edit(tmp_path / "m", there, instead)
    with pytest.raises(UnusableInput, match=word) as refused, reading(tmp_path / "m"):
        read_saved(tmp_path / "m", "Method")
    assert "\n" not in str(refused.value)


def test_the_same_method_gives_the_same_bytes_with_its_parameters_and_a_path_may_be_text(tmp_path):
    for name in "ab":
        Keeps([1]).fit(META).save(str(tmp_path / name))
        BASELINES["fd"].fit(META).save(tmp_path / f"fd {name}")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "fd a").read_bytes() == (tmp_path / "fd b").read_bytes()
    loaded = Keeps().load(str(tmp_path / "a"))
    assert (loaded.what, loaded.kept_) == ([1], [1])


def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path):
    method = Keeps().fit(META)
    method.kept_ = {"inner": lambda: 0}
    with pytest.raises(UnusableInput, match=r"^kept_\.inner is a function, which cannot be saved"):
        method.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_intervals_of_an_earlier_fit_are_forgotten_on_loading(tmp_path):
    clone(BASELINES["fd"]).fit(META).save(tmp_path / "m")
    method = clone(BASELINES["fd"]).fit(example_meta_train(12))
    method.predict_interval(META.sets[:1])
    with pytest.raises(ValueError, match="not fitted"):
        method.load(tmp_path / "m").predict_interval(META.sets[:1])


def state_without_rows(path):
    method = clone(BASELINES["fd"]).fit(META)
    state = {name: value for name, value in method._state().items() if name != "rows"}
    write_saved(path, "Regressed(fd)", method.parameters(), state)


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.write_bytes(b"no safetensors"), "header"),
        (lambda path: path.write_bytes(save({"a": np.zeros(1)}, {"other": ""})), "'unseen'"),
        (lambda path: path.write_bytes(save({}, {"unseen": "{"})), "no saved method"),
        (lambda path: path.write_bytes(save({}, {"unseen": "[]"})), "no saved method"),
        (lambda path: write_saved(path, "Regressed(atc)", {}, {}), r"Regressed\(atc\), not Regressed"),
        (lambda path: write_saved(path, "Regressed(fd)", {"which": 1}, {}), "which"),
        (state_without_rows, "'rows'"),
    ],
)
def test_a_file_that_does_not_hold_the_method_is_refused(write, word, tmp_path):
    write(tmp_path / "m")
    with pytest.raises(UnusableInput, match=word):
        clone(BASELINES["fd"]).load(tmp_path / "m")
