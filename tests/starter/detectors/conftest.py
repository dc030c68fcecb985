"""Digits seen by the tiny classifier, and images that are obviously none."""

import cv2
import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_images

from starter.classifiers import Classifier, read_classifier
from starter.observing import Observation, Source
from starter.sources.glyphs.digits import glyph_splits


def seen_by(classifier: Classifier, images: np.ndarray, name: str) -> Observation:
    """An observation with all that detectors read."""
    logits, features = classifier(images)
    halves = features.numpy().astype(np.float16)
    return Observation(name, classifier.name, logits.numpy(), features=halves, render=lambda: images)


def photo_patches(n: int) -> np.ndarray:
    """Crops of scikit-learn's photographs at half their size, uint8 (n, 32, 32, 3)."""
    rng = np.random.default_rng(0)
    photos = [cv2.resize(photo, None, fx=0.5, fy=0.5) for photo in load_sample_images().images]
    patches = []
    for i in range(n):
        photo = photos[i % 2]
        y, x = (rng.integers(side - 32) for side in photo.shape[:2])
        patches.append(photo[y : y + 32, x : x + 32])
    return np.stack(patches)


@pytest.fixture(scope="session")
def tiny(weights) -> Classifier:
    return read_classifier(weights)


@pytest.fixture(scope="session")
def source(tiny) -> Source:
    """600 labelled digits and 1,000 that the classifier was trained on."""
    splits = glyph_splits(0)
    reference = splits.reference.take(np.arange(600))
    return Source(
        seen_by(tiny, reference.images, "reference"),
        reference.labels,
        seen_by(tiny, splits.train.take(np.arange(1000)).images, "train_ref"),
        tiny.head_weight,
        tiny.head_bias,
        tiny,
    )


@pytest.fixture(scope="session")
def sets(tiny) -> dict[str, Observation]:
    """Digits, and OOD images that anyone would tell from them."""
    noise = torch.randint(256, (150, 32, 32, 3), generator=torch.Generator().manual_seed(0))
    images = {
        "digits": glyph_splits(0).test_base.take(np.arange(300)).images,
        "noise": noise.numpy().astype(np.uint8),
        "photos": photo_patches(150),
    }
    return {name: seen_by(tiny, each, name) for name, each in images.items()}
