"""TwoTower: a small encoder of images (convolutions) and of texts (a bag of known words) into one space."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR

from starter.data.sources.sources import load_source
from starter.models.classifiers.networks.small import STRIDES, WIDTHS, block
from starter.models.classifiers.weights import WeightsFile, with_sorted_header
from starter.models.encoders.captions import Captioned, captioned_glyphs, captioned_photos
from submission.arrays import FloatArray, IntArray, Pixels
from submission.errors import UnusableInput, unusable, why
from submission.files import write_bytes
from submission.progress import progress
from submission.random import CONTRASTIVE

LENGTH = 128
IMAGES, EPOCHS = 24_000, (4, 4)
"""Numbers of embedded glyphs, and of passes over the easy images and then over all."""
PHOTO_EPOCHS, PHOTO_WIDTHS = (2, 10), (32, 64, 128, 128)
WORD = 128
_BATCH = 500


class TwoTower(nn.Module):
    """Two towers: four 3 x 3 convolutions for images, a linear map of the sum of word vectors for texts."""

    def __init__(self, words: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*map(block, (3, *widths[:-1]), widths, STRIDES))
        self.project = nn.Linear(widths[-1], LENGTH, bias=False)
        self.centre = nn.BatchNorm1d(LENGTH, affine=False)
        self.word = nn.Embedding(words + 1, WORD, padding_idx=0)
        self.linear = nn.Linear(WORD, LENGTH, bias=False)
        self.scale = nn.Parameter(torch.tensor(2.3))

    def images(self, pixels: Tensor) -> Tensor:
        """Returns the features of images, uint8 (n, 3, h, w), as unit rows (n, l)."""
        inputs = (pixels.float() / 63.75 - 2).contiguous(memory_format=torch.channels_last)
        return normalize(self.centre(self.project(self.blocks(inputs).mean((2, 3)))))

    def texts(self, words: Tensor) -> Tensor:
        """Returns the features of texts, given as word numbers (m, w), 0 for none, as unit rows (m, l)."""
        return normalize(self.linear(self.word(words).sum(1)))


def words_of(text: str) -> list[str]:
    """Returns the words of a text, in lower case: letters and digits."""
    return re.findall(r"[a-z0-9]+", text.lower())


@dataclass(frozen=True, eq=False)
class TwoTowerEncoder:
    """A trained TwoTower, in evaluation mode on the CPU, as an `Encoder`; it knows the words of `phrases`."""

    network: TwoTower
    phrases: tuple[tuple[str, ...], ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of each known word, from 1."""
        return vocabulary(self.phrases)

    @cached_property
    def name(self) -> str:
        """`two-tower-` and twelve digits of the SHA-256 of its file."""
        return f"two-tower-{hashlib.sha256(self._bytes()).hexdigest()[:12]}"

    @torch.inference_mode()
    def encode_images(self, images: Pixels) -> FloatArray:
        """See `Encoder`; images of any size from 8 x 8."""
        parts = np.split(images, range(_BATCH, len(images), _BATCH))
        pixels = (torch.from_numpy(part.copy()).permute(0, 3, 1, 2) for part in parts)
        return torch.cat([self.network.images(part) for part in pixels]).numpy()

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """See `Encoder`. Word order and unknown words are ignored; a text without a known word is refused."""
        rows = [[self.numbers[word] for word in words_of(text) if word in self.numbers] for text in texts]
        for text, row in zip(texts, rows, strict=True):
            if not row:
                raise UnusableInput(
                    f"the small encoder knows no word of {text!r}, only its captions' words: name another by "
                    "--encoder"
                )
        return self.network.texts(padded(rows)).numpy()

    def save(self, path: Path) -> None:
        """Write it as safetensors, atomically; the same encoder gives the same bytes."""
        write_bytes(path, self._bytes())

    @classmethod
    def load(cls, path: Path) -> "TwoTowerEncoder":
        """Returns the encoder in a file of `save`."""
        file = WeightsFile.read(path)
        try:
            phrases = tuple(map(tuple, json.loads(file.metadata["phrases"])))
            widths = [len(file.tensors[f"blocks.{number}.0.weight"]) for number in range(len(STRIDES))]
            network = TwoTower(len(vocabulary(phrases)), widths)
            network.load_state_dict(file.tensors)
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise unusable(path, f"no encoder of the kit ({why(error)})") from error
        return cls(network.eval(), phrases)

    def _bytes(self) -> bytes:
        tensors = {name: tensor.contiguous() for name, tensor in self.network.state_dict().items()}
        return with_sorted_header(save(tensors, {"phrases": json.dumps(self.phrases)}))


def vocabulary(phrases: Sequence[Sequence[str]]) -> dict[str, int]:
    """Returns the words of all phrases with their numbers, from 1, in alphabetical order."""
    words = {word for some in phrases for phrase in some for word in words_of(phrase)}
    return {word: number for number, word in enumerate(sorted(words), 1)}


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Returns rows of numbers as int64 (n, w), filled up with 0."""
    width = max(1, *map(len, rows))
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])


BATCH = 64
IMAGE_RATE, TEXT_RATE = 0.1, 3e-3
"""Peak learning rates of SGD for the image tower and of Adam for the text tower."""
MENTIONED = 0.5
"""Probability that a caption mentions a covariate."""


def contrastive_loss(images: Tensor, texts: Tensor, fits: Tensor, scale: Tensor) -> Tensor:
    """Returns the mean cross-entropies of images (b, l) over captions (c, l) and of captions over images.

    All are unit rows, their cosines times `scale` are the logits. The target is uniform over all matches,
    True in `fits` (b, c), of which every row and column has at least one.
    """
    logits, wanted = scale * images @ texts.T, fits.float()
    rows = (logits.log_softmax(1) * wanted).sum(1) / wanted.sum(1)
    columns = (logits.log_softmax(0) * wanted).sum(0) / wanted.sum(0)
    return -(rows.mean() + columns.mean()) / 2


def train_encoder(
    data: Captioned, seed: int = 0, epochs: tuple[int, int] = EPOCHS, widths: Sequence[int] = WIDTHS
) -> TwoTowerEncoder:
    """Train an encoder on captioned images, in passes over the easy ones, and then over all."""
    words = vocabulary(data.phrases)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TwoTower(len(words), widths).to(memory_format=torch.channels_last).train()
    tables = [padded([*[[words[w] for w in words_of(p)] for p in some], []]) for some in data.phrases]
    pixels, values = torch.from_numpy(data.images).permute(0, 3, 1, 2), torch.from_numpy(data.values)
    rng = CONTRASTIVE(seed)
    batches = list(_batches(data, epochs, rng))
    optimisers = _optimisers(network, len(batches))
    for chosen in progress(batches, "train encoder", unit="batches"):
        features, here = network.images(pixels[chosen]), values[chosen]
        meaning = (torch.arange(here.shape[1]) == 0).expand_as(here)
        mentioned = torch.from_numpy(rng.random(here.shape) < MENTIONED) & (here >= 0) | meaning
        loss = _loss(network, features, here, meaning, tables)
        loss = loss + _loss(network, features, here, mentioned, tables)
        network.zero_grad()
        loss.backward()
        for optimiser, schedule in optimisers:
            optimiser.step()
            schedule.step()
    return TwoTowerEncoder(network.eval(), data.phrases)


def _batches(data: Captioned, epochs: tuple[int, int], rng: Generator) -> Iterator[IntArray]:
    """Returns indices of the images of each step."""
    stages = (np.flatnonzero(data.easy), np.arange(len(data.images)))
    for images, count in zip(stages, epochs, strict=True):
        for _ in range(count):
            order = rng.permutation(images)
            yield from (order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH))


def _optimisers(network: TwoTower, steps: int) -> list[tuple[Optimizer, LRScheduler]]:
    image = [*network.blocks.parameters(), *network.project.parameters()]
    text = [network.scale, *network.word.parameters(), *network.linear.parameters()]
    sgd = torch.optim.SGD(image, IMAGE_RATE, momentum=0.9, weight_decay=5e-4, nesterov=True)
    adam = torch.optim.AdamW(text, TEXT_RATE, weight_decay=1e-2)
    return [(part, OneCycleLR(part, rate, steps)) for part, rate in ((sgd, IMAGE_RATE), (adam, TEXT_RATE))]


def _loss(
    network: TwoTower, images: Tensor, values: Tensor, mentioned: Tensor, tables: list[Tensor]
) -> Tensor:
    """Returns the contrastive loss of images and of captions with the attributes `mentioned`, bool (b, a)."""
    columns = torch.where(mentioned, values, -1).T
    words = torch.cat([table[column] for table, column in zip(tables, columns, strict=True)], 1)
    fits = ((values[:, None] == values[None]) | ~mentioned[None]).all(2)
    return contrastive_loss(images, network.texts(words), fits, network.scale.exp().clamp(max=50))


def photo_encoder(sources: Sequence[str], *, out: Path, seed: int = 0) -> str:
    """Train a small encoder of photographs, write it, and return a text that describes it."""
    if out.exists():
        raise UnusableInput(f"{out} exists already: name another file, or take it away")
    if list(sources) == ["glyphs"]:
        found = train_encoder(captioned_glyphs(IMAGES, seed), seed)
    else:
        splits = [load_source(source, seed) for source in sources]
        sets = [(each.train, each.classes) for each in splits]
        found = train_encoder(captioned_photos(sets, seed), seed, PHOTO_EPOCHS, PHOTO_WIDTHS)
    found.save(out)
    return f"{found.name}: {len(found.phrases[0])} classes\n{out}"
