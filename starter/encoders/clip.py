"""CLIP models by open_clip, an optional library (`pip install "unseen[clip]"`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from starter.classifiers.networks.libraries import unlogged
from starter.encoders import unit_rows
from submission.arrays import FloatArray
from submission.errors import UnusableInput, why
from submission.files import sha256

_BATCH = 64


@dataclass(frozen=True, eq=False)
class ClipEncoder:
    """An open_clip model with its own preprocessing and tokenizer, as an `Encoder`.

    Attributes:
        name: Name of the model, with the tag of its weights or the start of their file's SHA-256.
        model, preprocess, tokenizer: Objects of open_clip.
        device: Device that runs the model.
    """

    name: str
    model: Any
    preprocess: Any
    tokenizer: Any
    device: str

    @torch.inference_mode()
    def encode_images(self, images: NDArray[np.uint8]) -> FloatArray:
        """See `Encoder`."""
        rows = []
        for start in range(0, len(images), _BATCH):
            block = [self.preprocess(Image.fromarray(image)) for image in images[start : start + _BATCH]]
            rows.append(self.model.encode_image(torch.stack(block).to(self.device)).float().cpu().numpy())
        return unit_rows(np.concatenate(rows), len(images), f"{self.name}: image features")

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """See `Encoder`."""
        rows = []
        for start in range(0, len(texts), _BATCH):
            tokens = self.tokenizer(list(texts[start : start + _BATCH])).to(self.device)
            rows.append(self.model.encode_text(tokens).float().cpu().numpy())
        return unit_rows(np.concatenate(rows), len(texts), f"{self.name}: text features")


def clip_encoder(model: str, weights: str = "", device: str = "cpu") -> ClipEncoder:
    """Returns an open_clip model, such as ViT-B-32, with the weights of a file, or of a tag to download.

    A file is read without unpickling code. "" stands for the first tag, such as laion2b_s34b_b79k.
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
    return ClipEncoder(f"{model}:{mark}", network.eval(), preprocess, open_clip.get_tokenizer(model), device)


def clip_templates() -> tuple[str, ...]:
    """Returns CLIP's 80 prompts of zero-shot classification, "a photo of a {}." first; "{}" is the class."""
    made = (make("{}") for make in _open_clip().OPENAI_IMAGENET_TEMPLATES)
    return tuple(dict.fromkeys(["a photo of a {}.", *made]))


def _open_clip() -> Any:
    try:
        import open_clip
    except ImportError as error:
        raise UnusableInput('CLIP needs open_clip: pip install "unseen[clip]"') from error
    return open_clip
