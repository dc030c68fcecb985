"""CLIP models by open_clip, an optional library (`pip install "unseen[clip]"`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from starter.classifiers.networks.zoo import unlogged
from starter.encoders.encoder import unit_rows
from submission.arrays import FloatArray
from submission.errors import UnusableInput
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


def clip_encoder(model: str, weights: str, device: str = "cpu") -> ClipEncoder:
    """Returns an open_clip model.

    Args:
        model: Name in open_clip.list_models(), such as ViT-B-32.
        weights: File, read without unpickling code; or tag of published weights, which open_clip downloads,
            such as laion2b_s34b_b79k.
        device: Name of PyTorch's device.

    Raises:
        UnusableInput: open_clip is not installed, has no such model or weights, or cannot read them.
    """
    try:
        import open_clip
    except ImportError as error:
        raise UnusableInput('CLIP needs open_clip: pip install "unseen[clip]"') from error
    if model not in open_clip.list_models():
        raise UnusableInput(f"open_clip has no model {model!r}; open_clip.list_models() lists those it has")
    path = Path(weights).expanduser()
    tags = open_clip.list_pretrained_tags_by_model(model)
    if weights not in tags and not path.is_file():
        raise UnusableInput(f"{weights!r} is no file, nor weights of {model}: {', '.join(tags) or 'none'}")
    mark = weights if weights in tags else sha256(path)[:12]
    chosen = weights if weights in tags else str(path)
    try:
        with unlogged():
            network, _, preprocess = open_clip.create_model_and_transforms(model, chosen, device=device)
    except Exception as error:  # a damaged file or a broken download can raise anything
        raise UnusableInput(
            f"{model} cannot be made with the weights {weights} ({_line(error)}): check the connection or "
            f"the file; clip:{model}=PATH names a file"
        ) from error
    return ClipEncoder(f"{model}:{mark}", network.eval(), preprocess, open_clip.get_tokenizer(model), device)


def clip_templates() -> tuple[str, ...]:
    """Returns the 80 prompts of CLIP's zero-shot classification, "a photo of a {}." first; "{}" is the class.

    Raises:
        UnusableInput: open_clip is not installed.
    """
    try:
        from open_clip import OPENAI_IMAGENET_TEMPLATES
    except ImportError as error:
        raise UnusableInput('CLIP\'s templates need open_clip: pip install "unseen[clip]"') from error
    return tuple(dict.fromkeys(["a photo of a {}.", *(make("{}") for make in OPENAI_IMAGENET_TEMPLATES)]))


def _line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
