"""The referee of a grid: an encoder by name, and its LAID matrix, trained on the spot where none is given.

"Referee" is what Long et al. (NeurIPS 2024, appendix A) call the model that tells how far images are.
"""

from collections.abc import Sequence
from pathlib import Path

from starter.cache import cache_key
from starter.encoders import Encoder
from starter.encoders.choose import load_encoder
from starter.laid import Laid, train_laid
from starter.prompts import choose_prompts


def open_referee(
    spec: str,
    laid: str,
    classes: Sequence[str],
    kept: Path,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[Encoder, Laid]:
    """The encoder that `spec` names, and its matrix.

    Args:
        spec: as for `load_encoder`.
        laid: a file with the matrix; "" to train one here, on the texts that `choose_prompts` chooses.
        classes: the ID classes.
        kept: a folder where what is trained here is kept, and found again.
        seed: of the training.
        device: where encoder and training run.
        progress: show tqdm bars.

    Raises:
        UnusableInput: as `load_encoder` and `choose_prompts`; the matrix cannot be read or belongs to another
            encoder.
    """
    if laid:
        Laid.load(Path(laid))  # before an encoder is trained for nothing
    encoder = load_encoder(spec, kept, seed, device, progress)
    if laid:
        return encoder, Laid.load(Path(laid), encoder)
    path = kept / f"laid-{cache_key(encoder.name, list(classes), seed)}.safetensors"
    if path.exists():
        return encoder, Laid.load(path, encoder)
    texts = choose_prompts(encoder, classes, seed=seed).features(encoder, progress)
    found = train_laid(texts, encoder.name, seed, device=device, progress=progress)
    found.save(path)
    return encoder, found
