"""Loading an encoder by name: of images and texts for a grid, of images for a referee."""

from pathlib import Path
from typing import Any

from starter.classifiers.specs import CLIP, ZERO_SHOT, Spec, user_function
from starter.encoders import Encoder, EncoderPair, ImageEncoder, ImageFunction
from starter.encoders.clip import clip_encoder
from starter.encoders.pretrained import library_encoder, lite0
from starter.encoders.two_tower import TwoTowerEncoder, embedded_encoder, quick_encoder
from submission.errors import UnusableInput

EMBEDDED = "embedded"
LITE0 = "lite0"
REFEREES = (
    "lite0, embedded, torchvision:NAME[=PATH], timm:NAME[=PATH], clip:MODEL[=WEIGHTS], module:function "
    "or a file of `unseen shift encoder`"
)


def load_encoder(text: str, kept: Path, seed: int = 0, device: str = "cpu", progress: bool = True) -> Encoder:
    """Returns the encoder that `text` names.

    That is "embedded" for the encoder of the embedded glyphs, trained on demand by `seed` and kept in the
    folder `kept`; a file of an encoder of the kit; or ``clip:MODEL`` or ``module:function``, see `Spec`.
    """
    spec = Spec.parse(text)
    if text == EMBEDDED:
        return embedded_encoder(kept / f"encoder-{seed}.safetensors", seed, progress)
    if spec.library == CLIP:
        return clip_encoder(spec.name, spec.weights, device)
    if spec.own_code:
        own = _users(spec.own_code, ("name", "encode_images", "encode_texts"))
        return EncoderPair(own.name, own.encode_images, own.encode_texts)
    return TwoTowerEncoder.load(Path(text.removeprefix(ZERO_SHOT)))


def of_encoders(precision: str) -> str:
    """Returns the precision of encoders in a competition of this precision: they run in PyTorch."""
    return "bfloat16" if precision == "bfloat16" else "float32"


def load_image_encoder(
    text: str, kept: Path, device: str = "cpu", precision: str = "float32", progress: bool = True
) -> ImageEncoder:
    """Returns the encoder of images that `text` names.

    That is one of `REFEREES`, after "zero-shot:" if its texts are to be used. The kit's own encoders run on
    the CPU; the precision is that of lite0 and the libraries' networks.
    """
    spec, named = Spec.parse(text), text.removeprefix(ZERO_SHOT)
    if named == LITE0:
        return lite0(device, precision)
    if named == EMBEDDED:
        return quick_encoder(kept / "referee.safetensors", progress=progress)
    if spec.own_code:
        own = _users(spec.own_code, ("name", "encode_images"))
        if hasattr(own, "encode_texts"):
            return EncoderPair(own.name, own.encode_images, own.encode_texts)
        return ImageFunction(own.name, own.encode_images)
    if spec.library and spec.library != CLIP:
        return library_encoder(spec, device, precision)
    if not spec.library and not Path(named).is_file():
        raise UnusableInput(f"there is no encoder {text!r}: name {REFEREES}")
    return load_encoder(text, kept, device=device, progress=progress)


def _users(own_code: str, members: tuple[str, ...]) -> Any:
    """Returns the object returned by the user's function, after checking that it has these members."""
    make = user_function(own_code, "my_clip:encoder", "take nothing and return an encoder")
    try:
        found = make()
        for member in members:
            getattr(found, member)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UnusableInput(f"encoder {own_code} fails: {reason}") from error
    return found
