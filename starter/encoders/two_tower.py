"""TwoTower: a small encoder of images (convolutions) and of texts (a bag of known words) into one space."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import safetensors
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import normalize

from starter.classifiers.weights import with_sorted_header
from starter.encoders.encoder import Floats
from submission.errors import UnusableInput
from submission.files import replacing

LENGTH = 128
"""Of the features."""
WIDTHS = (16, 32, 64, 64)
STRIDES = (2, 1, 2, 2)
WORD = 128
_BATCH = 500


class TwoTower(nn.Module):
    """Four 3 x 3 convolutions of `widths` with batch normalisation; a linear map of the sum of words'
    vectors, so that a meaning and a style add up in a text's features."""

    def __init__(self, words: int, length: int = LENGTH, widths: Sequence[int] = WIDTHS) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*map(_block, (3, *widths[:-1]), widths, STRIDES))
        self.project = nn.Linear(widths[-1], length, bias=False)
        self.centre = nn.BatchNorm1d(length, affine=False)
        self.word = nn.Embedding(words + 1, WORD, padding_idx=0)
        self.linear = nn.Linear(WORD, length, bias=False)
        self.scale = nn.Parameter(torch.tensor(2.3))

    def images(self, pixels: Tensor) -> Tensor:
        """uint8 (n, 3, h, w) -> unit rows (n, l)."""
        inputs = (pixels.float() / 63.75 - 2).contiguous(memory_format=torch.channels_last)
        return normalize(self.centre(self.project(self.blocks(inputs).mean((2, 3)))))

    def texts(self, words: Tensor) -> Tensor:
        """Numbers of words (m, w), 0 for none -> unit rows (m, l)."""
        return normalize(self.linear(self.word(words).sum(1)))


def _block(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case: letters and digits."""
    return re.findall(r"[a-z0-9]+", text.lower())


@dataclass(frozen=True, eq=False)
class TwoTowerEncoder:
    """A trained TwoTower as an `Encoder`.

    Attributes:
        network: in evaluation mode, on the CPU.
        phrases: of the captions it was trained on, by attribute: the first are meanings, the others
            covariates. Their words are those it knows.
    """

    network: TwoTower
    phrases: tuple[tuple[str, ...], ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Each known word's number, from 1."""
        return vocabulary(self.phrases)

    @cached_property
    def name(self) -> str:
        """`two-tower-` and twelve digits of the SHA-256 of its file."""
        return f"two-tower-{hashlib.sha256(self._bytes()).hexdigest()[:12]}"

    @torch.inference_mode()
    def encode_images(self, images: NDArray[np.uint8]) -> Floats:
        """See `Encoder`; images of any size from 8 x 8."""
        parts = np.split(images, range(_BATCH, len(images), _BATCH))
        pixels = (torch.from_numpy(part.copy()).permute(0, 3, 1, 2) for part in parts)
        return torch.cat([self.network.images(part) for part in pixels]).numpy()

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """See `Encoder`. Word order does not count, nor do unknown words.

        Raises:
            UnusableInput: a text has no known word.
        """
        rows = [[self.numbers[word] for word in words_of(text) if word in self.numbers] for text in texts]
        for text, row in zip(texts, rows, strict=True):
            if not row:
                raise UnusableInput(
                    f"the small encoder knows no word of {text!r}: it knows those of its captions"
                )
        return self.network.texts(padded(rows)).numpy()

    def save(self, path: Path) -> None:
        """Write it as safetensors, atomically; the same encoder gives the same bytes."""
        with replacing(path) as temporary:
            temporary.write_bytes(self._bytes())

    @classmethod
    def load(cls, path: Path) -> "TwoTowerEncoder":
        """What `save` wrote. Raises UnusableInput where it is not that."""
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                phrases = tuple(map(tuple, json.loads((file.metadata() or {})["phrases"])))
            widths = [len(tensors[f"blocks.{block}.0.weight"]) for block in range(len(STRIDES))]
            network = TwoTower(len(vocabulary(phrases)), len(tensors["project.weight"]), widths)
            network.load_state_dict(tensors)
        except (OSError, KeyError, ValueError, TypeError, RuntimeError, safetensors.SafetensorError) as error:
            raise UnusableInput(f"{path} is no encoder of the kit: {str(error).splitlines()[0]}") from error
        return cls(network.eval(), phrases)

    def _bytes(self) -> bytes:
        tensors = {name: tensor.contiguous() for name, tensor in self.network.state_dict().items()}
        return with_sorted_header(save(tensors, {"phrases": json.dumps(self.phrases)}))


def vocabulary(phrases: Sequence[Sequence[str]]) -> dict[str, int]:
    """The words of all phrases with their numbers, from 1, in alphabetical order."""
    words = {word for some in phrases for phrase in some for word in words_of(phrase)}
    return {word: number for number, word in enumerate(sorted(words), 1)}


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of numbers as int64 (n, w), filled up with 0."""
    width = max(1, *map(len, rows))
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
