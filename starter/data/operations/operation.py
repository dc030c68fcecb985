"""Operation: the form of every pixel operation, and the parts that operations are made of."""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

#: Magnitudes of operations by name, arrays whose first axis is the image.
Magnitudes = Mapping[str, Any]
Params = Mapping[str, Any]

Apply = Callable[[Tensor, Magnitudes, Generator], Tensor]
Draw = Callable[[Generator, int], Magnitudes]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation: an integer or a number from `low` to `high`, bounds included."""

    kind: type
    low: float
    high: float = math.inf

    def __call__(self, value: object) -> str | None:
        """Returns the fault of `value` in words that follow the parameter's name; None if it has none."""
        noun = "an integer" if self.kind is int else "a number"
        types = (int,) if self.kind is int else (int, float)
        fits = isinstance(value, types) and not isinstance(value, bool)
        if fits and self.low <= value <= min(self.high, sys.float_info.max):  # type: ignore[operator]
            return None
        span = f"from {self.low} to {self.high}" if math.isfinite(self.high) else f"of at least {self.low}"
        return f"must be {noun} {span}, got {value!r}"

    def draw(self, rng: Generator, strength: float = 1.0) -> int:
        """Draw an integer uniformly from `low` to `low` + `strength` * (`high` - `low`), which is finite."""
        high = self.low + strength * (self.high - self.low)
        return int(rng.integers(int(self.low), int(high), endpoint=True))


STRENGTH = {"strength": Parameter(float, 0, 1)}


def uniform(**ranges: tuple[float, float]) -> Draw:
    """Returns a function that draws each of these magnitudes uniformly from its range, in this order."""
    return lambda rng, n: {name: rng.uniform(*span, n) for name, span in ranges.items()}


NO_MAGNITUDES = uniform()


@dataclass(frozen=True)
class Operation:
    """A pixel operation on every image of a set, with magnitudes (n, ...) from `draw`.

    `apply` takes images uint8 (b, 3, h, w), which it does not change, their magnitudes with the params, and
    the generator of their noise. A recipe gives all `parameters`. Magnitudes of `neutral` change an image
    hardly or not; with some, the optional param `strength` s makes them neutral + s * (drawn - neutral).
    """

    name: str
    apply: Apply
    draw: Draw = NO_MAGNITUDES
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    neutral: Mapping[str, float] = field(default_factory=dict)
    variant_of: str = ""

    @property
    def family(self) -> str:
        """Returns the name that the operation has in common with its variants alone."""
        return self.variant_of or self.name

    def draw_params(self, rng: Generator, strength: float = 1.0) -> Params:
        """Draw params uniformly; at a strength below 1, from the weaker part of their ranges."""
        params = {name: parameter.draw(rng, strength) for name, parameter in self.parameters.items()}
        return params | {"strength": strength} if self.neutral and strength < 1 else params

    @property
    def optional(self) -> Mapping[str, Parameter]:
        """Returns the params that a recipe may leave out, by name."""
        return STRENGTH if self.neutral else {}

    def magnitudes(self, rng: Generator, n: int, params: Params) -> Magnitudes:
        """Returns the magnitudes that `draw` draws for n images, at the strength given in `params`."""
        drawn = self.draw(rng, n)
        if "strength" not in params:
            return drawn
        weaker = {
            name: (neutral + params["strength"] * (drawn[name] - neutral)).astype(drawn[name].dtype)
            for name, neutral in self.neutral.items()
        }
        return {**drawn, **weaker}


def operation(
    table: dict[str, Operation], draw: Draw = NO_MAGNITUDES, **fields: Any
) -> Callable[[Apply], Apply]:
    """Returns a decorator that enters a function in a table, as the `Operation` of its name."""

    def enter(apply: Apply) -> Apply:
        name = apply.__name__.removeprefix("_")
        table[name] = Operation(name, apply, draw, **fields)
        return apply

    return enter


def compiled(kernel: Callable[..., None], images: Tensor, *others: Any) -> Tensor:
    """Returns the output of a kernel of `operations.kernels` on images (b, 3, h, w) and arrays (b, ...)."""
    images = images.contiguous()
    result = torch.empty_like(images)
    kernel(images.numpy(), *others, result.numpy())
    return result


#: Number of images that `by_tiles` takes at a time; results do not depend on it.
TILE = 50


def by_tiles(step: Callable[..., Tensor], images: Tensor, *others: Tensor) -> Tensor:
    """Returns `to_uint8` of `step`, which maps each image by itself: the few given at a time fit a cache."""
    result = torch.empty_like(images)
    tensors = (result, images, *others)
    for out, *part in zip(*(tensor.split(TILE) for tensor in tensors), strict=True):
        out.copy_(to_uint8(step(*part)))
    return result


def to_uint8(values: Tensor, above: float = 0.0) -> Tensor:
    """Returns float32 `values` + `above` clamped to 0..255 as uint8, fractions cut off."""
    return (values + above).to(torch.int16).clamp_(0, 255).to(torch.uint8)  # fastest by way of int16


def per_image(values: NDArray[Any]) -> Tensor:
    """Returns magnitudes (b,) or (b, 3) as float32 (b, 1 or 3, 1, 1), to be broadcast over images."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).view(len(values), -1, 1, 1)
