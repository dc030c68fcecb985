"""Training a two-tower encoder: each image is to be nearest to the captions that fit it, and they to it."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR
from tqdm import tqdm

from starter.encoders.captions import Captioned
from starter.encoders.two_tower import WIDTHS, TwoTower, TwoTowerEncoder, padded, vocabulary, words_of
from starter.sets.recipe import generator

EPOCHS = (4, 4)
"""Passes over the easy images, and then over all."""
BATCH = 64
IMAGE_RATE, TEXT_RATE = 0.1, 3e-3
"""Peaks of the learning rates: of SGD for the image tower, of Adam for the text tower."""
TOLD = 0.5
"""The share of captions that mention a covariate."""


def contrastive_loss(images: Tensor, texts: Tensor, fits: Tensor, scale: Tensor) -> Tensor:
    """Cross-entropy of each image over the captions, and of each caption over the images, with equal shares
    for all that fit.

    Args:
        images, texts: unit rows (b, l), (c, l).
        fits: bool (b, c), whether the caption says nothing wrong of the image; every row and column has one.
        scale: of the cosines.
    """
    logits, wanted = scale * images @ texts.T, fits.float()
    rows = (logits.log_softmax(1) * wanted).sum(1) / wanted.sum(1)
    columns = (logits.log_softmax(0) * wanted).sum(0) / wanted.sum(0)
    return -(rows.mean() + columns.mean()) / 2


def train_encoder(
    data: Captioned,
    seed: int = 0,
    epochs: tuple[int, int] = EPOCHS,
    widths: Sequence[int] = WIDTHS,
    progress: bool = True,
) -> TwoTowerEncoder:
    """Train on captioned images: half of the loss is that of captions of the meaning alone.

    The same seed and number of threads give the same weights on the same machine.

    Args:
        data: images with their attributes.
        seed: of weights, order and captions.
        epochs: passes over the easy images, and then over all.
        widths: channels of the image tower's four convolutions.
        progress: show a tqdm bar.
    """
    words = vocabulary(data.phrases)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TwoTower(len(words), widths=widths).to(memory_format=torch.channels_last).train()
    tables = [padded([*[[words[w] for w in words_of(p)] for p in some], []]) for some in data.phrases]
    pixels, values = torch.from_numpy(data.images).permute(0, 3, 1, 2), torch.from_numpy(data.values)
    rng = generator(seed, "contrastive")
    batches = list(_batches(data, epochs, rng))
    optimisers, schedules = _optimisers(network, len(batches))
    for chosen in tqdm(batches, desc="train encoder", unit="batch", disable=not progress):
        shown, here = network.images(pixels[chosen]), values[chosen]
        told = torch.from_numpy(rng.random(here.shape) < TOLD) & (here >= 0)
        told[:, 0] = True
        meaning = torch.zeros_like(told)
        meaning[:, 0] = True
        loss = _loss(network, shown, here, meaning, tables) + _loss(network, shown, here, told, tables)
        network.zero_grad()
        loss.backward()
        for optimiser, schedule in zip(optimisers, schedules, strict=True):
            optimiser.step()
            schedule.step()
    return TwoTowerEncoder(network.eval(), data.phrases)


def _batches(data: Captioned, epochs: tuple[int, int], rng: Generator) -> Iterator[NDArray[np.int64]]:
    """Indices of the images of each step."""
    stages = (np.flatnonzero(data.easy), np.arange(len(data.images)))
    for images, count in zip(stages, epochs, strict=True):
        for _ in range(count):
            order = rng.permutation(images)
            yield from (order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH))


def _optimisers(network: TwoTower, steps: int) -> tuple[list[Optimizer], list[LRScheduler]]:
    image = [*network.blocks.parameters(), *network.project.parameters()]
    mine = {id(parameter) for parameter in image}
    text = [parameter for parameter in network.parameters() if id(parameter) not in mine]
    sgd = torch.optim.SGD(image, IMAGE_RATE, momentum=0.9, weight_decay=5e-4, nesterov=True)
    adam = torch.optim.AdamW(text, TEXT_RATE, weight_decay=1e-2)
    cycles: list[LRScheduler] = [
        OneCycleLR(part, rate, steps) for part, rate in ((sgd, IMAGE_RATE), (adam, TEXT_RATE))
    ]
    return [sgd, adam], cycles


def _loss(network: TwoTower, shown: Tensor, values: Tensor, told: Tensor, tables: list[Tensor]) -> Tensor:
    """The contrastive loss of images and of the captions that mention the attributes `told` (b, a)."""
    said = torch.where(told, values, -1)
    words = torch.cat([table[column] for table, column in zip(tables, said.T, strict=True)], 1)
    fits = ((values[:, None] == values[None]) | ~told[None]).all(2)
    return contrastive_loss(shown, network.texts(words), fits, network.scale.exp().clamp(max=50))
