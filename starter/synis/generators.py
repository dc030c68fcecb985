"""What makes images of prompts: SDXL-Turbo, or any function of the user's."""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from starter.synis.prompts import Prompt
from submission.errors import UnusableInput

Images = NDArray[np.uint8]


class ImageGenerator(Protocol):
    """A text-to-image model.

    Attributes:
        name: what the datasheet calls it: model, steps, size.
    """

    name: str

    def generate(self, prompts: Sequence[Prompt]) -> Images:
        """An image a prompt: (n, h, w, 3) uint8 RGB. The same prompts give the same images."""


class FunctionGenerator:
    """A function prompts -> images, (n, h, w, 3) uint8, under a name."""

    def __init__(self, name: str, function: Callable[[Sequence[Prompt]], object]) -> None:
        self.name, self.function = name, function

    def generate(self, prompts: Sequence[Prompt]) -> Images:
        """What the function returns, which `generated` checks.

        Raises:
            UnusableInput: it fails.
        """
        try:
            return cast(Images, self.function(prompts))
        except Exception as error:
            raise UnusableInput(f"{self.name} fails: {type(error).__name__}: {error}") from error


def generated(generator: ImageGenerator, prompts: Sequence[Prompt]) -> Images:
    """The generator's images, checked.

    Raises:
        UnusableInput: they are not (n, h, w, 3) uint8 with an image a prompt.
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
