"""The referee of a grid: an encoder by name, and its LAID matrix, trained on the spot where none is given.

"Referee" is what Long et al. (NeurIPS 2024, appendix A) call the model that tells how far images are.
"""

from pathlib import Path
from typing import cast

from starter.classifiers.user_network import user_function
from starter.encoders import Encoder, TwoTowerEncoder
from starter.encoders.embedded import embedded_encoder
from starter.laid import Laid, train_laid
from starter.prompts import caption_prompts
from submission import UnusableInput

EMBEDDED = "embedded"


def open_referee(
    spec: str, laid: str, kept: Path, seed: int = 0, progress: bool = True
) -> tuple[Encoder, Laid]:
    """The encoder that `spec` names, and its matrix.

    Args:
        spec: "embedded" for that of the embedded glyphs, trained on the spot; a file of such an encoder; or
            ``module:function``, which returns an `Encoder`. Its code runs.
        laid: a file with the matrix; "" to train one from the captions' phrases of an encoder of the kit.
        kept: a folder where what is trained here is kept, and found again.
        seed: of the training.
        progress: show tqdm bars.

    Raises:
        UnusableInput: there is no such encoder or file, one is damaged, the matrix belongs to another
            encoder, or none is given for an encoder that is not the kit's.
    """
    encoder = _encoder(spec, kept, seed, progress)
    if laid:
        return encoder, Laid.load(Path(laid), encoder)
    if not isinstance(encoder, TwoTowerEncoder):
        raise UnusableInput(f"the encoder {spec} needs --laid FILE, a LAID matrix trained on its texts")
    path = kept / f"laid-{encoder.name}-{seed}.safetensors"
    if path.exists():
        return encoder, Laid.load(path, encoder)
    prompts = caption_prompts(encoder.phrases, seed)
    found = train_laid(prompts.features(encoder, progress), encoder.name, seed, progress=progress)
    found.save(path)
    return encoder, found


def _encoder(spec: str, kept: Path, seed: int, progress: bool) -> Encoder:
    if spec == EMBEDDED:
        return embedded_encoder(kept / f"encoder-{seed}.safetensors", seed, progress)
    if ":" not in spec:
        return TwoTowerEncoder.load(Path(spec))
    make = user_function(spec, "my_clip:encoder", "take nothing and return an encoder")
    try:
        found = make()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UnusableInput(f"encoder {spec} fails: {reason}") from error
    for member in ("name", "encode_images", "encode_texts"):
        if not hasattr(found, member):
            raise UnusableInput(f"encoder {spec}: what it returns has no {member}, which an encoder needs")
    return cast(Encoder, found)
