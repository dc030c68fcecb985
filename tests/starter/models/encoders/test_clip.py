"""Tests for `starter.models.encoders.clip`: a tiny model of random weights in a local file, never a download."""

import json

import numpy as np
import pytest

from starter.models.encoders.clip import clip_encoder, clip_templates
from submission import UnusableInput

CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    open_clip = pytest.importorskip("open_clip", reason="the extra clip is not installed")
    import torch

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
    import torch
    from PIL import Image

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
