"""Building and observing sets against the bare forward passes of the same images, batches of 500.

    python benchmarks/speed/observe.py [--arch resnet56] [--sets 2] [--rounds 5] [--precision bfloat16]
        [--engine openvino]

Each round renders and observes the sets into an empty cache, once with what `build` observes (logits,
moments, image statistics: one pass) and once with the rotation views (four passes), and runs the same number
of bare forward passes over images that lie ready, normalised, in memory: PyTorch's in the same precision, or
the compiled engine's own; and PyTorch's in float32. Printed: medians of images/s and of the rounds' ratios.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from starter.classifiers import ARCHITECTURES, Classifier
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache
from starter.observing.observe import Observer, observe
from starter.sets.recipe import CHUNK, draw_recipes
from starter.sets.rendering import FromRecipe
from starter.tracks.tracks import TRACKS
from submission.competition import ENGINES, PRECISIONS

SIZE = 1000


def seconds(work: Callable[[], None]) -> float:
    """How long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare(classifier: Classifier, batches: list[torch.Tensor], passes: int) -> None:
    """Forward passes and nothing else."""
    with torch.inference_mode():
        for _ in range(passes):
            for batch in batches:
                classifier.features_of(batch)


def observed(renderings: list[FromRecipe], observer: Observer, needs: tuple[str, ...]) -> None:
    """Render and observe into a fresh cache."""
    with tempfile.TemporaryDirectory() as folder:
        observer = replace(observer, cache=Cache(Path(folder)))
        for rendering in renderings:
            observe(rendering, observer, needs)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--arch", choices=tuple(ARCHITECTURES), default="resnet56")
    parser.add_argument("--sets", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--engine", choices=ENGINES, default="torch")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    classes = tuple("0123456789")
    network = ARCHITECTURES[options.arch](len(classes))
    normalisation = ((0.5,) * 3, (0.25,) * 3)
    exact = Classifier(options.arch, options.arch, network, classes, *normalisation)
    classifier = replace(exact, engine=options.engine, precision=options.precision)
    features = exact.head_weight.shape[1]
    head = rng.normal(size=(4, features)).astype(np.float32), np.zeros(4, np.float32)
    observer = Observer(classifier, Cache(Path()), head)
    base = ImageSet("base", rng.integers(256, size=(4000, 32, 32, 3), dtype=np.uint8))
    renderings = [FromRecipe(recipe, base) for recipe in draw_recipes("default", options.sets, 0, SIZE)]
    ready = torch.randn(options.sets * SIZE // CHUNK, CHUNK, 3, 32, 32)
    batches = [batch.to(memory_format=torch.channels_last) for batch in ready]
    for name, needs, passes in (
        ("one pass: logits, moments, image statistics", TRACKS["accuracy"].needs, 1),
        ("four passes: the same and rotation", (*TRACKS["accuracy"].needs, "rotation"), 4),
    ):
        bare(classifier, batches[:1], 1)
        rounds = [
            (
                seconds(lambda p=passes: bare(exact, batches, p)),  # type: ignore[misc]
                seconds(lambda p=passes: bare(classifier, batches, p)),  # type: ignore[misc]
                seconds(lambda n=needs: observed(renderings, observer, n)),  # type: ignore[misc]
            )
            for _ in range(options.rounds)
        ]
        images = options.sets * SIZE * passes
        torchs, forward, whole = (images / statistics.median(times) for times in zip(*rounds, strict=True))
        ratio = statistics.median(observing / passing for _, passing, observing in rounds)
        faster = statistics.median(exactly / observing for exactly, _, observing in rounds)
        print(f"{name}\n  {classifier.place}: bare {forward:,.0f}/s, built and observed {whole:,.0f}/s")
        print(f"  time ratio {ratio:.3f}; {faster:.2f} times bare torch float32 ({torchs:,.0f}/s)")


if __name__ == "__main__":
    main()
