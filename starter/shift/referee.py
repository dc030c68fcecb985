"""The referee of a grid: an encoder by name, and its LAID matrix, trained on the spot where none is given.

"Referee" is what Long et al. (NeurIPS 2024, appendix A) call the model that tells how far images are.
"""

from collections.abc import Sequence
from pathlib import Path

from starter.encoders import Encoder, TwoTowerEncoder
from starter.encoders.choose import EMBEDDED, load_encoder
from starter.observing.cache import Cache, cache_key
from starter.shift.laid import MARGIN, STEPS, Laid, train_laid
from starter.shift.prompts import choose_prompts
from submission.errors import UnusableInput


def kept_in(root: Path) -> Path:
    """Where the competition in `root` keeps a referee of its own: below its cache, which is made."""
    Cache(root / "cache").make()
    return root / "cache/referee"


def open_referee(
    spec: str,
    referee: str,
    classes: Sequence[str],
    kept: Path,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[Encoder, Laid]:
    """The encoder that `spec` names, and its matrix.

    Args:
        spec: as for `load_encoder`.
        referee: the folder of `unseen laid`, or its file; "" to train a matrix here, on the texts that
            `choose_prompts` chooses.
        classes: the ID classes.
        kept: a folder where what is trained here is kept, and found again.
        seed: of the training.
        device: where encoder and training run.
        progress: show tqdm bars.

    Raises:
        UnusableInput: as `load_encoder`, `choose_prompts` and `read_referee`.
    """
    if referee:
        return read_referee(Path(referee), spec, device)
    encoder = load_encoder(spec, kept, seed, device, progress)
    path = kept / f"laid-{cache_key(encoder.name, list(classes), seed, STEPS, MARGIN)}.safetensors"
    if path.exists():
        return encoder, Laid.load(path, encoder)
    texts = choose_prompts(encoder, classes, seed=seed).features(encoder, progress)
    found = train_laid(texts, encoder.name, seed, device=device, progress=progress)
    found.save(path)
    return encoder, found


def read_referee(path: Path, spec: str, device: str = "cpu") -> tuple[Encoder, Laid]:
    """The matrix that `unseen laid` wrote, and its encoder; nothing is trained.

    Args:
        path: the folder, or the matrix's file.
        spec: the encoder, as for `load_encoder`; "embedded" for the one that `unseen laid` left beside the
            matrix, whatever its seed.
        device: where CLIP runs.

    Raises:
        UnusableInput: matrix or encoder cannot be read, or do not belong together.
    """
    laid = Laid.load(path)
    if spec != EMBEDDED:
        encoder = load_encoder(spec, path, device=device)
        laid.require(encoder, str(path))
        return encoder, laid
    folder = path if path.is_dir() else path.parent
    beside = (TwoTowerEncoder.load(file) for file in sorted(folder.glob("encoder-*.safetensors")))
    for found in beside:
        if found.name == laid.encoder:
            return found, laid
    raise UnusableInput(
        f"{path} belongs to the encoder {laid.encoder}, which is not beside it: name that encoder "
        "(--encoder, or --grid of build)"
    )
