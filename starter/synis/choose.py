"""The generator that a command names."""

from pathlib import Path

from starter.classifiers.networks.user import user_function
from starter.synis.generators import FunctionGenerator, ImageGenerator
from starter.synis.glyph_generator import GLYPH_STYLES, MEANINGS, GlyphGenerator
from starter.synis.sdxl_turbo import MODEL, SDXLTurbo
from starter.synis.styles import STYLES, Style, read_styles
from submission.errors import UnusableInput
from submission.textfile import read_text

GLYPHS, TURBO = "glyphs", "sdxl-turbo"


def choose_generator(spec: str, device: str, size: int, steps: int) -> ImageGenerator:
    """The generator that `spec` names.

    Args:
        spec: "glyphs", which draws the embedded signs; "sdxl-turbo", which diffusers downloads; the folder of
            such a pipeline; or ``module:function``, prompts -> images: its code runs.
        device, size, steps: of `SDXLTurbo`.

    Raises:
        UnusableInput: there is no such generator.
    """
    if spec == GLYPHS:
        return GlyphGenerator()
    if ":" in spec and not Path(spec).exists():
        function = user_function(
            spec, "my_model:generate", "take prompts and return uint8 images (n, h, w, 3)"
        )
        return FunctionGenerator(spec, function)
    if spec != TURBO and not Path(spec).is_dir():
        raise UnusableInput(
            f"--generator {spec}: there is no such folder; give {GLYPHS}, {TURBO}, the folder of a pipeline, "
            "or module:function"
        )
    return SDXLTurbo(MODEL if spec == TURBO else spec, device, size, steps)


def choose_prompts(
    spec: str, labels: Path | None, styles: Path | None, classes: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Style, ...]]:
    """Labels and styles: those of the files, else what the generator "glyphs" can draw, or the source's
    classes in the paper's 51 styles.

    Raises:
        UnusableInput: a file cannot be read.
    """
    named = MEANINGS if spec == GLYPHS else classes
    if labels is not None:
        named = tuple(line.strip() for line in read_text(labels).splitlines() if line.strip())
    if spec == GLYPHS and (unknown := next((name for name in named if name not in MEANINGS), None)):
        raise UnusableInput(f"--labels: glyphs draws no {unknown!r}, but {', '.join(MEANINGS)}")
    if styles is not None:
        return named, read_styles(styles)
    return named, GLYPH_STYLES if spec == GLYPHS else STYLES
