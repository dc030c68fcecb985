"""The three image statistics of SYP, batched, against a loop over the images with OpenCV and NumPy.

python benchmarks/image_stats.py [--images 10000] [--rounds 9]

Both get the same images of 32 x 32 pixels, the loop as (h, w, 3), the kit as it renders them, (3, h, w) in
chunks of 500. The kit uses as many threads as PyTorch has; OpenCV's own are off for both. Printed: medians of
images/s, and the median of the rounds' ratios.
"""

import argparse
import statistics
import time

import cv2
import numpy as np
import torch

from starter.image_stats import image_stats
from starter.recipes import CHUNK


def one_by_one(images: np.ndarray) -> np.ndarray:
    """The statistics (n, 3) of images (n, h, w, 3), image by image."""
    rows = []
    for image in images:
        blur = cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var()
        x = image / 256
        rows.append((image.astype(np.float64).var(), (-x * np.log(x + 1e-6)).mean(), blur))
    return np.array(rows)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(options.images, 32, 32, 3), dtype=np.uint8)
    chunks = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous().split(CHUNK)
    torch.empty(31 << 20, dtype=torch.uint8)  # as rendering does, so that freed memory is used again
    rounds = []
    for _ in range(options.rounds):
        times = [time.perf_counter()]
        slow = one_by_one(images[: options.images // 10])
        times.append(time.perf_counter())
        fast = torch.cat([image_stats(chunk) for chunk in chunks]).numpy()
        times.append(time.perf_counter())
        rounds.append((10 * (times[1] - times[0]), times[2] - times[1]))
    worst = np.abs(fast[: len(slow)] / slow - 1).max()
    loop, batched = (options.images / statistics.median(taken) for taken in zip(*rounds, strict=True))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"loop {loop:,.0f}/s, batched {batched:,.0f}/s on {torch.get_num_threads()} threads: {ratio:.1f}")
    print(f"largest relative difference {worst:.1e}")


if __name__ == "__main__":
    main()
