"""The three image statistics of SYP, batched, against a loop over the images with OpenCV and NumPy.

python benchmarks/speed/image_stats.py [--images 10000] [--rounds 15]

Both get the same images of 32 x 32 pixels in NumPy's memory, the loop as (h, w, 3), the kit as it renders
them, (3, h, w) in chunks of 500: first the embedded competition's images, then noise of all values, for which
the kit's table of entropies is slowest. OpenCV's threads are off. Printed: medians of images a CPU second (of
all threads), which other load changes less than wall-clock time, and the median of the rounds' ratios.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from starter.observing.image_stats import image_stats
from starter.sets.recipe import CHUNK
from starter.sources.sources import load_source


def one_by_one(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The statistics (n, 3) of images (n, h, w, 3), image by image."""
    rows = []
    for image in images:
        blur = cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var()
        x = image / 256
        rows.append((image.astype(np.float64).var(), (-x * np.log(x + 1e-6)).mean(), blur))
    return np.array(rows)


def kinds(n: int) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """What is measured: n images each (n, 32, 32, 3)."""
    embedded = load_source("glyphs").meta_base.images
    yield "embedded images", np.resize(embedded, (n, 32, 32, 3))
    yield "noise", np.random.default_rng(0).integers(256, size=(n, 32, 32, 3), dtype=np.uint8)


def seconds(work: Callable[..., object], *given: object) -> float:
    """CPU time of one run."""
    start = time.process_time()
    work(*given)
    return time.process_time() - start


def batched(chunks: Sequence[torch.Tensor]) -> NDArray[np.float32]:
    """The same by the kit."""
    return np.concatenate([image_stats(chunk) for chunk in chunks])


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    for kind, images in kinds(options.images):
        chunks = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).split(CHUNK)
        few = images[: options.images // 10]
        worst = np.abs(batched(chunks)[: len(few)] / one_by_one(few) - 1).max()
        rounds = [(10 * seconds(one_by_one, few), seconds(batched, chunks)) for _ in range(options.rounds)]
        loop, kit = (options.images / statistics.median(taken) for taken in zip(*rounds, strict=True))
        ratio = statistics.median(one / other for one, other in rounds)
        print(f"{kind}: loop {loop:,.0f}/s, batched {kit:,.0f}/s, {ratio:.1f} times as fast")
        print(f"    on {torch.get_num_threads()} threads; largest relative difference {worst:.1e}")


if __name__ == "__main__":
    main()
