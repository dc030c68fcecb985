"""Seconds that methods take, of the processor, which other load lengthens less than the clock's.

    OMP_NUM_THREADS=1 python benchmarks/speed/micro.py [NAME]... [--small] [--write]

NAME is one of `MEASURES`; without any, all are run. --small shows in a minute that all of it runs, and writes
nothing. --write puts the figures into docs/results/speed.md.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch.utils.flop_counter import FlopCounterMode

from oracle.networks import Attention, Mlp
from oracle.training import Program, traced
from starter.observing.observation import MetaTrain, Moments, Observation, Source
from submission.arrays import FloatArray
from unseen.api.methods import SLOW, methods_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages
import real


def seconds(way: Callable[[], object]) -> float:
    """Of the processor, for one turn."""
    start = time.process_time()
    way()
    return time.process_time() - start


VIEWS = ("rotate90", "rotate180", "rotate270", "grey", "peer:other", "referee:first")


def observed(
    name: str, centres: FloatArray, n: int, noise: float, seed: int
) -> tuple[Observation, NDArray[np.int64]]:
    """A set of n images about the centres (k, d) of its classes, and their labels (n,)."""
    rng, (k, d) = np.random.default_rng(seed), centres.shape
    labels = rng.integers(k, size=n)
    features = np.maximum(centres[labels] + noise * rng.normal(size=(n, d)), 0).astype(np.float32)
    logits = (features @ centres.T / np.sqrt(d)).astype(np.float32)
    views = {view: logits + rng.normal(size=logits.shape).astype(np.float32) for view in VIEWS}
    statistics, rotation = rng.random((n, 3), np.float32), rng.random(n, np.float32)
    small, moments = features.astype(np.float16), Moments.of(features)
    return Observation(name, "made up", logits, moments, small, statistics, rotation, views), labels


def made_up(k: int, d: int, n: int, sets: int = 3) -> MetaTrain:
    """Sets of n images of k classes with d features, and a source of 5,000 images."""
    centres = np.random.default_rng(0).normal(size=(k, d)).astype(np.float32)
    (reference, labels), (known, _) = (observed(str(i), centres, 5000, 2.0, i) for i in (1, 2))
    source = Source(reference, labels, known, centres, np.zeros(k, np.float32), None)
    pairs = (observed(f"set{i}", centres, n, 3.0 + i % 8, 3 + i) for i in range(sets))
    seen, truth = map(list, zip(*pairs, strict=True))
    right = [each.predicted == classes for each, classes in zip(seen, truth, strict=True)]
    families = [frozenset({str(i % 20)}) for i in range(sets)]
    accuracies = np.array([each.mean() for each in right])
    return MetaTrain(source, seen, accuracies, right, families, labels=truth)


def slow(times: dict[str, float], least: float, decimals: int) -> str:
    """Seconds of the methods that take so many or more, the slowest first."""
    order = sorted((name for name in times if times[name] >= least), key=times.__getitem__, reverse=True)
    return "; ".join(f"`{name}` {times[name]:.{decimals}f}" for name in order)


def methods(small: bool) -> Iterator[tuple[str, str]]:
    """Seconds to predict an observed set of ImageNet's size, the median of three sets."""
    k, d, n = (20, 32, 100) if small else (1000, 2048, 1000)
    meta, found = made_up(k, d, n), {}
    for name, method in methods_of("accuracy").items():
        if name not in SLOW:
            fitted = clone(method).fit(meta)
            found[name] = np.median([seconds(partial(fitted.predict, [replace(each)])) for each in meta.sets])
    yield "methods, 1,000 classes, 2,048 features: s a set of 1,000, where .05 or more", slow(found, 0.05, 2)


def training(small: bool) -> Iterator[tuple[str, str]]:
    """Share of a matrix product's rate that the oracles' gradients reach, and autograd's time."""
    rows, square, table = 1000 if small else 10_000, torch.rand(1024, 1024), torch.rand(50_000, 8)
    for name, network in {"A": Mlp(6, 8, 0.0), "B": Attention(6, 8, 0.1, "one", 3)}.items():
        autograd = partial(traced, network, table, torch.randint(len(table), (rows,)))
        with FlopCounterMode(display=False) as counter:
            autograd()
        program = partial(Program(network, table, rows).run, autograd.args[2])
        ways = (program, autograd, partial(torch.mm, square, square))
        took, plain, product = np.median([[seconds(way) for way in ways] for _ in range(41)], axis=0)
        rate, peak = counter.get_total_flops() / took / 1e9, 2 * len(square) ** 3 / product / 1e9
        what = f"gradients of ORA-{name} for {rows:,} rows: operations; GFLOP/s"
        figure = f"{counter.get_total_flops():.2g}; {rate:.0f}; {rate / peak:.2f}; {plain / took:.2f}"
        yield f"{what}; share of a matrix product's; autograd's time / theirs", figure


MEASURES = {"methods": methods, "training": training}


def main() -> None:
    """Measure and print."""
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("name", nargs="*", choices=[*MEASURES, []], default=[])
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    for name in options.name or MEASURES:
        figures = MEASURES[name](options.small)
        pages.tell(figures, f"benchmarks/speed/micro.py {name}", options.write and not options.small)


if __name__ == "__main__":
    main()
