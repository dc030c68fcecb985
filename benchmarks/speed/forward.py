"""The classifiers' forward pass against the same network run plainly: float32, channels first, as stored.

    python benchmarks/speed/forward.py [resnet56[=WEIGHTS] repvgg_a0[=WEIGHTS] ...]
        [--images 500] [--rounds 5]

Each round runs the network as its weights are stored on the images, and then the Classifier on the same
images by each engine, in each precision that it computes in on this CPU; all normalise them. Printed: medians
of images/s, of the rounds' ratios to the plain network and to PyTorch's float32, and the largest difference
of the logits from the plain network's (with random weights where none are named).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from starter.classifiers import ARCHITECTURES, Classifier, load_classifier
from starter.classifiers.engine import computing
from starter.sources.oodsets import CIFAR10
from submission.competition import ENGINES, PRECISIONS

TORCH = "torch float32"
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("classifiers", nargs="*", default=["resnet56", "repvgg_a0"])
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    images = torch.randint(256, (options.images, 3, 32, 32), dtype=torch.uint8)
    for spec in options.classifiers:
        exact = classifier(spec)
        ways: dict[str, Callable[[], Tensor]] = {"plain": partial(plain, exact, images)}
        for engine, precision in computed():
            each = replace(exact, engine=engine, precision=precision)
            ways[f"{engine} {precision}"] = partial(logits_of, each, images)
        logits = {name: way() for name, way in ways.items()}
        rounds = [{name: seconds(way) for name, way in ways.items()} for _ in range(options.rounds)]
        print(spec)
        for name in ways:
            speed = options.images / statistics.median(times[name] for times in rounds)
            ratio, torchs = (
                statistics.median(times[base] / times[name] for times in rounds) for base in ("plain", TORCH)
            )
            moved = float((logits[name] - logits["plain"]).abs().max())
            ratios = f"plain {ratio:.2f}, {TORCH} {torchs:.2f}"
            print(f"  {name:17} {speed:7,.0f} images/s  over {ratios}  largest difference {moved:.1e}")


def classifier(spec: str) -> Classifier:
    """The classifier of a spec, untrained where it names no weights."""
    if "=" in spec:
        return load_classifier(spec, CIFAR10)
    torch.manual_seed(0)
    return Classifier(spec, spec, ARCHITECTURES[spec](10), CIFAR10, MEAN, STD)


def computed() -> list[tuple[str, str]]:
    """The engines that are here, each with the precisions that it computes in on this CPU."""
    asked = [(engine, precision) for engine in ENGINES for precision in PRECISIONS]
    return [pair for pair in asked if computing(*pair, "cpu") == pair]


def logits_of(classifier: Classifier, images: Tensor) -> Tensor:
    """The classifier's logits."""
    return classifier(images)[0]


@torch.inference_mode()
def plain(exact: Classifier, images: Tensor) -> Tensor:
    """The stored network on contiguous float32 images."""
    mean, std = torch.tensor(exact.mean).view(3, 1, 1), torch.tensor(exact.std).view(3, 1, 1)
    return exact.network.to(memory_format=torch.contiguous_format)((images / 255 - mean) / std)


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
