"""Generators of images from prompts: SDXL-Turbo, the embedded signs, or any function of the user's.

SDXL-Turbo, by way of diffusers, is the generator of Long et al. 2024 (section 2.3). The embedded signs need
no network: they are drawn as the captions of the small encoder describe them. `choose_generator` returns the
generator that a command names.
"""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from starter.classifiers.networks.user import user_function
from starter.encoders.captions import FACES, PHRASES, drawn, shifted
from starter.synis.prompts import OBJECT, STYLES, Prompt, Style, read_styles
from submission.arrays import Pixels
from submission.errors import UnusableInput
from submission.files import read_text
from submission.random import GENERATED


class ImageGenerator(Protocol):
    """A text-to-image model.

    Attributes:
        name: Name in the datasheet, with model, steps and size.
    """

    name: str

    def generate(self, prompts: Sequence[Prompt]) -> Pixels:
        """Returns an image for each prompt, uint8 RGB (n, h, w, 3); the same prompts give the same images."""


class FunctionGenerator:
    """A function from prompts to images, uint8 (n, h, w, 3), with a name."""

    def __init__(self, name: str, function: Callable[[Sequence[Prompt]], object]) -> None:
        self.name, self.function = name, function

    def generate(self, prompts: Sequence[Prompt]) -> Pixels:
        """Returns the result of the user's function; `generated` checks it.

        Raises:
            UnusableInput: The function fails.
        """
        try:
            return cast(Pixels, self.function(prompts))
        except Exception as error:
            raise UnusableInput(f"{self.name} fails: {type(error).__name__}: {error}") from error


def generated(generator: ImageGenerator, prompts: Sequence[Prompt]) -> Pixels:
    """Returns the generator's images after a check.

    Raises:
        UnusableInput: They are not uint8 (n, h, w, 3) with one image for each prompt.
    """
    images = generator.generate(prompts)
    shape: tuple[int, ...] = getattr(images, "shape", ())
    kind = getattr(images, "dtype", type(images).__name__)
    if len(shape) != 4 or shape[0] != len(prompts) or shape[3] != 3 or not min(shape) or kind != np.uint8:
        raise UnusableInput(
            f"{generator.name} must return uint8 images ({len(prompts)}, height, width, 3), "
            f"got {kind} {shape}"
        )
    return images


MEANINGS, *COVARIATES = PHRASES
USUAL = (FACES.index("dejavu"), 0, 0, 0)
"""The default face, backdrop, look and operation, for a prompt that does not name them."""
GLYPH_STYLES = tuple(Style(phrase, f"{OBJECT}, {phrase}") for phrases in COVARIATES for phrase in phrases)
"""A style for each covariate phrase."""


class GlyphGenerator:
    """A generator that draws prompts such as "greek, outline look, with fog", at 32 x 32 pixels.

    A prompt is a meaning followed by covariates.
    """

    name = "glyphs, 32 x 32 pixels"

    def generate(self, prompts: Sequence[Prompt]) -> NDArray[np.uint8]:
        """Returns an image for each prompt, uint8 (n, 32, 32, 3); negative prompts have no effect.

        Raises:
            UnusableInput: A prompt does not begin with a meaning of the captions.
        """
        return np.concatenate([_image(prompt) for prompt in prompts])


def _image(prompt: Prompt) -> NDArray[np.uint8]:
    meaning, *told = (phrase.strip() for phrase in prompt.text.split(","))
    if meaning not in MEANINGS:
        raise UnusableInput(
            f"the generator glyphs cannot draw {prompt.text!r}: a prompt begins with one of "
            f"{', '.join(MEANINGS)}, and a comma"
        )
    face, backdrop, look, shift = (
        next((phrases.index(each) for each in told if each in phrases), usual)
        for phrases, usual in zip(COVARIATES, USUAL, strict=True)
    )
    rng = GENERATED(prompt.seed)
    images = drawn(np.array([MEANINGS.index(meaning)]), (face, backdrop, look), rng)
    return shifted(images, shift, rng)


MODEL = "stabilityai/sdxl-turbo"


class SDXLTurbo:
    """SDXL-Turbo: a text-to-image pipeline for a single step, without guidance or negative prompts.

    Paper: Sauer et al., Adversarial Diffusion Distillation, arXiv 2311.17042. Each image starts from noise
    drawn on the CPU with its prompt's seed, so that it depends on the rest of its batch by rounding only.

    Args:
        model: Folder of the pipeline (model_index.json and the files that it names, safetensors only), or its
            name on the hub, from which diffusers downloads it.
        device: "cpu", or "cuda" in half precision.
        size: Height and width in pixels; a multiple of 8.
        steps: Number of denoising steps, 1 to 4 for this model.

    Raises:
        UnusableInput: The extra ``synis`` is not installed, or the pipeline cannot be loaded.
    """

    def __init__(self, model: str = MODEL, device: str = "cpu", size: int = 512, steps: int = 1) -> None:
        if importlib.util.find_spec("diffusers") is None or importlib.util.find_spec("transformers") is None:
            raise UnusableInput('SDXL-Turbo needs diffusers: pip install "unseen[synis]"')
        if size < 8 or size % 8:
            raise UnusableInput(f"--size must be a multiple of 8, got {size}")
        from diffusers import AutoPipelineForText2Image

        kind = torch.float32 if device == "cpu" else torch.float16
        try:
            pipeline = AutoPipelineForText2Image.from_pretrained(
                model, torch_dtype=kind, use_safetensors=True
            )
            self.pipeline = pipeline.to(device)
        except Exception as error:  # raised by several libraries
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise UnusableInput(f"{model} cannot be loaded as a text-to-image pipeline: {reason}") from error
        self.pipeline.set_progress_bar_config(disable=True)
        self.size, self.steps = size, steps
        self.name = f"{Path(model).name}, {steps} step{'s' * (steps > 1)}, {size} x {size} pixels"

    def generate(self, prompts: Sequence[Prompt]) -> NDArray[np.uint8]:
        """Returns an image for each prompt, uint8 RGB (n, size, size, 3)."""
        output = self.pipeline(
            prompt=[prompt.text for prompt in prompts],
            num_inference_steps=self.steps,
            guidance_scale=0.0,
            height=self.size,
            width=self.size,
            generator=[torch.Generator().manual_seed(prompt.seed) for prompt in prompts],
            output_type="np",
        )
        return (output.images * 255).round().astype(np.uint8)


GLYPHS, TURBO = "glyphs", "sdxl-turbo"


def choose_generator(spec: str, device: str, size: int, steps: int) -> ImageGenerator:
    """Returns the generator that `spec` names.

    Args:
        spec: "glyphs", which draws the embedded signs; "sdxl-turbo", which diffusers downloads; the folder of
            such a pipeline; or ``module:function``, prompts -> images, which runs the user's code.
        device: Device of `SDXLTurbo`.
        size: Height and width of `SDXLTurbo`'s images in pixels.
        steps: Number of denoising steps of `SDXLTurbo`.

    Raises:
        UnusableInput: There is no such generator.
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
    """Returns the labels and styles of the files, or else those of the generator or the source.

    The generator "glyphs" has its own labels; others draw the source's classes in the paper's 51 styles.

    Raises:
        UnusableInput: A file cannot be read.
    """
    named = MEANINGS if spec == GLYPHS else classes
    if labels is not None:
        named = tuple(line.strip() for line in read_text(labels).splitlines() if line.strip())
    if spec == GLYPHS and (unknown := next((name for name in named if name not in MEANINGS), None)):
        raise UnusableInput(f"--labels: glyphs draws no {unknown!r}, but {', '.join(MEANINGS)}")
    if styles is not None:
        return named, read_styles(styles)
    return named, GLYPH_STYLES if spec == GLYPHS else STYLES
