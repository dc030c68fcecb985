"""A competition for looking at and for writing out."""

import numpy as np
import pytest
import torch
from asked import accuracy_settings

from starter.contest.build import build
from starter.models.classifiers import Classifier, save_classifier
from starter.models.classifiers.networks.small import Small


@pytest.fixture(scope="session")
def noisy(tmp_path_factory):
    """12 + 3 + 2 sets of 50 images of random pixels, and two untrained networks, that no test may change."""
    folder = tmp_path_factory.mktemp("noise")
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(1200, 16, 16, 3), dtype=np.uint8)
    np.savez(folder / "noise.npz", images=images, labels=np.arange(1200) % 3, classes=["b", "a", "c d"])
    for name in ("net", "net2"):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(len(name))
            network = Classifier(name, "small", Small(3), ("b", "a", "c d"), (0.5,) * 3, (0.25,) * 3)
        save_classifier(network, folder / f"{name}.safetensors")
    files = tuple(f"{name}={folder / name}.safetensors" for name in ("net", "net2"))
    sizes = {"train_sets": 12, "val_sets": 3, "test_sets": 2, "set_size": 50}
    settings = accuracy_settings(source=str(folder / "noise.npz"), classifiers=files, **sizes)
    return build(folder / "contest", settings, test_seed=1)
