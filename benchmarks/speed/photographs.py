"""A model and folders of photographs, as `unseen estimate` takes them: seconds of processor and clock.

    UNSEEN_DATA=FOLDER python benchmarks/speed/photographs.py [--sets 24] [--referee lite0] [--images 2000]
        [--size 224] [--kept FOLDER] [--write]

FOLDER holds cifar10.zip; its test images, enlarged, stand in for photographs: so many labelled, and so many
others as new. The model is torchvision's ResNet-18 with random convolutions, whose batch normalisation has
seen training images and whose last layer was fitted to their features: as fast as any ResNet-18, and far less
accurate. --kept keeps model and photographs for the next run. Limit the threads by OMP_NUM_THREADS and the
processors by taskset. --write puts the line into docs/results.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages
import real

from starter.classifiers import Classifier, new_network, save_classifier
from starter.images.imageset import ImageSet
from starter.observing.referee import fit_linear
from starter.sources.oodsets import CIFAR10
from unseen.estimation.images import Asked, estimate_images

ARCH = "torchvision:resnet18"
TRAINED = 1500
"""Images that the last layer is fitted to."""
SEEN = 200
"""Images that batch normalisation sees."""
BATCH = 50
WEIGHTS = "model.safetensors"


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--sets", type=int, default=24)
    parser.add_argument("--referee", action="append", default=[])
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.kept or Path(scratch)
        if not (folder / WEIGHTS).exists():
            prepare(folder, options.images, options.size)
        line = measure(folder, options.sets, options.referee)
    print("\n".join(f"{name:<22}{value}" for name, value in line.items()))
    if options.write:
        pages.record("estimate-photographs", [line])


def prepare(folder: Path, images: int, size: int) -> None:
    """Write a model and two folders of photographs."""
    test = real.images("test", 2 * images)
    test = test.take(np.random.default_rng(0).permutation(2 * images))
    for name, part in (("labelled", slice(0, images)), ("new", slice(images, 2 * images))):
        for row in range(*part.indices(2 * images)):
            file = folder / name / CIFAR10[test.labels[row]] / f"{row}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(file), enlarged(test.images[row], size)[:, :, ::-1])
    save_classifier(fitted(real.images("train", TRAINED), size), folder / WEIGHTS)


def fitted(train: ImageSet, size: int) -> Classifier:
    """A ResNet-18 of which only batch normalisation and the last layer have seen images."""
    torch.manual_seed(0)
    network = new_network(ARCH, len(CIFAR10))
    shown = torch.from_numpy(np.stack([enlarged(each, size) for each in train.images])).permute(0, 3, 1, 2)
    mean, std = (torch.tensor(network.triple(name)).view(1, 3, 1, 1) for name in ("mean", "std"))
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = None
        network.train()
        for part in shown[:SEEN].split(BATCH):
            network((part / 255 - mean) / std)
        network.eval()
        features = torch.cat([network.features((part / 255 - mean) / std) for part in shown.split(BATCH)])
        weight, bias = fit_linear(features.numpy(), train.labels, len(CIFAR10))
        network.head.weight.copy_(torch.from_numpy(weight))
        network.head.bias.copy_(torch.from_numpy(bias))
    normalisation = (tuple(map(float, each.flatten())) for each in (mean, std))
    return Classifier("mine", ARCH, network, CIFAR10, *normalisation)


def enlarged(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The image, bicubic, (size, size, 3)."""
    return cv2.resize(image, (size, size), interpolation=cv2.INTER_CUBIC)


def measure(folder: Path, sets: int, referees: list[str]) -> dict[str, object]:
    """How long an estimate takes, and what it says."""
    clock, processor = time.perf_counter(), time.process_time()
    asked = Asked(sets, referees=tuple(referees))
    found, _ = estimate_images(f"mine={folder / WEIGHTS}", folder / "labelled", [folder / "new"], asked)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    (new,) = found.sets
    return {
        "meta-train sets": sets,
        "referee": ", ".join(referees) or "none",
        "images": found.images + new.images,
        "threads": torch.get_num_threads(),
        "processor, s": round(processor),
        "clock, s": round(clock),
        "labelled, %": f"{100 * found.accuracy:.1f}",
        "new, %": f"{100 * new.accuracy:.1f} ({100 * new.low:.1f} to {100 * new.high:.1f})",
    }


if __name__ == "__main__":
    main()
