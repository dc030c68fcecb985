"""The command `shift encoder`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from submission import UnusableInput
from submission.options import DataRoot


def encoder(
    sources: Annotated[
        list[str],
        Argument(
            metavar="SOURCE...",
            help="Sources, as for build; the encoder is trained on their training images.",
        ),
    ],
    out: Annotated[Path, Option(help="The .safetensors file to write.")],
    seed: Annotated[int, Option(min=0, help="Seed of everything random.")] = 0,
    data_root: DataRoot = None,
) -> None:
    """Train a small encoder of photographs for shift laid.

    It learns from captions that name an image's class and the operation applied to it; several sources give
    more classes. 52,000 images take eight minutes of processor time. (The encoder of the embedded digits
    needs no such command: it is trained when it is used.)

    Example: unseen shift encoder cifar10.zip cifar100.zip --out encoder.safetensors
    """
    from starter.encoders.embedded import photo_encoder
    from starter.sources.sources import load_source

    if out.exists():
        raise UnusableInput(f"{out} exists already: name another file, or take it away")
    splits = [load_source(source, data_root, seed) for source in sources]
    encoder = photo_encoder([(each.train, each.classes) for each in splits], out, seed)
    echo(f"{encoder.name}: {len(encoder.phrases[0])} classes\n{out}")
