"""CLIP models by open_clip, an optional library (`pip install -e ".[clip]"`)."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from starter.models.classifiers.networks.libraries import unlogged
from starter.models.encoders import EncoderPair
from submission.arrays import FloatArray, Pixels
from submission.errors import UnusableInput, why
from submission.files import sha256

_BATCH = 64


def clip_encoder(model: str, weights: str = "", device: str = "cpu") -> EncoderPair:
    """Returns an open_clip model, such as ViT-B-32, with the weights of a file, or of a tag to download.

    "" stands for the first tag, such as laion2b_s34b_b79k. The name has the tag, or the start of the file's
    SHA-256.
    """
    open_clip = _open_clip()
    tags = open_clip.list_pretrained_tags_by_model(model)
    weights = weights or (tags[0] if tags else "published")
    path = Path(weights).expanduser()
    if weights not in tags and not path.is_file():
        known = f"weights of {model}: {', '.join(tags) or 'none'}; open_clip.list_models() lists the models"
        raise UnusableInput(f"{weights!r} is no file, nor {known}")
    mark, chosen = (weights, weights) if weights in tags else (sha256(path)[:12], str(path))
    try:
        with unlogged():
            network, _, preprocess = open_clip.create_model_and_transforms(model, chosen, device=device)
    except Exception as error:  # a damaged file or a broken download can raise anything
        raise UnusableInput(
            f"{model} cannot be made with the weights {weights} ({why(error)}): check the connection or "
            f"the file; clip:{model}=PATH names a file"
        ) from error
    network, tokenizer = network.eval(), open_clip.get_tokenizer(model)

    @torch.inference_mode()
    def of_images(images: Pixels) -> FloatArray:
        rows = []
        for start in range(0, len(images), _BATCH):
            block = [preprocess(Image.fromarray(image)) for image in images[start : start + _BATCH]]
            rows.append(network.encode_image(torch.stack(block).to(device)).float().cpu().numpy())
        return np.concatenate(rows)

    @torch.inference_mode()
    def of_texts(texts: list[str]) -> FloatArray:
        parts = [tokenizer(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate([network.encode_text(part.to(device)).float().cpu().numpy() for part in parts])

    return EncoderPair(f"{model}:{mark}", of_images, of_texts, clip_templates())


def clip_templates() -> tuple[str, ...]:
    """Returns CLIP's 80 prompts of zero-shot classification, "a photo of a {}." first; "{}" is the class."""
    made = (make("{}") for make in _open_clip().OPENAI_IMAGENET_TEMPLATES)
    return tuple(dict.fromkeys(["a photo of a {}.", *made]))


def _open_clip() -> Any:
    try:
        import open_clip
    except ImportError as error:
        raise UnusableInput('CLIP needs open_clip: pip install -e ".[clip]"') from error
    return open_clip
