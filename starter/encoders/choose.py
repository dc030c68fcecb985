"""The encoder that a command names."""

from pathlib import Path
from typing import cast

from starter.classifiers.networks.user import user_function
from starter.encoders.clip import clip_encoder
from starter.encoders.embedded import embedded_encoder
from starter.encoders.encoder import Encoder, EncoderPair
from starter.encoders.two_tower import TwoTowerEncoder
from submission.errors import UnusableInput

EMBEDDED = "embedded"
CLIP = "clip:"
MEMBERS = ("name", "encode_images", "encode_texts")


def load_encoder(spec: str, kept: Path, seed: int = 0, device: str = "cpu", progress: bool = True) -> Encoder:
    """The encoder that `spec` names.

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
    return _users(spec)


def _users(spec: str) -> Encoder:
    make = user_function(spec, "my_clip:encoder", "take nothing and return an encoder")
    try:
        found = make()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UnusableInput(f"encoder {spec} fails: {reason}") from error
    for member in MEMBERS:
        if not hasattr(found, member):
            raise UnusableInput(f"encoder {spec}: what it returns has no {member}, which an encoder needs")
    own = cast(Encoder, found)
    return EncoderPair(own.name, own.encode_images, own.encode_texts)
