"""Builds that are smaller than asked for: the lines of pages and notebooks are tried, not their figures."""

from pathlib import Path

from asked import changed

from starter.build.build import build
from starter.build.settings import Settings
from submission import Competition

MOST = {"train_sets": 12, "val_sets": 4, "test_sets": 16, "set_size": 50}
MIXES = {**MOST, "set_size": 80}


def smaller(folder: Path, settings: Settings, *others: object) -> Competition:
    """Build, the demo and the presets too, with fewer and smaller sets."""
    most = MOST if settings.plan.track == "accuracy" else MIXES
    sizes = {name: min(getattr(settings, name), size) for name, size in most.items()}
    return build(folder, changed(settings, **sizes), *others)  # type: ignore[arg-type]
