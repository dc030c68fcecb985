"""Syn-IS: images generated from prompts, label x style, in a grid by the prompts' shift degrees.

Source: Long et al. 2024, section 2.3; the datasheet has the headings of Gebru et al., Datasheets for Datasets
(2021). The embedded signs need no network: they are drawn as the captions of the small encoder describe them.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from starter.contest.show import encode
from starter.data.sources.sources import load_source
from starter.models.classifiers.specs import user_function
from starter.models.encoders import Encoder
from starter.models.encoders.captions import FACES, PHRASES, drawn, shifted
from starter.studies.shift.grid import PROMPTS_FILE, ShiftGrid, shift_degrees
from starter.studies.shift.laid import Laid, read_laid, text_features
from submission.arrays import Pixels
from submission.errors import UnusableInput, unusable
from submission.files import claim_folder, read_lines, read_rows, write_bytes, write_text
from submission.progress import progress
from submission.random import GENERATED, SYNIS

DATASHEET = Path(__file__).with_name("datasheet.md")
OBJECT = "{object}"
BATCH = 8
"""Number of prompts per call of the generator."""


@dataclass(frozen=True)
class Style:
    """A template for prompts, with ``{object}`` for the label, and what the image must not show, or ""."""

    name: str
    template: str
    negative: str = ""

    def prompt(self, label: str) -> str:
        """Returns the prompt for a label."""
        return self.template.replace(OBJECT, label)


def read_styles(path: Path) -> tuple[Style, ...]:
    """Returns styles from a CSV: name, prompt (with ``{object}``) and, optionally, negative."""
    styles: dict[str, Style] = {}
    for line, row in read_rows(path, ("name", "prompt")):
        if not row["name"] or OBJECT not in row["prompt"]:
            raise unusable(path, f"line {line}: needs a name, and a prompt with {OBJECT} in it")
        styles[row["name"]] = Style(row["name"], row["prompt"], row.get("negative", ""))
    return tuple(styles.values())


STYLES = read_styles(Path(__file__).with_name("styles.csv"))
"""The 51 styles of Long et al. 2024, appendix D, by name; SDXL's templates for them may not be shipped."""


@dataclass(frozen=True)
class Prompt:
    """The input from which one image is generated; the fields are the columns of ``prompts.csv``."""

    file: str
    label: str
    style: str
    prompt: str
    negative: str
    seed: int  # of the generator's noise, in [0, 2^53)


def plan(
    labels: Sequence[str], styles: Sequence[Style], levels: NDArray[np.integer], per_cell: int, seed: int
) -> tuple[Prompt, ...]:
    """Draw `per_cell` prompts for each cell, without replacement while there are new ones.

    `levels` are the semantic and covariate level of each label in each style, (labels * styles, 2), label by
    label, below 0 outside the grid. A cell's images depend only on the seed and on the cell's prompts.
    """
    found = []
    for semantic, covariate in sorted({(int(s), int(c)) for s, c in levels if min(s, c) >= 0}):
        members = np.flatnonzero((levels[:, 0] == semantic) & (levels[:, 1] == covariate))
        rng = SYNIS(seed, semantic, covariate)
        rounds = -(-per_cell // len(members))
        indices = np.concatenate([rng.permutation(members) for _ in range(rounds)])[:per_cell]
        for number, (index, noise) in enumerate(
            zip(indices, rng.integers(2**53, size=per_cell), strict=True)
        ):
            label, style = labels[index // len(styles)], styles[index % len(styles)]
            file = f"s{semantic + 1}_c{covariate + 1}/{number:05}.png"
            text = style.prompt(label)
            found.append(Prompt(file, label, style.name, text, style.negative, int(noise)))
    return tuple(found)


GLYPHS, RETURNS = "glyphs", "return uint8 images (n, height, width, 3)"
MEANINGS, *COVARIATES = PHRASES
USUAL = (FACES.index("dejavu"), 0, 0, 0)
"""The default face, backdrop, look and operation, for a prompt that does not name them."""
GLYPH_STYLES = tuple(Style(phrase, f"{OBJECT}, {phrase}") for phrases in COVARIATES for phrase in phrases)


def draw_glyphs(prompts: Sequence[Prompt]) -> Pixels:
    """Returns images (n, 32, 32, 3) of prompts such as "greek, outline look, with fog"."""
    return np.concatenate([_image(prompt) for prompt in prompts])


def _image(prompt: Prompt) -> Pixels:
    meaning, *covariates = (phrase.strip() for phrase in prompt.prompt.split(","))
    if meaning not in MEANINGS:
        raise UnusableInput(
            f"the generator glyphs cannot draw {prompt.prompt!r}: a prompt begins with one of "
            f"{', '.join(MEANINGS)}, and a comma"
        )
    face, backdrop, look, shift = (
        next((phrases.index(each) for each in covariates if each in phrases), usual)
        for phrases, usual in zip(COVARIATES, USUAL, strict=True)
    )
    rng = GENERATED(prompt.seed)
    images = drawn(np.array([MEANINGS.index(meaning)]), (face, backdrop, look), rng)
    return shifted(images, shift, rng)


Generator = Callable[[Sequence[Prompt]], Any]
"""A function from n prompts to their images, uint8 RGB (n, h, w, 3), the same for the same prompts."""


def choose_generator(spec: str) -> tuple[str, Generator]:
    """Returns the name and the function of "glyphs", or of the user's ``module:function``."""
    if spec == GLYPHS:
        return "glyphs, 32 x 32 pixels", draw_glyphs
    return spec, user_function(spec, "my_model:generate", f"take prompts and {RETURNS}")


def generate(name: str, generator: Generator, prompts: Sequence[Prompt]) -> Pixels:
    """Returns the generator's images of the prompts, of the right shape and type."""
    try:
        images = generator(prompts)
    except UnusableInput:
        raise
    except Exception as error:
        raise UnusableInput(f"{name} fails: {type(error).__name__}: {error}") from error
    kind, shape = getattr(images, "dtype", type(images).__name__), getattr(images, "shape", ())
    if kind != np.uint8 or shape != (len(prompts), *shape[1:3], 3):
        raise UnusableInput(f"{name} must {RETURNS} of {len(prompts)} prompts, got {kind} {shape}")
    return images


def choose_prompts(
    spec: str, labels: Path | None, styles: Path | None, classes: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Style, ...]]:
    """Returns the labels and styles of the files, or else those of the generator or the source."""
    objects, looks = (MEANINGS, GLYPH_STYLES) if spec == GLYPHS else (classes, STYLES)
    objects = tuple(dict.fromkeys(read_lines(labels))) if labels else objects
    return objects, read_styles(styles) if styles else looks


@dataclass(frozen=True)
class Request:
    """What is to be generated, `per_cell` images per cell; paths of files may stay None."""

    generator: str = GLYPHS
    labels: Path | None = None
    styles: Path | None = None
    per_cell: int = 5000
    licence: str = ""
    seed: int = 0


def synis(
    out: Path,
    laid: Path,
    request: Request,
    *,
    encoder: str = "embedded",
    source: str = "glyphs",
    device: str = "cpu",
) -> str:
    """Write a grid of generated images, and return a text that counts them. An interrupted run continues."""
    name, draw = choose_generator(request.generator)
    eyes, matrix = read_laid(laid, encoder, device)
    splits = load_source(source, request.seed)
    known = splits.train.images
    labels, styles = choose_prompts(request.generator, request.labels, request.styles, splits.classes)
    texts = [style.prompt(label) for label in labels for style in styles]
    grid = prompt_grid(eyes, matrix, known, texts, device)
    prompts = plan(labels, styles, grid.levels.T, request.per_cell, request.seed)
    sheet = datasheet(
        prompts,
        grid,
        identity=f"{len(known):,} training images of {Path(source).name}",
        encoder=eyes.name,
        generator=name,
        seed=request.seed,
        licence=request.licence or "not stated; it follows from the generator's",
    )
    write_grid(out, prompts, name, draw, sheet)
    cells = int((grid.counts > 0).sum())
    images = cells * request.per_cell
    return f"{images:,} images in {cells} of {grid.counts.size} cells\n{out / 'DATASHEET.md'}"


def prompt_grid(
    encoder: Encoder, laid: Laid, known: Pixels, texts: Sequence[str], device: str = "cpu"
) -> ShiftGrid:
    """Returns the levels of prompts, by the distances of their text features to those of the ID images."""
    reference = laid.decompose(encoder.encode_images(known))
    features = text_features(encoder, texts, ("{}",))[:, 0]
    return ShiftGrid.of(shift_degrees(laid.decompose(features), reference, device))


def datasheet(prompts: Sequence[Prompt], grid: ShiftGrid, **facts: str | int) -> str:
    """Returns the datasheet as Markdown, with numbers counted from the plan."""
    cells = len({prompt.file.partition("/")[0] for prompt in prompts})
    semantic, covariate = (f"{ends[0]:.4f} to {ends[-1]:.4f}" for ends in grid.edges)
    return DATASHEET.read_text(encoding="utf-8").format(
        images=len(prompts),
        labels=len({prompt.label for prompt in prompts}),
        styles=len({prompt.style for prompt in prompts}),
        cells=cells,
        per_cell=len(prompts) // max(cells, 1),
        semantic=semantic,
        covariate=covariate,
        **facts,
    )


def write_grid(out: Path, prompts: Sequence[Prompt], name: str, generator: Generator, sheet: str) -> None:
    """Write each image as ``<cell>/<number>.png``; a batch that lacks one is generated again as a whole."""
    table = pd.DataFrame(prompts).to_csv(index=False, lineterminator="\n")
    digest = hashlib.sha256(f"{BATCH}\n{name}\n{table}".encode()).hexdigest()
    claim_folder(out, f"Syn-IS {digest}\n")
    write_text(out / PROMPTS_FILE, table)
    batches = [prompts[start : start + BATCH] for start in range(0, len(prompts), BATCH)]
    missing = [each for each in batches if not all((out / prompt.file).is_file() for prompt in each)]
    with progress(total=len(prompts), unit="images", title="Syn-IS") as bar:
        bar.update(len(prompts) - sum(map(len, missing)))
        for each in missing:
            for prompt, image in zip(each, generate(name, generator, each), strict=True):
                write_bytes(out / prompt.file, encode(".png", image))
            bar.update(len(each))
    write_text(out / "DATASHEET.md", sheet)
