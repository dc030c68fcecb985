"""Small: a convolutional network for the embedded data and for tests, trained in seconds on two cores."""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from starter.data.images.imageset import ImageSet
from starter.models.classifiers.networks.network import Network
from submission.progress import progress

SMALL_MEAN = (0.5, 0.5, 0.5)
SMALL_STD = (0.25, 0.25, 0.25)
WIDTHS = (16, 32, 64, 64)
STRIDES = (2, 2, 1, 2)
EPOCHS, STEPS = 5, 300
"""Passes over the training images, and the fewest steps: few images are seen more often."""
BATCH = 100
PEAK_RATE = 0.4
EMBEDDED = Path(__file__).with_name("small.safetensors")
"""Weights for the embedded digits of every seed, made by `train_small`: see docs/decisions/0155."""


class Small(Network):
    """Four 3 x 3 convolutions with batch normalisation; 64 features."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        inputs = (3, *WIDTHS[:-1])
        self.blocks = nn.ModuleList(map(block, inputs, WIDTHS, STRIDES))
        self.fc = nn.Linear(WIDTHS[-1], num_classes)

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each convolution."""
        maps = [x]
        for block in self.blocks:
            maps.append(block(maps[-1]))
        return maps[1:]


def block(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    """Returns a 3 x 3 convolution with batch normalisation and ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


def train_small(train: ImageSet, num_classes: int, seed: int) -> Small:
    """Train `Small` on labelled images and return it in evaluation mode, in channels-last format.

    Training is SGD with Nesterov momentum and the one-cycle schedule of Smith & Topin (2018), without
    augmentation. The same seed and number of threads give the same weights on the same machine.
    """
    assert train.labels is not None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Small(num_classes)
    model.to(memory_format=torch.channels_last)
    mean, std = torch.tensor(SMALL_MEAN), torch.tensor(SMALL_STD)
    scale, offset = 1 / (255 * std), mean / std
    order = torch.Generator().manual_seed(seed)
    steps = max(1, len(train) // BATCH)
    epochs = max(EPOCHS, -(-STEPS // steps))
    optimiser = torch.optim.SGD(
        model.parameters(), lr=PEAK_RATE, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, PEAK_RATE, total_steps=epochs * steps)
    for _ in progress(range(epochs), "train small", unit="epochs"):
        for batch in torch.randperm(len(train), generator=order)[: steps * BATCH].split(BATCH):
            x = (torch.from_numpy(train.images[batch.numpy()]) * scale - offset).permute(0, 3, 1, 2)
            loss = cross_entropy(model(x), torch.from_numpy(train.labels[batch.numpy()]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return model.eval()
