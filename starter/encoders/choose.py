"""Loading an encoder by name: of images and texts for a grid, of images for a referee."""

from pathlib import Path
from typing import Any, cast

from starter.classifiers.networks.user import user_function
from starter.classifiers.networks.zoo import is_library
from starter.encoders.clip import ClipEncoder, clip_encoder
from starter.encoders.embedded import embedded_encoder, quick_encoder
from starter.encoders.encoder import Encoder, EncoderPair, ImageEncoder, ImageFunction
from starter.encoders.pretrained import library_encoder, lite0
from starter.encoders.two_tower import TwoTowerEncoder
from submission.errors import UnusableInput

EMBEDDED = "embedded"
LITE0 = "lite0"
CLIP = "clip:"
ZERO_SHOT = "zero-shot:"
"""Prefix of an encoder of images and texts whose class names are used instead of a probe."""
REFEREES = (
    "lite0, embedded, torchvision:NAME[=PATH], timm:NAME[=PATH], clip:MODEL[=WEIGHTS], module:function "
    "or a file of `unseen shift encoder`"
)


def load_encoder(spec: str, kept: Path, seed: int = 0, device: str = "cpu", progress: bool = True) -> Encoder:
    """Returns the encoder that `spec` names.

    Args:
        spec: "embedded" for the encoder of the embedded glyphs, trained on demand; a file of an encoder of
            the kit; "clip:MODEL=WEIGHTS", as in clip:ViT-B-32=laion2b_s34b_b79k; or ``module:function``,
            which returns an `Encoder`: its code runs.
        kept: Folder in which trained encoders are kept.
        seed: Seed of the training.
        device: Device that runs CLIP.
        progress: True to show progress bars.

    Raises:
        UnusableInput: the encoder or file does not exist, or is damaged.
    """
    if spec == EMBEDDED:
        return embedded_encoder(kept / f"encoder-{seed}.safetensors", seed, progress)
    if spec.startswith(CLIP):
        model, equals, weights = spec.removeprefix(CLIP).partition("=")
        if not equals or not weights:
            raise UnusableInput(f"--encoder {spec}: give clip:MODEL=WEIGHTS, a file or a tag of open_clip's")
        return clip_encoder(model, weights, device)
    if ":" not in spec:
        return TwoTowerEncoder.load(Path(spec))
    own = cast(Encoder, _users(spec, ("name", "encode_images", "encode_texts")))
    return EncoderPair(own.name, own.encode_images, own.encode_texts)


def of_encoders(precision: str) -> str:
    """Returns the precision of encoders in a competition of this precision: they run in PyTorch."""
    return "bfloat16" if precision == "bfloat16" else "float32"


def load_image_encoder(
    spec: str, kept: Path, device: str = "cpu", precision: str = "float32", progress: bool = True
) -> ImageEncoder:
    """Returns the encoder of images that `spec` names.

    Args:
        spec: "lite0"; "torchvision:NAME[=PATH]" or "timm:NAME[=PATH]"; "clip:MODEL", with its
            first published weights, or "clip:MODEL=WEIGHTS"; "embedded", trained in seconds; a file of an
            encoder of the kit; or ``module:function``, which returns an `ImageEncoder`: its code runs. The
            prefix "zero-shot:" requires an encoder of texts too.
        kept: Folder in which the embedded encoder is kept.
        device: Device that runs the network; the kit's own encoders run on the CPU.
        precision: "float32" or "bfloat16", for lite0 and the libraries' networks.
        progress: True to show progress bars.

    Raises:
        UnusableInput: the encoder, file or library does not exist, or is damaged.
    """
    spec = spec.removeprefix(ZERO_SHOT)
    if spec == LITE0:
        return lite0(device, precision)
    if is_library(spec):
        return library_encoder(spec, device, precision)
    if spec.startswith(CLIP) and "=" not in spec:
        return _clip(spec.removeprefix(CLIP), device)
    if spec == EMBEDDED:
        return quick_encoder(kept / "referee.safetensors", progress=progress)
    if ":" not in spec and not Path(spec).is_file():
        raise UnusableInput(f"there is no encoder {spec!r}: name {REFEREES}")
    if is_own_code(spec):
        own = cast(ImageEncoder, _users(spec, ("name", "encode_images")))
        if hasattr(own, "encode_texts"):
            return EncoderPair(own.name, own.encode_images, own.encode_texts)
        return ImageFunction(own.name, own.encode_images)
    return load_encoder(spec, kept, device=device, progress=progress)


def is_own_code(spec: str) -> bool:
    """Returns True for ``module:function``, the name of a user's code."""
    spec = spec.removeprefix(ZERO_SHOT)
    return ":" in spec and not spec.startswith(CLIP) and not is_library(spec)


def _clip(model: str, device: str) -> ClipEncoder:
    """Returns a CLIP model with the first of its published weights."""
    try:
        from open_clip import list_pretrained_tags_by_model
    except ImportError as error:
        raise UnusableInput('CLIP needs open_clip: pip install "unseen[clip]"') from error
    tags = list_pretrained_tags_by_model(model)
    return clip_encoder(model, tags[0] if tags else "published", device)


def _users(spec: str, members: tuple[str, ...]) -> Any:
    """Returns the object returned by the user's function, after checking that it has these members."""
    make = user_function(spec, "my_clip:encoder", "take nothing and return an encoder")
    try:
        found = make()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UnusableInput(f"encoder {spec} fails: {reason}") from error
    for member in members:
        if not hasattr(found, member):
            raise UnusableInput(f"encoder {spec}: what it returns has no {member}, which an encoder needs")
    return found
