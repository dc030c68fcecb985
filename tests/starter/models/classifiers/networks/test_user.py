import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from starter.models.classifiers import (
    Classifier,
    load_classifier,
    new_network,
    read_classifier,
    save_classifier,
    use_network,
)
from starter.models.encoders.choose import load_image_encoder
from submission.errors import UnusableInput

CLASSES = ("a", "b", "c")
IMAGES = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
CODE = """
import sys
from pathlib import Path
import torch
from torch import nn

class Mine(nn.Module):
    mean, std = torch.tensor([0.1, 0.2, 0.3]).view(1, 3, 1, 1), (0.5, 0.6, 0.7)

    def __init__(self, num_classes, depth=1):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, stride=2)
        self.norm = nn.BatchNorm2d(6)
        self.mix = nn.Linear(6 * 9, 7)
        self.top = nn.Linear(7, num_classes)
        self.register_buffer("shift", torch.full((7,), 0.25), persistent=False)

    def stages(self, x):
        return [self.norm(self.conv(x)).relu()]

    def forward(self, x):
        return self.top(self.mix(self.stages(x)[-1].flatten(1)).tanh() + self.shift)

class Reordered(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.top = nn.Linear(192, num_classes)
        self.unused = nn.Linear(5, num_classes)

    def forward(self, x):
        return self.top(x.flatten(1))

def odd_mean(num_classes):
    network = bare(num_classes)
    network.mean = "grey"
    return network

make, reordered = Mine, Reordered
bare = lambda num_classes: nn.Sequential(nn.Flatten(), nn.Linear(192, num_classes)).half()
softmax = lambda num_classes: nn.Sequential(nn.Flatten(), nn.Linear(192, num_classes), nn.Softmax(1))
convolution = lambda num_classes: nn.Conv2d(3, num_classes, 3)
arrays = lambda num_classes: lambda x: x.mean((2, 3)).double().numpy()[:, :num_classes]
late = lambda num_classes: nn.Sequential(nn.Flatten(), nn.Linear(12, num_classes))
leaving = lambda num_classes: sys.exit(3)
reading = lambda num_classes: Mine(num_classes, len(Path("a.txt").read_text()))
NUMBER = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """The name, new for each test, of a user's module in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"nets_{abs(hash(request.node.nodeid))}"
    Path(f"{name}.py").write_text(CODE, encoding="utf-8")
    yield name
    sys.modules.pop(name, None)


def mine(module):
    return load_classifier(f"mine={module}:make", CLASSES)


def test_logits_features_and_stages_are_the_networks_own(module):
    before = torch.get_rng_state()
    classifier = mine(module)
    assert torch.equal(torch.get_rng_state(), before)
    assert (classifier.name, classifier.arch) == ("mine", f"{module}:make")
    assert classifier.mean == pytest.approx((0.1, 0.2, 0.3))
    assert classifier.std == (0.5, 0.6, 0.7)
    logits, features = classifier(IMAGES)
    body = classifier.network.body
    scaled = torch.from_numpy(IMAGES) / 255
    x = ((scaled - torch.tensor(classifier.mean)) / torch.tensor(classifier.std)).movedim(-1, 1)
    torch.testing.assert_close(logits, body(x))
    torch.testing.assert_close(features, body.mix(body.stages(x)[0].flatten(1)).tanh() + 0.25)
    torch.testing.assert_close(classifier.stages(IMAGES), body.stages(x))
    torch.testing.assert_close(
        logits,
        functional.linear(features, *map(torch.from_numpy, (classifier.head_weight, classifier.head_bias))),
    )


def test_what_is_saved_is_read_back_where_the_network_was_named(module):
    classifier = mine(module)
    save_classifier(classifier, Path("peer.safetensors"))
    back = read_classifier(Path("peer.safetensors"))
    assert back.digest == classifier.digest
    torch.testing.assert_close(back(IMAGES), classifier(IMAGES))
    with Path(f"{module}.py").open("a") as file:
        file.write("# another version\n")
    again = load_classifier("peer=peer.safetensors", CLASSES)
    assert again.arch == f"{module}:make"
    assert again.digest != classifier.digest, "it covers the code"


def test_bare_weights_are_loaded_into_the_network_named_before_them(module):
    state = {name: tensor + 1 for name, tensor in mine(module).network.body.state_dict().items()}
    torch.save(state, "a.pt")
    spec = f"{module}:make=a.pt"
    other = load_classifier(f"mine={spec}", CLASSES, size=(8, 8))
    assert other.arch == f"{module}:make"
    torch.testing.assert_close(dict(other.network.body.state_dict()), state)
    with pytest.raises(UnusableInput, match="is no architecture"):
        new_network(spec, 3)
    with pytest.raises(UnusableInput, match="reads its own weights"):
        load_image_encoder(spec)


def test_a_function_need_not_read_a_file_where_its_weights_are_at_hand(module):
    Path("a.txt").write_text("1")
    save_classifier(load_classifier(f"mine={module}:reading", CLASSES), Path("peer.safetensors"))
    Path("a.txt").unlink()
    with pytest.raises(UnusableInput, match=r"a\.txt'; let .*:reading build the network without that file"):
        read_classifier(Path("peer.safetensors"))


def test_no_file_makes_the_kit_import_anything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("unnamed_nets.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    network = new_network("small", 3)
    classifier = Classifier("peer", "unnamed_nets:make", network, CLASSES, (0.5,) * 3, (0.5,) * 3)
    save_classifier(classifier, Path("peer.safetensors"))
    for read in (read_classifier, lambda path: load_classifier(f"peer={path}", CLASSES)):
        with pytest.raises(UnusableInput, match=r"'unnamed_nets:make' is not the kit's, .* with network"):
            read(Path("peer.safetensors"))
    assert "unnamed_nets" not in sys.modules


def test_a_network_without_extras(module):
    classifier = load_classifier(f"b={module}:bare", CLASSES)
    assert (classifier.mean, classifier.std) == ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
    logits, features = classifier(IMAGES)
    assert logits.shape == (5, 3)
    assert features.shape == (5, 192)
    assert logits.dtype == features.dtype == torch.float32
    with pytest.raises(UnusableInput, match=r"bare: the network has no stages\(x\)"):
        classifier.stages(IMAGES)


def test_a_named_network_can_be_built_for_training(module):
    use_network(f"{module}:make")
    network = new_network(f"{module}:make", 4).train()
    network(torch.zeros(2, 3, 8, 8)).sum().backward()
    assert all(p.grad is not None for p in network.parameters())


@pytest.mark.parametrize(
    ("function", "size", "message"),
    [
        ("none", None, "cannot be imported.*has no attribute 'none'"),
        ("NUMBER", None, "NUMBER is no function"),
        ("convolution", (8, 8), r"gives outputs \(2, 3, 6, 6\) for 2 images"),
        ("softmax", (8, 8), "gives probabilities"),
        ("make@mix", None, "write @top or @none"),
        ("leaving", None, r"leaving\(3\) fails: SystemExit: 3"),
        ("odd_mean", None, r"odd_mean\(3\) fails"),
        ("softmax", None, "does not give the logits .* name another as"),
        ("reordered", None, "does not give the logits"),
        ("late", None, r"fails on images of 8 x 8 pixels \(RuntimeError"),
    ],
)
def test_functions_that_give_no_network_or_do_something_else(function, size, message, module):
    with pytest.raises(UnusableInput, match=message):
        load_classifier(f"mine={module}:{function}", CLASSES, size=size)(IMAGES)


def test_the_layer_that_gives_the_logits_is_found_though_another_was_defined_last(module):
    classifier = load_classifier(f"mine={module}:reordered", CLASSES, size=(8, 8))
    assert classifier.arch == f"{module}:reordered@top"
    _, features = classifier(IMAGES)
    assert features.shape == (5, 192)
    save_classifier(classifier, Path("peer.safetensors"))
    assert torch.equal(read_classifier(Path("peer.safetensors"))(IMAGES)[1], features)


def test_any_callable_that_gives_logits_does(module):
    classifier = load_classifier(f"mine={module}:arrays", CLASSES, size=(8, 8))
    assert classifier.logits_alone
    logits, features = classifier(IMAGES)
    assert logits.dtype == torch.float32
    assert (logits.shape, features.shape) == ((5, 3), (5, 0))
