"""Training a two-tower encoder: each image is to be nearest to the captions that fit it, and they to it."""

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from starter.encoders.captioned import Captioned
from starter.encoders.two_tower import TwoTower, TwoTowerEncoder, padded, vocabulary, words_of
from starter.recipes import generator

EPOCHS, BATCH, RATE = 5, 256, 5e-3
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
    data: Captioned, seed: int = 0, epochs: int = EPOCHS, progress: bool = True
) -> TwoTowerEncoder:
    """Train on captioned images: half of the loss from captions of the meaning alone, half with covariates.

    The same seed and number of threads give the same weights on the same machine.
    """
    words = vocabulary(data.phrases)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TwoTower(len(words)).to(memory_format=torch.channels_last).train()
    tables = [padded([*[[words[w] for w in words_of(p)] for p in some], []]) for some in data.phrases]
    pixels = torch.from_numpy(data.images).permute(0, 3, 1, 2)
    values = torch.from_numpy(data.values)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-2)
    batch = min(BATCH, len(pixels))
    steps = len(pixels) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=epochs * steps, pct_start=0.15
    )
    rng = generator(seed, "contrastive")
    with tqdm(total=epochs * steps * batch, desc="train encoder", unit="image", disable=not progress) as bar:
        for _ in range(epochs):
            for chosen in np.split(rng.permutation(len(pixels))[: steps * batch], steps):
                shown, here = network.images(pixels[chosen]), values[chosen]
                told = torch.from_numpy(rng.random(here.shape) < TOLD) & (here >= 0)
                told[:, 0] = True
                meaning = torch.zeros_like(told)
                meaning[:, 0] = True
                loss = sum(_loss(network, shown, here, each, tables) for each in (meaning, told))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                bar.update(batch)
    return TwoTowerEncoder(network.eval(), data.phrases)


def _loss(network: TwoTower, shown: Tensor, values: Tensor, told: Tensor, tables: list[Tensor]) -> Tensor:
    said = torch.where(told, values, -1)
    words = torch.cat([table[column] for table, column in zip(tables, said.T, strict=True)], 1)
    fits = ((values[:, None] == values[None]) | ~told[None]).all(2)
    return contrastive_loss(shown, network.texts(words), fits, network.scale.exp().clamp(max=50))
