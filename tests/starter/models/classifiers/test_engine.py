import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from slow import some_slow

from starter.models.classifiers import ARCHITECTURES, Classifier, engine, load_classifier
from starter.models.classifiers.engine import (
    TOLERANCES,
    arithmetic,
    chosen,
    computing,
    precisions,
    tell_differences,
)
from submission.errors import UnusableInput, tell_once

pytest.importorskip("openvino")

CLASSES = tuple("0123456789")
IMAGES = np.random.default_rng(0).integers(256, size=(12, 32, 32, 3), dtype=np.uint8)
SHALLOW = ("small", "resnet56", "repvgg_a0")
LACKING = [precision for precision in TOLERANCES if precision not in precisions()]


@pytest.fixture(autouse=True)
def untold():
    tell_once.cache_clear()


@pytest.fixture(scope="module", params=some_slow(SHALLOW, *SHALLOW[1:]))
def pair(request, shaken):
    """A classifier that runs in PyTorch, and the same in OpenVINO, compiled once for all tests."""
    network = shaken(ARCHITECTURES[request.param])
    plain = Classifier(request.param, request.param, network, CLASSES, (0.5,) * 3, (0.25,) * 3)
    return plain, replace(plain, engine="openvino")


def moved(mine, theirs):
    """The largest difference, as a share of the largest value."""
    return float((mine - theirs).abs().max() / theirs.abs().max())


def test_logits_features_and_stages_are_pytorchs_within_the_tolerance(pair, capsys):
    plain, compiled = pair
    assert (plain.place, compiled.place) == ("cpu", "cpu openvino float32")
    shown = zip(
        (*compiled(IMAGES), *compiled.stages(IMAGES)), (*plain(IMAGES), *plain.stages(IMAGES)), strict=True
    )
    for mine, theirs in shown:
        assert mine.shape == theirs.shape
        assert mine.dtype == torch.float32
        assert moved(mine, theirs) <= TOLERANCES["float32"]
    assert capsys.readouterr().err == ""


def test_an_images_logits_depend_on_no_batch_thread_or_order(pair):
    _, compiled = pair
    logits, features = compiled(IMAGES)
    for size in (1, 5):
        parts = [compiled(IMAGES[start : start + size])[0] for start in range(0, len(IMAGES), size)]
        assert torch.equal(torch.cat(parts), logits)
    order = np.random.default_rng(1).permutation(len(IMAGES))
    assert torch.equal(compiled(IMAGES[order])[1], features[order])
    threads = torch.get_num_threads()
    torch.set_num_threads(threads % 2 + 1)
    try:
        assert torch.equal(compiled(IMAGES)[1], features)
    finally:
        torch.set_num_threads(threads)


def test_every_precision_of_this_cpu_keeps_its_tolerance(pair):
    plain, compiled = pair
    exact = plain(IMAGES)[0]
    larger = np.resize(IMAGES, (2, 48, 48, 3))
    assert moved(compiled(larger)[0], plain(larger)[0]) <= TOLERANCES["float32"]
    for precision in precisions():
        faster = replace(compiled, precision=precision)
        assert faster.place == f"cpu openvino {precision}"
        assert moved(faster(IMAGES)[0], exact) <= TOLERANCES[precision]


@pytest.mark.parametrize("precision", LACKING)
@pytest.mark.parametrize("pair", ["small"], indirect=True)
def test_float32_takes_the_place_of_a_precision_that_the_cpu_lacks(pair, precision, capsys):
    _, compiled = pair
    instead = replace(compiled, precision=precision)
    assert instead.place == compiled.place
    assert torch.equal(instead(IMAGES)[0], compiled(IMAGES)[0])
    assert f"this CPU has no {precision}: openvino computes in float32" in capsys.readouterr().err


NETWORKS = """
import torch
from torch import nn


def spread(pooled, k):
    return pooled.repeat(1, 4)[:, :k]


branching = lambda k: lambda x: spread(x.mean((2, 3)), k) * (1 if x.sum() > 0 else -1)
scaling = lambda k: lambda x: spread(x.mean((2, 3)), k) / x.max().item()
counting = lambda k: lambda x: spread(x.mean((2, 3)), k) * (1 if len(x) < 9 else -1)
leaving = lambda k: lambda x: spread(torch.from_numpy(x.numpy().mean((2, 3))), k)


class Sized(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(128, k)

    def forward(self, x):
        count, channels, height, _ = x.shape
        assert channels == 3
        x = nn.functional.max_pool2d(self.norm(self.conv(x)).relu(), 7 if height == 32 else 4)
        return self.fc(x.view(count, -1)).double()


def usual(k):
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(512, k))
"""


@pytest.mark.parametrize("function", ["branching", "scaling", "counting", "leaving", "usual", "Sized"])
def test_own_networks_run_in_openvino_unless_a_trace_does_not_see_all(function, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_nets", raising=False)
    Path("own_nets.py").write_text(NETWORKS, encoding="utf-8")
    plain = load_classifier(f"mine=own_nets:{function}", CLASSES, size=(32, 32))
    other = replace(plain, engine="openvino")
    for images in (IMAGES, IMAGES[:5]):
        assert moved(other(images)[0], plain(images)[0]) <= TOLERANCES["float32"]
    refused = function not in ("usual", "Sized")
    assert other.left_to_torch(IMAGES) is refused
    lines = capfd.readouterr().err.splitlines()
    assert ["'mine': openvino cannot take its network (its code decides" in line for line in lines] == (
        [True] * refused
    )


def test_what_is_left_open_is_chosen_and_what_this_cpu_would_emulate_refused(monkeypatch):
    assert chosen("", "", "cpu") == chosen("openvino", "", "cpu") == ("openvino", "float32")
    assert chosen("torch", "", "cpu") == ("torch", "float32")
    for precision in precisions():
        assert chosen("", precision, "cpu") == ("openvino", precision)
    assert chosen("", "", "cuda") == ("torch", "float32")
    monkeypatch.setattr(engine, "precisions", lambda: ("float32",))
    assert chosen("", "bfloat16", "cuda") == ("torch", "bfloat16")
    for asked, precision, message in (
        ("torch", "float16", "precision float16 is of engine openvino"),
        ("onnx", "", "engine must be one of torch, openvino"),
        ("torch", "bfloat16", "precision bfloat16: this CPU would emulate it slowly"),
        ("openvino", "bfloat16", "precision bfloat16: this CPU would emulate it slowly"),
    ):
        with pytest.raises(UnusableInput, match=message):
            chosen(asked, precision, "cpu")
    with pytest.raises(UnusableInput, match="engine openvino: openvino is for CPUs, not for cuda: leave it"):
        chosen("openvino", "", "cuda")


@pytest.mark.parametrize(("capability", "expected"), [((7, 5), "IEEE"), ((9, 0), "TF32")])
def test_float32_of_a_gpu_is_named(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert engine.arithmetic("torch", "float32", "cuda:0").endswith(f" in float32 {expected}")
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    assert engine.float32_on("cuda") == "IEEE"
    assert engine.arithmetic("torch", "float32", "cpu").endswith(" in float32")


def test_gpus_and_machines_without_it_compute_in_pytorch_and_are_told(monkeypatch, capsys):
    assert computing("openvino", "float16", "cuda") == ("torch", "float32")
    tell_differences("openvino", "float32", "cuda")
    monkeypatch.setattr(engine, "_missing", lambda: "openvino is not installed")
    assert chosen("", "", "cpu") == ("torch", "float32")
    assert computing("openvino", "float16", "cpu") == ("torch", "float32")
    assert computing("openvino", "bfloat16", "cpu") == ("torch", "bfloat16")
    assert arithmetic("openvino", "float16", "cpu").startswith("torch ")
    for _ in range(2):
        tell_differences("openvino", "float16", "cpu")
    one, other = capsys.readouterr().err.splitlines()
    assert one.startswith(
        "openvino is for CPUs, not for cuda: torch computes in float32 instead of openvino in float32"
    )
    assert other.endswith("instead of openvino in float16; logits may differ by 1 % of the largest")
