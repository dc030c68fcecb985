import re

import numpy as np
import pytest
import torch
from torch import nn

from starter.models.classifiers import Classifier, Network
from starter.models.classifiers.engine import Runner
from submission.errors import UnusableInput

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


class Tiny(Network):
    """One convolution with BatchNorm and a head on 4 channels."""

    def __init__(self, num_classes=3):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, num_classes)
        for parameter in self.parameters():
            nn.init.normal_(parameter.data, generator=generator)

    @property
    def head(self):
        return self.fc

    def stages(self, x):
        first = self.conv(x)
        return [first, self.bn(first).relu()]


class Wide(Tiny):
    """The same with a convolution that needs nine pixels."""

    def stages(self, x):
        return [nn.functional.conv2d(x, torch.zeros(4, 3, 9, 9))]


def tiny(**changes):
    usual = dict(name="t", arch="tiny", network=Tiny(), classes=("a", "b", "c"), mean=MEAN, std=STD)
    return Classifier(**{**usual, **changes})


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).integers(0, 256, (7, 8, 6, 3), dtype=np.uint8)


def test_a_call_normalises_pools_and_applies_the_head(images):
    network = Tiny().eval()
    logits, features = tiny(network=network)(images)
    x = (torch.from_numpy(images).double().permute(0, 3, 1, 2) / 255 - torch.tensor(MEAN).view(3, 1, 1)) / (
        torch.tensor(STD).view(3, 1, 1)
    )
    with torch.no_grad():
        maps = network.double().stages(x)
    torch.testing.assert_close(features.double(), maps[-1].mean((2, 3)), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        logits.double(), network.fc(maps[-1].mean((2, 3))).detach(), atol=1e-5, rtol=1e-5
    )
    assert logits.dtype == features.dtype == torch.float32
    torch.testing.assert_close(tiny()(torch.from_numpy(images).permute(0, 3, 1, 2))[0], logits)
    for given, expected in zip(tiny().stages(images), maps, strict=True):
        assert given.dtype == torch.float32
        torch.testing.assert_close(given.double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_logits_do_not_depend_on_the_batch(images, precision):
    classifier = tiny(precision=precision)
    whole = classifier(images)
    single = [classifier(images[i : i + 1]) for i in range(len(images))]
    for together, alone in zip(whole, zip(*single, strict=True), strict=True):
        torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)


def test_large_images_take_several_passes_and_small_ones_one():
    rng = np.random.default_rng(0)
    large = rng.integers(256, size=(7, 600, 600, 3), dtype=np.uint8)
    classifier, passes = tiny(), []
    classifier.deployed.fc.register_forward_pre_hook(lambda module, given: passes.append(len(given[0])))
    logits, features = classifier(large)
    assert passes == [5, 2]
    torch.testing.assert_close(logits[5:], classifier(large[5:])[0])
    torch.testing.assert_close(features[5:], classifier(large[5:])[1])
    passes.clear()
    classifier(rng.integers(256, size=(500, 64, 64, 3), dtype=np.uint8))
    assert passes == [500]


def test_a_batch_is_halved_until_the_memory_is_enough(images, monkeypatch, capsys):
    whole, most = tiny()(images), [0, 2]

    def run(runner, inputs):
        if len(inputs) > most[-1]:
            raise torch.OutOfMemoryError("out of memory")
        return runner._in_pytorch(inputs, "float32")

    monkeypatch.setattr(Runner, "__call__", run)
    torch.testing.assert_close(tiny()(images), whole)
    assert capsys.readouterr().err.count("finds too little memory on cpu: its batches are halved") == 1
    most.pop()
    with pytest.raises(UnusableInput, match="'t' cannot take 1 images of 6 x 8 pixels: out of memory"):
        tiny()(images)


def test_bfloat16_is_near_float32_and_its_head_is_exact(images):
    classifier = tiny(precision="bfloat16")
    logits, features = classifier(images)
    assert logits.dtype == features.dtype == torch.float32
    exact, _ = tiny()(images)
    assert 0 < (logits - exact).abs().max() < 0.1
    by_hand = features.numpy() @ classifier.head_weight.T + classifier.head_bias
    np.testing.assert_allclose(logits.numpy(), by_hand, atol=1e-5)


def test_digest_tells_all_that_decides_the_logits():
    digest = tiny().digest
    assert len(digest) == 64
    assert tiny(name="other", mean=np.array(MEAN), classes=["a", "b", "c"]).digest == digest
    other = Tiny()
    with torch.no_grad():
        other.bn.bias[2] += 1e-6
    changes = [{"arch": "other"}, {"network": other}, {"classes": ("a", "c", "b")}, {"precision": "bfloat16"}]
    changes += [{"mean": (0.5, 0.4, 0.31)}, {"std": (0.2, 0.25, 0.31)}]
    assert len({digest, *(tiny(**change).digest for change in changes)}) == 1 + len(changes)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"classes": ("a", "b", "b")}, "two or more different names"),
        ({"classes": ("a", "b")}, "3 outputs for 2 classes"),
        ({"classes": ("a", "b", "c\n")}, "printable"),
        ({"mean": (0.5, 0.5, float("nan"))}, "mean"),
        ({"std": (0.2, 0.2, 0.0)}, "std"),
    ],
)
def test_bad_fields_are_named(change, field):
    with pytest.raises(UnusableInput, match=rf"^classifier 't': .*{field}"):
        tiny(**change)


@pytest.mark.parametrize("shape", [(0, 8, 8, 3), (2, 3, 8, 8), (8, 8, 3)])
def test_bad_images_are_refused(shape):
    for call, bad in ((tiny(), np.zeros(shape, np.uint8)), (tiny().stages, np.zeros((2, 8, 8, 3)))):
        with pytest.raises(ValueError, match="images must be uint8"):
            call(bad)


@pytest.mark.parametrize("device", ["", "gpu", "meta", "cuda:99"])
def test_devices_that_do_not_compute_here_are_refused(device):
    with pytest.raises(UnusableInput, match=f"^device {re.escape(repr(device))} cannot be used here: .+"):
        tiny(device=device)


def test_images_that_a_network_cannot_take_and_what_is_not_finite_are_told(images):
    for call in (tiny(network=Wide()), tiny(network=Wide()).stages):
        with pytest.raises(UnusableInput, match=r"'t' cannot take 7 images of 6 x 8 pixels: .*[Kk]ernel"):
            call(images)
    network = Tiny()
    with torch.no_grad():
        network.fc.bias[1] = float("nan")
    with pytest.raises(UnusableInput, match="classifier 't' gives NaN or infinite logits for 7 of 7 images"):
        tiny(network=network)(images)
