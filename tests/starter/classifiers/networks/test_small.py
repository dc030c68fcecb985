import numpy as np
import torch
from torch import Tensor

from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, train_small
from starter.images.imageset import ImageSet
from starter.sources.glyphs.digits import natural_set


def coloured(n: int, seed: int) -> ImageSet:
    """Three classes told apart by their brightest channel."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    images = rng.integers(0, 128, (n, 16, 16, 3), dtype=np.uint8)
    images[np.arange(n), :, :, labels] += 100
    return ImageSet("coloured", images, labels)


def normalised(images: ImageSet) -> Tensor:
    pixels = torch.from_numpy(images.images) / 255
    return ((pixels - torch.tensor(SMALL_MEAN)) / torch.tensor(SMALL_STD)).permute(0, 3, 1, 2)


def test_training_learns_what_there_is_to_learn() -> None:
    model = train_small(coloured(600, 0), 3, seed=0, progress=False)
    assert not model.training
    test = coloured(300, 1)
    with torch.inference_mode():
        predicted = model(normalised(test)).argmax(1).numpy()
    assert (predicted == test.labels).mean() > 0.8


def test_training_is_decided_by_its_seed_and_leaves_the_global_generator_alone() -> None:
    train = natural_set("stix", 250, 0, "few")
    before = torch.random.get_rng_state()
    first, again, other = (train_small(train, 10, seed, progress=False).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["fc.weight"], other["fc.weight"])
