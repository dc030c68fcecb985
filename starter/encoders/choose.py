"""The encoder that a command names: of images and texts for a grid, of images for a referee."""

from pathlib import Path
from typing import Any, cast

from starter.classifiers.networks.library import is_library
from starter.classifiers.networks.user import user_function
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
"""Before an encoder of texts too: class names take the place of a probe."""
REFEREES = (
    "lite0, embedded, torchvision:NAME, timm:NAME, clip:MODEL[=WEIGHTS], module:function "
    "or a file of `unseen shift encoder`"
)


def load_encoder(spec: str, kept: Path, seed: int = 0, device: str = "cpu", progress: bool = True) -> Encoder:
    """Returns the encoder that `spec` names.

    Args:
        spec: "embedded" for that of the embedded glyphs, trained on the spot; a file of an encoder of the
            kit; "clip:MODEL=WEIGHTS", as in clip:ViT-B-32=laion2b_s34b_b79k; or ``module:function``, which
            returns an `Encoder`: its code runs.
        kept: a folder where what is trained here is kept, and found again.
        seed: of the training.
        device: where CLIP runs.
        progress: show tqdm bars.

    Raises:
        UnusableInput: there is no such encoder or file, or it is damaged.
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
    """Returns the encoder that `spec` names, of which nothing but images is asked.

    Args:
        spec: "lite0"; "torchvision:NAME" or "timm:NAME"; "clip:MODEL", with its first published weights, or
            "clip:MODEL=WEIGHTS"; "embedded", trained in seconds; a file of an encoder of the kit; or
            ``module:function``, which returns an `ImageEncoder`: its code runs. With "zero-shot:" before it,
            one of texts too.
        kept: a folder where the embedded encoder is kept, and found again.
        device: where the network runs; the kit's own encoders run on the CPU.
        precision: "float32" or "bfloat16", of lite0 and the libraries' networks.
        progress: show tqdm bars.

    Raises:
        UnusableInput: there is no such encoder, file or library, or it is damaged.
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
    """Returns whether a name is ``module:function``, whose code runs."""
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
    """Returns what the user's function returns, which has these members."""
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
