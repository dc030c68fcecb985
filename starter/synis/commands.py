"""The command `shift generate`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from submission.options import DataRoot, Device, EncoderSpec


def generate(
    out: Annotated[
        Path, Argument(metavar="OUT", file_okay=False, help="A new folder, or one of an interrupted run.")
    ],
    laid: Annotated[Path, Option(metavar="LAID", help="The folder that shift laid wrote.")],
    generator: Annotated[
        str,
        Option(help="glyphs, sdxl-turbo, the folder of such a pipeline, or module:function (runs its code)."),
    ] = "glyphs",
    labels: Annotated[
        Path | None, Option(help="A file with one label per line. [the source's classes]")
    ] = None,
    styles: Annotated[
        Path | None,
        Option(help='A CSV (name,prompt,negative), with "{object}" in each prompt. [the paper\'s 51 names]'),
    ] = None,
    per_cell: Annotated[int, Option(min=1, help="Number of images per cell.")] = 5000,
    encoder: EncoderSpec = "embedded",
    source: Annotated[str, Option(help="A source whose training images are the ID images.")] = "glyphs",
    semantic: Annotated[
        tuple[float, float] | None,
        Option(metavar="LOW HIGH", help="Shifts in meaning at levels 1 and 8. [those of the prompts]"),
    ] = None,
    covariate: Annotated[
        tuple[float, float] | None,
        Option(metavar="LOW HIGH", help="Shifts in style at levels 1 and 8. [those of the prompts]"),
    ] = None,
    size: Annotated[int, Option(help="SDXL-Turbo: height and width in pixels.")] = 512,
    steps: Annotated[int, Option(min=1, help="SDXL-Turbo: number of denoising steps.")] = 1,
    batch: Annotated[int, Option(min=1, help="Number of prompts at a time.")] = 8,
    licence: Annotated[str, Option(help="Licence of the images, for the datasheet.")] = "",
    seed: Annotated[int, Option(min=0, help="Seed of the draws.")] = 0,
    data_root: DataRoot = None,
    device: Device = "cpu",
) -> None:
    """Generate images whose shift grows step by step (Syn-IS).

    Every label is combined with every style. Writes a folder of images for each cell of the 8 x 8 grid of
    shifts in meaning and style, prompts.csv and DATASHEET.md. Run again to continue.

    Example: unseen shift generate synis --laid laid --per-cell 20
    """
    from starter.shift.ruler import read_laid
    from starter.sources.sources import load_source
    from starter.synis.build import Measure, build_grid
    from starter.synis.generators import choose_generator, choose_prompts

    chosen, matrix = read_laid(laid, encoder, device)
    splits, identity = load_source(source, data_root, seed), f"training images of {Path(source).name}"
    known = Measure(chosen, matrix, splits.train.images, identity)
    prompts = choose_prompts(generator, labels, styles, splits.classes)
    model = choose_generator(generator, device, size, steps)
    ends = (semantic, covariate)
    grid = build_grid(out, known, prompts, model, per_cell, ends, licence, seed, batch, device)
    cells = int((grid.counts > 0).sum())
    echo(f"{cells * per_cell:,} images in {cells} of {grid.counts.size} cells\n{out / 'DATASHEET.md'}")
