"""Images to try operations on, and their random draws played again for naive references."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import ndimage


class Tape:
    """A generator that keeps what it draws, and `replay(i)`, which gives image i's share of it once more."""

    def __init__(self, rng: Generator) -> None:
        self.rng, self.drawn = rng, list[NDArray[Any]]()

    def __getattr__(self, name: str) -> Callable[..., NDArray[Any]]:
        def draw(*args: Any, **kwargs: Any) -> NDArray[Any]:
            self.drawn.append(getattr(self.rng, name)(*args, **kwargs))
            return self.drawn[-1].copy()

        return draw

    def replay(self, row: int) -> "Replay":
        return Replay([values[row : row + 1] for values in self.drawn])


class Replay:
    def __init__(self, drawn: list[NDArray[Any]]) -> None:
        self.drawn = iter(drawn)

    def next(self) -> NDArray[Any]:
        """The next draw, without the axis of images."""
        return next(self.drawn)[0]

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> NDArray[Any]:
        drawn = next(self.drawn)
        return drawn.reshape(shape)


def photographs(n: int, height: int, width: int) -> NDArray[np.uint8]:
    """Coloured blobs with some texture, flat grey, black and white ones among them; (n, h, w, 3)."""
    rng = np.random.default_rng(3)
    smooth = ndimage.gaussian_filter(rng.uniform(0, 255, (n, height, width, 3)), (0, 3, 3, 0))
    images = 128 + 5 * (smooth - 128) + rng.normal(0, 12, (n, height, width, 3))
    images[1, :, : width // 2] = 130
    images[2, : height // 2] = 0
    images[3, : height // 2] = 255
    return images.clip(0, 255).astype(np.uint8)


def planar(images: NDArray[np.uint8]) -> torch.Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
