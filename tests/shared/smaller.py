"""Builds and trainings smaller than asked for: the lines of pages and notebooks are tried, not their figures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import changed

from starter.contest.build import build
from starter.contest.settings import Settings
from starter.data.sources.sources import load_source
from starter.data.sources.splits import Splits
from starter.models.classifiers.train import Training, train
from submission import Competition

MOST = {"train_sets": 10, "val_sets": 4, "test_sets": 6, "set_size": 40}
MIXES = {**MOST, "set_size": 60}


def smaller(folder: Path, settings: Settings, *others: object, **named: object) -> Competition:
    """Build, the demo and the presets too, with fewer and smaller sets."""
    most = MOST if settings.track == "accuracy" else MIXES
    sizes = {name: min(getattr(settings, name), size) for name, size in most.items()}
    return build(folder, changed(settings, **sizes), *others, **named)  # type: ignore[arg-type]


def shorter(asked: Training, *others: object) -> str:
    """Train for one epoch, on the first 300 images at most, and test on as many of each part."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("starter.models.classifiers.train.load_source", _some)
        return train(replace(asked, epochs=1), *others)  # type: ignore[arg-type]


def _some(*source: object) -> Splits:
    splits = load_source(*source)  # type: ignore[arg-type]
    parts = ("train", "reference", "meta_base", "val_base", "test_base")
    first = {
        part: getattr(splits, part).take(np.arange(min(300, len(getattr(splits, part))))) for part in parts
    }
    return replace(splits, **first)
