"""Competitions whose natural-shift sets come in the original form of CIFAR-10-C and CIFAR-10.1.

    UNSEEN_DATA=FOLDER python benchmarks/results/layouts.py DIR [--corruption brightness ...] [--images 10000]

FOLDER holds cifar10.zip (test/<class>/) and weights/resnet56.safetensors. DIR gets the files: CIFAR-10-C with
five severities of every test image a file (50,000 rows) and labels.npy, CIFAR-10.1 with its two versions.
Both are made of the real test images by the kit's own corruptions, under the original names. A competition is
then built through the command line from each, once for validation and once for the test, and described.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import real
import torch
from numpy.typing import NDArray

from starter.images.imageset import ImageSet
from starter.operations.corruptions import CORRUPTIONS
from starter.sets.recipe import Recipe

OURS = {"brightness": "brighten", "contrast": "low_contrast"}
"""The corruptions that have another name in the kit."""
VERSIONS = {"v4": 2021, "v6": 2000}
"""Of CIFAR-10.1: how many images each has."""


def corrupted(base: ImageSet, name: str, severity: int) -> NDArray[np.uint8]:
    """All images (n, h, w, 3) of the base, in their order."""
    recipe = Recipe(name, 0, ((OURS.get(name, name), {"severity": severity}),))
    return torch.cat(list(recipe.chunks(base))).permute(0, 2, 3, 1).numpy()


def write(folder: Path, base: ImageSet, names: list[str]) -> None:
    """The files of both collections, and the base as source.npz."""
    assert base.labels is not None
    for name in ("CIFAR-10-C", "CIFAR-10.1"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    np.savez(folder / "source.npz", images=base.images, labels=base.labels, classes=np.array(real.CIFAR10))
    for name in names:
        blocks = np.concatenate([corrupted(base, name, severity) for severity in range(1, 6)])
        np.save(folder / f"CIFAR-10-C/{name}.npy", blocks)
    np.save(folder / "CIFAR-10-C/labels.npy", np.tile(base.labels.astype(np.uint8), 5))
    images = corrupted(base, "contrast", 2)
    for version, n in VERSIONS.items():
        np.save(folder / f"CIFAR-10.1/cifar10.1_{version}_data.npy", images[:n])
        np.save(folder / f"CIFAR-10.1/cifar10.1_{version}_labels.npy", base.labels[:n])


def main() -> None:
    """Write, build and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    ours = {name: original for original, name in OURS.items()}
    names = sorted(ours.get(name, name) for name in CORRUPTIONS)
    parser.add_argument("--corruption", action="append", choices=names)
    parser.add_argument("--images", type=int)
    parser.add_argument("--set-size", type=int, default=500)
    options = parser.parse_args()
    folder = options.folder
    asked = options.corruption or ["brightness"]
    write(folder, real.images("test", options.images), asked)
    build = [sys.executable, "-m", "unseen", "build"]
    given = [
        "--source",
        str(folder / "source.npz"),
        "--train-sets",
        "2",
        "--val-sets",
        "0",
        "--test-sets",
        "2",
    ]
    given += ["--classifier", real.weights()]
    given += ["--set-size", str(options.set_size)]
    c, ten = str(folder / "CIFAR-10-C"), str(folder / "CIFAR-10.1")
    for name, val, test in (("from-c", ten, c), ("from-10.1", c, ten)):
        sets = ["--val-from", val, "--test-from", test]
        subprocess.run([*build, str(folder / name), *given, *sets], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
