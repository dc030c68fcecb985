"""Checkpoints of other programs: each form is read as what it is, or named in one line."""

import argparse
import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from starter.models.classifiers import ARCHITECTURES, load_classifier
from starter.models.classifiers.checkpoints import PREFIXES, WRAPPERS, open_checkpoint, renamed
from starter.models.classifiers.networks.body import BodyNetwork
from starter.models.classifiers.specs import Spec
from starter.models.classifiers.weights import WeightsFile, begin_with
from submission.errors import UnusableInput

CLASSES = ("a", "b", "c")


@pytest.fixture(scope="module")
def state():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ARCHITECTURES["small"](len(CLASSES)).state_dict()


def same(path, state):
    found = load_classifier(f"small={path}", CLASSES).network.state_dict()
    assert found.keys() == state.keys()
    for name, tensor in state.items():
        if not name.endswith("num_batches_tracked"):
            torch.testing.assert_close(found[name], tensor, check_stride=False)
    assert not any(tensor.is_meta for tensor in found.values())


@pytest.mark.parametrize("suffix", [".pt", ".pth.tar", ".safetensors", ".SAFETENSORS", ".bin"])
@pytest.mark.parametrize("prefix", ["", *PREFIXES, "module._orig_mod.", "_orig_mod.module.model."])
def test_prefixes_of_programs_are_seen_through(tmp_path, state, suffix, prefix):
    path = tmp_path / f"w{suffix}"
    named = {f"{prefix}{name}": tensor.contiguous() for name, tensor in state.items()}
    save_file(named, path) if "safe" in suffix.lower() else torch.save(named, path)
    same(path, state)


@pytest.mark.parametrize("key", WRAPPERS)
def test_wrappers_are_opened(tmp_path, state, key):
    optimizer = {"state": {0: {"step": torch.tensor(1.0)}}, "param_groups": [{"lr": 0.1}]}
    torch.save({"epoch": 3, "best": torch.tensor(0.5), "optimizer": optimizer, key: state}, tmp_path / "w.pt")
    same(tmp_path / "w.pt", state)


CHANGES = {
    "no counters": lambda s: {name: t for name, t in s.items() if not name.endswith("num_batches_tracked")},
    "averaged": lambda s: {"n_averaged": torch.tensor(3), **{f"module.{name}": t for name, t in s.items()}},
    "profiled": lambda s: {**s, "total_ops": torch.zeros(1), "layer1.total_params": torch.zeros(1)},
    "twice wrapped": lambda s: {"model": {"state_dict": {f"net.{name}": t for name, t in s.items()}}},
    "any key": lambda s: {"my_best": s, "epoch": 3},
    "values beside": lambda s: {**s, "epoch": 3, "arch": "small", "best": 0.5},
    "parameters": lambda s: {name: nn.Parameter(t) if t.is_floating_point() else t for name, t in s.items()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_states_of_programs_are_read(tmp_path, state, change):
    torch.save(CHANGES[change](state), tmp_path / "w.pt")
    same(tmp_path / "w.pt", state)


def test_what_is_read_of_several_states_is_told(tmp_path, state, capsys):
    torch.save({"ema": {name: t + 1 for name, t in state.items()}, "model": state}, tmp_path / "w.pt")
    same(tmp_path / "w.pt", state)
    assert f"{tmp_path / 'w.pt'}: holds model, ema; model is read" in capsys.readouterr().err
    both = {**{f"model.{name}": t for name, t in state.items()}, **{f"ema.{n}": t for n, t in state.items()}}
    torch.save(both, tmp_path / "both.pt")
    with pytest.raises(UnusableInput, match=r"its 'model\..*' and 'ema\..*' are both .* one network"):
        load_classifier(f"small={tmp_path / 'both.pt'}", CLASSES)


def test_a_network_may_have_a_prefix_that_its_file_lacks(tmp_path):
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))

        def forward(self, x):
            return self.model(x)

    normalisation = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    network = BodyNetwork(Spec("x", "mine:make"), Wrapped(), 3, normalisation)
    inner = {name: torch.randn(t.shape) for name, t in network.body.model.state_dict().items()}
    for prefix in ("", "model.", "module.model.", "backbone.", "body.model."):
        torch.save({f"{prefix}{name}": t for name, t in inner.items()}, tmp_path / "w.pt")
        fitted = WeightsFile.read(tmp_path / "w.pt").fitted("mine:make", network)
        torch.testing.assert_close(fitted["body.model.1.weight"], inner["1.weight"])
    own = network.state_dict()
    assert renamed(tmp_path, own, own) == own


def test_training_begins_with_a_prefixed_state_of_other_classes(tmp_path, state):
    torch.save({f"module.{name}": t for name, t in state.items()}, tmp_path / "w.pt")
    network = ARCHITECTURES["small"](5)
    begin_with(network, "small", str(tmp_path / "w.pt"))
    found = network.state_dict()
    assert found["fc.weight"].shape[0] == 5
    name = next(name for name in state if name.endswith("weight"))
    torch.testing.assert_close(found[name], state[name])


def written(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def zipped(stream):
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            archive.writestr(name, b"x")


def saved(thing, **how):
    return written(lambda stream: torch.save(thing, stream, **how))


def scripted(stream):
    torch.jit.save(torch.jit.trace(nn.Linear(2, 2), torch.zeros(1, 2)), stream)


OLD = {"_use_new_zipfile_serialization": False}
WHOLE = "Python objects \\(torch.nn.modules.linear.Linear\\).*save the network's state alone"
ARGUMENTS = {"model": {"w": torch.zeros(2)}, "args": argparse.Namespace(lr=1)}
NO_WEIGHTS = {
    "empty": (lambda: b"", "it is empty"),
    "pointer": (lambda: b"version https://git-lfs.github.com/spec/v1\n", "Git LFS.*git lfs pull"),
    "page": (lambda: b"\n<!DOCTYPE html><html>", "a page"),
    "error page": (lambda: b'<?xml version="1.0"?><Error>', "a page"),
    "index": (lambda: json.dumps({"weight_map": {}}).encode(), "text \\(JSON\\)"),
    "not found": (lambda: b"Entry not found", "it is text"),
    "onnx": (lambda: b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x9b", "ONNX.*module:function"),
    "keras": (lambda: written(zipped), "Keras"),
    "hdf5": (lambda: b"\x89HDF\r\n\x1a\n" + bytes(50), "HDF5"),
    "tflite": (lambda: b"\x1c\0\0\0TFL3" + bytes(50), "TensorFlow Lite"),
    "npz": (lambda: written(lambda stream: np.savez(stream, w=np.zeros(3))), "arrays of NumPy"),
    "gzip": (lambda: b"\x1f\x8b\x08\0" + bytes(50), "compressed: unpack"),
    "pickle": (lambda: pickle.dumps({"w": np.zeros(3)}), "a pickle, .* may run code: save"),
    "script": (lambda: written(scripted), "TorchScript: load it by torch.jit.load, and save"),
    "whole model": (lambda: saved(nn.Linear(2, 2)), WHOLE),
    "old whole model": (lambda: saved(nn.Linear(2, 2), **OLD), WHOLE),
    "arguments": (lambda: saved(ARGUMENTS), "Python objects \\(argparse.Namespace\\)"),
    "cut": (lambda: saved({"w": torch.zeros(2000)})[:3000], "damaged or cut short"),
    "old and cut": (lambda: saved({"w": torch.zeros(2000)}, **OLD)[:3000], "damaged, or of a form"),
    "cut safetensors": (lambda: struct.pack("<Q", 900) + b'{"w":{"dtype":"F32"', "safetensors, .* damaged"),
    "no tensors": (lambda: saved({"epoch": 3}), "no state_dict"),
    "a tensor": (lambda: saved(torch.zeros(3)), "no state_dict"),
}


@pytest.mark.filterwarnings("ignore:.torch.jit.:FutureWarning", "ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".onnx"])
@pytest.mark.parametrize("case", NO_WEIGHTS)
def test_what_is_no_weights_is_named(tmp_path, case, suffix):
    make, message = NO_WEIGHTS[case]
    (tmp_path / f"w{suffix}").write_bytes(make())
    with pytest.raises(UnusableInput, match=message) as caught:
        open_checkpoint(tmp_path / f"w{suffix}")
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / f'w{suffix}'}: ")
    assert said.isprintable()
    assert not any(word in said for word in ("weights_only", "magic", "trust", "safe_globals"))


def test_what_is_no_file_is_named(tmp_path):
    for path, message in ((tmp_path, "is a folder: name the file"), (tmp_path / "w.pt", "cannot be read")):
        with pytest.raises(UnusableInput, match=f"{path}: {message}"):
            open_checkpoint(path)
