import logging

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from starter.models.classifiers import load_classifier, new_network, read_classifier, save_classifier
from starter.models.classifiers.networks import libraries
from starter.models.classifiers.weights import begin_with
from submission.errors import UnusableInput

timm = pytest.importorskip("timm", reason="timm is not installed")
CLASSES = ("cat", "dog", "owl")


def own(name, classes=3):
    """timm's own network with seeded weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return timm.create_model(name, num_classes=classes).eval()


def pictures(n=4, side=64):
    return np.random.default_rng(0).integers(256, size=(n, side, side, 3), dtype=np.uint8)


def test_logits_and_features_are_timms(tmp_path):
    network = own("resnet10t")
    save_file(network.state_dict(), tmp_path / "timms.safetensors")
    classifier = load_classifier(f"timm:resnet10t={tmp_path / 'timms.safetensors'}", CLASSES)
    assert (classifier.name, classifier.arch) == ("resnet10t", "timm:resnet10t")
    config = timm.get_pretrained_cfg("resnet10t")
    x = torch.from_numpy(pictures()).permute(0, 3, 1, 2) / 255
    x = (x - torch.tensor(config.mean).view(3, 1, 1)) / torch.tensor(config.std).view(3, 1, 1)
    with torch.inference_mode():
        features = network.forward_head(network.forward_features(x), pre_logits=True)
        logits = network(x)
    found = classifier(pictures())
    torch.testing.assert_close(found[0], logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found[1], features, atol=1e-4, rtol=1e-4)


def test_the_librarys_own_weights_are_fetched_or_the_reason_is_told(monkeypatch, capsys):
    """What the library's create_model(pretrained=True) does with a network at hand is not tested offline."""

    def fails(num_classes=1000, pretrained=False):
        if pretrained:
            logging.getLogger("huggingface_hub.utils").warning("Retrying in 1s")
            raise OSError("no route to host")
        return own("resnet10t", num_classes)

    monkeypatch.setattr(libraries, "maker", lambda network: fails)
    with pytest.raises(UnusableInput, match=r"cannot be downloaded \(no route to host\)"):
        load_classifier("timm:resnet10t", [*map(str, range(1000))])
    assert "Retrying" not in capsys.readouterr().err, "it prints two lines for each of a dozen attempts"


def test_a_last_layer_that_the_weights_lack_is_the_same_at_each_reading(monkeypatch):
    """A referee is known by its weights, the last layer's among them."""
    monkeypatch.setattr(libraries, "maker", lambda arch: lambda pretrained: torch.nn.Linear(3, 4))
    one, other = (libraries.pretrained_state("torchvision:resnet18")["body.weight"] for _ in range(2))
    torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        ("timm:nonsense", "timm has no such network"),
        ("torchvision:fcn_resnet50", "torchvision has no such network"),
        ("timm:coatnet_0_224", "the library has no weights for it: name a file, timm:coatnet_0_224=PATH"),
    ],
)
def test_networks_without_own_weights_are_told(arch, message):
    with pytest.raises(UnusableInput, match=message):
        load_classifier(arch, [*map(str, range(1000))])


def test_own_weights_can_be_begun_with(monkeypatch):
    monkeypatch.setattr(
        libraries, "maker", lambda arch: lambda num_classes=7, pretrained=False: own("resnet10t", num_classes)
    )
    network, given = new_network("timm:resnet10t", 3), libraries.pretrained_state("timm:resnet10t")
    head = network.head.weight.clone()
    begin_with(network, "timm:resnet10t", "pretrained")
    assert torch.equal(network.head.weight, head)
    state = network.state_dict()
    assert all(torch.equal(state[name], given[name]) for name in given if "fc" not in name)
    with pytest.raises(UnusableInput, match="is of a library's network"):
        begin_with(network, "resnet56", "pretrained")


@pytest.mark.parametrize(
    ("arch", "side"), [("torchvision:squeezenet1_1", 64), ("timm:deit_tiny_distilled_patch16_224", 224)]
)
@pytest.mark.slow
def test_a_convolution_or_two_heads_give_logits_alone(arch, side, tmp_path):
    save_file(new_network(arch, 3).state_dict(), tmp_path / "x.safetensors")
    classifier = load_classifier(f"{arch}={tmp_path / 'x.safetensors'}", CLASSES, size=(side, side))
    assert classifier.arch == f"{arch}@none"
    assert classifier.logits_alone
    logits, features = classifier(pictures(side=side))
    torch.testing.assert_close(logits, classifier.network.body(classifier.normalised(pictures(side=side))))
    assert features.shape == (4, 0)
    assert classifier.head_weight.shape == (3, 0)
    save_classifier(classifier, tmp_path / "saved.safetensors")
    again = read_classifier(tmp_path / "saved.safetensors")
    assert (again.digest, again.logits_alone) == (classifier.digest, True)


def test_the_layer_is_found_or_named(tmp_path):
    save_file(own("resnet10t").state_dict(), tmp_path / "x.safetensors")
    found = load_classifier(f"timm:resnet10t={tmp_path / 'x.safetensors'}", CLASSES, size=(64, 64))
    assert (found.arch, found.logits_alone) == ("timm:resnet10t", False)
    named = load_classifier(f"mine=timm:resnet10t@fc={tmp_path / 'x.safetensors'}", CLASSES, size=(64, 64))
    assert (named.name, named.arch) == ("mine", "timm:resnet10t@fc")
    assert torch.equal(named(pictures())[1], found(pictures())[1])
    alone = load_classifier(f"timm:resnet10t@none={tmp_path / 'x.safetensors'}", CLASSES, size=(64, 64))
    torch.testing.assert_close(alone(pictures())[0], found(pictures())[0])
    assert alone(pictures())[1].shape == (4, 0)
    with pytest.raises(UnusableInput, match="to 3 classes is called 'layer4'; write @fc or @none"):
        new_network("timm:resnet10t@layer4", 3)
