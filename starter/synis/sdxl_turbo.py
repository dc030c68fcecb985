"""SDXL-Turbo through diffusers: the generator of Long et al. 2024 (section 2.3)."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from starter.synis.prompts import Prompt
from submission.errors import UnusableInput

MODEL = "stabilityai/sdxl-turbo"


class SDXLTurbo:
    """A distilled text-to-image pipeline in one step, without guidance: it does not heed negative prompts.

    Each image has noise of its own from its prompt's seed, drawn on the CPU: it does not depend on the rest
    of its batch but for rounding.

    Args:
        model: a folder with the pipeline (model_index.json and what it names, safetensors only), or its name
            on the hub, from where diffusers downloads it.
        device: "cpu" or "cuda" (there in half precision).
        size: height and width in pixels; a multiple of 8.
        steps: denoising steps, 1 to 4 for this model.

    Raises:
        UnusableInput: the extra ``synis`` is not installed, or the pipeline cannot be loaded.
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
        except Exception as error:  # of several libraries
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise UnusableInput(f"{model} cannot be loaded as a text-to-image pipeline: {reason}") from error
        self.pipeline.set_progress_bar_config(disable=True)
        self.size, self.steps = size, steps
        self.name = f"{Path(model).name}, {steps} step{'s' * (steps > 1)}, {size} x {size} pixels"

    def generate(self, prompts: Sequence[Prompt]) -> NDArray[np.uint8]:
        """An image a prompt: (n, size, size, 3) uint8 RGB."""
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
