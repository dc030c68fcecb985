"""A referee beside a classifier: images a second, and how good a probe is at 96 and at 128 pixels.

    UNSEEN_DATA=FOLDER python benchmarks/speed/referee.py [--classifier resnet56] [--images 500] [--rounds 3]
        [--labelled 4000]

UNSEEN_DATA holds cifar10.zip. Speed: medians over rounds in which all take turns, on 32 x 32 images, in
seconds of the processor and PyTorch's threads, and the median of the rounds' ratios to the classifier.
Accuracy: a probe learns from one half of labelled training images and tells the classes of the other, both
ways round: the size was chosen by it (docs/decisions/0096). --labelled 0 leaves it out.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from starter.classifiers import ARCHITECTURES, Classifier
from starter.encoders import ImageEncoder
from starter.encoders.choose import lite0
from starter.making.referees import train_ref_order
from starter.observing.referee import fit_linear
from starter.sources.sources import load_source

SIZES = (96, 128)
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--classifier", default="resnet56")
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--labelled", type=int, default=4000)
    options = parser.parse_args()
    ways = _ways(options.classifier, options.images)
    for way in ways.values():
        way()
    rounds = [{name: _seconds(way) for name, way in ways.items()} for _ in range(options.rounds)]
    print(f"{torch.get_num_threads()} threads")
    own = f"{options.classifier} float32"
    for name in ways:
        speed = options.images / statistics.median(times[name] for times in rounds)
        longer = statistics.median(times[name] / times[own] for times in rounds)
        print(f"  {name:20} {speed:7,.0f} images/s  {longer:6.2f} times as long as {own}")
    if options.labelled:
        _print_accuracy(options.labelled)


def _ways(name: str, count: int) -> dict[str, Callable[[], object]]:
    """Looking at that many images, by who looks and in which precision."""
    images = np.random.default_rng(0).integers(256, size=(count, 32, 32, 3)).astype(np.uint8)
    torch.manual_seed(0)
    network, classes = ARCHITECTURES[name](10), tuple(map(str, range(10)))
    found: dict[str, Callable[[], object]] = {}
    for precision in ("float32", "bfloat16"):
        classifier = Classifier(name, name, network, classes, MEAN, STD, precision)
        found[f"{name} {precision}"] = partial(classifier, images)
        for size in SIZES:
            encoder = lite0(precision=precision, size=size)
            found[f"lite0 {size} {precision}"] = partial(encoder.encode_images, images)
    return found


def _print_accuracy(count: int) -> None:
    splits = load_source(str(Path(os.environ["UNSEEN_DATA"]) / "cifar10.zip"))
    assert splits.train.labels is not None
    chosen = train_ref_order(splits, 0)[:count]
    images, labels = splits.train.images[chosen], splits.train.labels[chosen]
    for size in SIZES:
        halves = _accuracies(lite0(precision="bfloat16", size=size), images, labels, len(splits.classes))
        told = f"{np.mean(halves):.1%} (halves {halves[0]:.1%}, {halves[1]:.1%})"
        print(f"  {size} pixels: a probe on {count // 2:,} images is right for {told} of others")


def _accuracies(
    encoder: ImageEncoder, images: NDArray[np.uint8], labels: NDArray[np.int64], classes: int
) -> list[float]:
    """The share of either half that a probe of the other is right for."""
    features, first = encoder.encode_images(images), np.arange(len(labels)) % 2 == 0
    found = []
    for learnt in (first, ~first):
        weight, bias = fit_linear(features[learnt], labels[learnt], classes)
        guess = (features[~learnt] @ weight.T + bias).argmax(axis=1)
        found.append(float((guess == labels[~learnt]).mean()))
    return found


def _seconds(way: Callable[[], object]) -> float:
    start = time.process_time()
    way()
    return time.process_time() - start


if __name__ == "__main__":
    main()
