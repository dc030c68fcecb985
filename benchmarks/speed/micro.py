"""Speed of operations, kernels, networks and methods against the references that stand in this file.

    OMP_NUM_THREADS=1 python benchmarks/speed/micro.py [NAME]... [--rounds 5] [--small] [--write]

NAME is one of `MEASURES`; without any, all are run. Times are seconds of the processor, which other load
lengthens less than the clock's; what is compared takes turns, after a first turn that is not counted, and a
figure is the median over the rounds, with the smallest and the largest in brackets. --small shows in a minute
that all of it runs, and writes nothing. --write puts the figures into docs/results/speed.md.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps
from scipy.linalg import eigvalsh, sqrtm
from sklearn.base import clone
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from baselines.accuracy.cot import optimal_plan
from baselines.accuracy.fd import frechet_distance
from oracle.networks import Mlp, descent, drawn_images, train
from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS
from starter.data.operations.default import inverse_affine
from starter.data.sets.recipe import CHUNK, Recipe, draw_recipes
from starter.data.sources.sources import load_source
from starter.models.classifiers import ARCHITECTURES, Classifier
from starter.models.classifiers.engine import computing
from starter.models.encoders.choose import lite0
from starter.observing.image_stats import image_stats
from starter.observing.observation import MetaTrain, Moments, Observation, Source
from submission.arrays import FloatArray, Pixels
from submission.competition import ENGINES, PRECISIONS
from submission.random import MAGNITUDES
from unseen.api.methods import SLOW, methods_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages

Ways = Mapping[str, Callable[[], object]]
Figures = Iterator[tuple[str, str]]
"""What was measured, and the figure."""


def timed(ways: Ways, rounds: int) -> dict[str, FloatArray]:
    """Seconds of the processor of each way, (rounds,)."""
    for way in ways.values():
        way()
    turns = np.array([[seconds(way) for way in ways.values()] for _ in range(rounds)])
    return dict(zip(ways, turns.T, strict=True))


def faster(kit: Callable[[], object], other: Callable[[], object], rounds: int) -> str:
    """How many times as long as the kit another way takes."""
    times = timed({"kit": kit, "other": other}, rounds)
    return spread(times["other"] / times["kit"])


def seconds(way: Callable[[], object]) -> float:
    """Of the processor, for one turn."""
    start = time.process_time()
    way()
    return time.process_time() - start


def spread(values: FloatArray) -> str:
    """The median, and the range where there is one."""
    low, middle, high = (number(value) for value in np.quantile(values, [0, 0.5, 1]))
    return middle if low == high else f"{middle} ({low} to {high})"


def number(value: float) -> str:
    """Three digits, and all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def noise(n: int) -> Pixels:
    """Random images (n, 32, 32, 3)."""
    return np.random.default_rng(0).integers(256, size=(n, 32, 32, 3), dtype=np.uint8)


def about(image: Pixels, factors: NDArray[np.float32], centre: int) -> Pixels:
    """The channels scaled about a value."""
    return cv2.transform(image, np.concatenate([np.diag(factors), centre * (1 - factors[:, None])], 1))


def solarized(image: Pixels, row: Mapping[str, Any]) -> Pixels:
    """Values from a threshold on inverted."""
    whole = Image.fromarray(image)
    return np.asarray(ImageOps.solarize(whole, int(row["threshold"]))) if row["applied"] else image


def warped(image: Pixels, row: Mapping[str, Any]) -> Pixels:
    """OpenCV's bilinear warp."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(image, row["inverse"], image.shape[1::-1], flags=flags) if row["applied"] else image


def sharpened(image: Pixels, row: Mapping[str, Any]) -> Pixels:
    """OpenCV's filter."""
    kernel = np.full((3, 3), -row["alpha"], np.float32)
    kernel[1, 1] = 1 - row["alpha"] + row["alpha"] * (8 + row["lightness"])
    return cv2.filter2D(image, -1, kernel)


BY_IMAGE: dict[str, Callable[[Pixels, Mapping[str, Any]], Pixels]] = {
    "autocontrast": lambda x, row: np.asarray(ImageOps.autocontrast(Image.fromarray(x), int(row["cutoff"]))),
    "brightness": lambda x, row: about(x, row["factor"], 0),
    "color": lambda x, row: np.asarray(ImageEnhance.Color(Image.fromarray(x)).enhance(float(row["factor"]))),
    "solarize": solarized,
    "contrast": lambda x, row: about(x, row["factor"], 127),
    "affine": warped,
    "sharpen": sharpened,
}


def rendered(recipe: Recipe, base: ImageSet) -> None:
    """The set by the kit."""
    for _ in recipe.chunks(base):
        pass


def image_by_image(recipe: Recipe, base: ImageSet) -> None:
    """The set by `BY_IMAGE`, with the same magnitudes."""
    indices, steps = recipe.indices(base), []
    for number, (name, params) in enumerate(recipe.pixel_ops):
        drawn = dict(OPERATIONS[name].magnitudes(MAGNITUDES(recipe.seed, number, name), len(indices), params))
        if name == "affine":
            drawn["inverse"] = inverse_affine(drawn, *base.images.shape[1:3])
        steps.append((BY_IMAGE[name], drawn))
    for start in range(0, len(indices), CHUNK):
        images = []
        for row in range(start, min(start + CHUNK, len(indices))):
            image = base.images[indices[row]]
            for function, drawn in steps:
                image = function(image, {key: values[row] for key, values in drawn.items()})
            images.append(image)
        np.stack(images)


def rendering(rounds: int, small: bool) -> Figures:
    """Sets of the default group, its operations, by Pillow and OpenCV too, and every operation alone."""
    n = 200 if small else 2000
    base = ImageSet("noise", noise(2 * n))
    alone = {}
    for name, op in OPERATIONS.items():
        params = {"severity": 3} if "severity" in op.parameters else {}
        alone[name] = Recipe("alone", 0, (("sample", {"n": n}), (name, params)))
    sets = draw_recipes("default", 2 if small else 10, seed=0, n=n, prior_share=0)
    ratios = {}
    for name, recipes in {"group": sets, **{name: [alone[name]] for name in BY_IMAGE}}.items():
        kit, loop = (
            lambda of=recipes, way=way: [way(each, base) for each in of] for way in (rendered, image_by_image)
        )
        ratios[name] = faster(kit, loop, rounds)
    yield "rendering sets of group default: Pillow and OpenCV image by image / the kit", ratios.pop("group")
    alike = "; ".join(f"{name} {ratios[name]}" for name in ratios)
    yield "operations of group default alone, likewise", alike
    for group in ("default", "a", "b", "corruptions", "natural-like"):
        times = timed({name: partial(rendered, alone[name], base) for name in GROUPS[group]}, min(rounds, 2))
        rates = "; ".join(f"{name} {number(n / 1000 / np.median(times[name]))}" for name in times)
        yield f"operations of group {group} alone, thousands of images of 32 x 32 pixels a second", rates


def one_by_one(images: Pixels) -> FloatArray:
    """The statistics (n, 3) of images (n, h, w, 3)."""
    rows = []
    for image in images:
        blur = cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var()
        x = image / 256
        rows.append((image.astype(np.float64).var(), (-x * np.log(x + 1e-6)).mean(), blur))
    return np.array(rows)


def statistics(rounds: int, small: bool) -> Figures:
    """The three image statistics of SYP, in chunks as sets are rendered."""
    n = 500 if small else 5000
    embedded = np.resize(load_source("glyphs").meta_base.images, (n, 32, 32, 3))
    for kind, images in (("embedded images", embedded), ("noise", noise(n))):
        chunks = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).split(CHUNK)
        kit = partial(lambda of: [image_stats(chunk) for chunk in of], chunks)
        found = faster(kit, partial(one_by_one, images), rounds)
        yield f"image statistics of {kind}: OpenCV and NumPy image by image / the kit", found


def by_sqrtm(a: Moments, b: Moments) -> float:
    """The textbook's."""
    root, shift = sqrtm(a.covariance @ b.covariance), a.mean - b.mean
    return float(shift @ shift + np.trace(a.covariance + b.covariance - 2 * root.real))


def distance(rounds: int, small: bool) -> Figures:
    """One distance, one of many to a reference whose root is kept, and the eigenvalues that each needs."""
    d, rng = 128 if small else 1280, np.random.default_rng(0)
    mix = rng.standard_normal((d, d)) / np.sqrt(d)

    reference, *targets = (
        Moments.of(np.maximum(rng.standard_normal((n, d)) @ mix, 0)) for n in (10_000, 10_000, 500)
    )
    for n, target in zip((10_000, 500), targets, strict=True):
        ways = {
            "sqrtm": partial(by_sqrtm, reference, target),
            "alone": lambda b=target: frechet_distance(replace(reference), b),
            "many sets": partial(frechet_distance, reference, target),
            "eigenvalues": partial(eigvalsh, target.covariance, check_finite=False),
        }
        usual, *times = timed(ways, rounds).values()
        ratios = [spread(usual / each) for each in times]
        what = "alone; one of many sets to one reference; eigenvalues alone"
        yield f"Fréchet distance, d = 1280, {n:,} images: with `sqrtm` / {what}", "; ".join(ratios)


RESNET56 = 126e6
"""Multiplications with addition that ResNet-56 needs for an image of 32 x 32 pixels."""


@torch.inference_mode()
def plain(exact: Classifier, images: torch.Tensor) -> torch.Tensor:
    """The stored network on contiguous float32 images."""
    mean, std = torch.tensor(exact.mean).view(3, 1, 1), torch.tensor(exact.std).view(3, 1, 1)
    return exact.network.to(memory_format=torch.contiguous_format)((images / 255 - mean) / std)


def untrained(arch: str) -> Classifier:
    """A network of ten classes with random weights."""
    torch.manual_seed(0)
    return Classifier(arch, arch, ARCHITECTURES[arch](10), tuple("0123456789"), (0.5,) * 3, (0.25,) * 3)


def networks(rounds: int, small: bool) -> Figures:
    """Forward passes of each engine and precision that this CPU computes in, and the referee's."""
    shown = noise(100 if small else 500)
    images = torch.from_numpy(np.ascontiguousarray(shown.transpose(0, 3, 1, 2)))
    pairs = [each for each in itertools.product(ENGINES, PRECISIONS) if computing(*each, "cpu") == each]
    for arch in ("resnet56", "repvgg_a0"):
        exact = untrained(arch)
        ways: dict[str, Callable[[], object]] = {"plain": partial(plain, exact, images)}
        for engine, precision in pairs:
            network = replace(exact, engine=engine, precision=precision)
            ways[f"{engine} {precision}"] = partial(network, images)
        times = timed(ways, rounds)
        for name in list(ways)[1:]:
            yield f"forward passes, {arch}: plain float32 / {name}", spread(times["plain"] / times[name])
        if arch == "resnet56":
            left, right = np.random.default_rng(0).random((2, 2048, 2048), np.float32)
            product = timed({"product": partial(np.matmul, left, right)}, rounds)["product"]
            share = len(images) * RESNET56 / times["openvino float32"] * product / 2048**3
            what = "multiplications a second: ResNet-56 by openvino / a product of matrices by NumPy"
            yield f"{what}, float32", spread(share)
    ways = {"resnet56": partial(replace(untrained("resnet56"), engine="openvino"), images)}
    ways |= {engine: partial(lite0(engine=engine).encode_images, shown) for engine in ENGINES}
    times, what = timed(ways, rounds), "the referee EfficientNet-Lite0 at 128 pixels"
    yield f"{what}: torch / openvino", spread(times["torch"] / times["openvino"])
    yield f"{what} / ResNet-56, openvino", spread(times["openvino"] / times["resnet56"])


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


def methods(rounds: int, small: bool) -> Figures:
    """Seconds to predict an observed set of ImageNet's size, the median of three sets."""
    k, d, n = (20, 32, 100) if small else (1000, 2048, 1000)
    meta, found = made_up(k, d, n), {}
    for name, method in methods_of("accuracy").items():
        if name not in SLOW:
            fitted = clone(method).fit(meta)
            found[name] = np.median([seconds(partial(fitted.predict, [replace(each)])) for each in meta.sets])
    yield "methods, 1,000 classes, 2,048 features: s a set of 1,000, where .05 or more", slow(found, 0.05, 2)


def fitting(rounds: int, small: bool) -> Figures:
    """Seconds to fit each method to observed sets, and to predict as many."""
    meta, found = made_up(10, 64, 500, 12 if small else 120), {}
    for name, method in methods_of("accuracy").items():
        if name not in SLOW:
            found[name] = seconds(lambda method=method: clone(method).fit(meta).predict(meta.sets))
    yield "fit to 120 sets of 500 and predict them, 10 classes: s, where 1 or more", slow(found, 1, 1)


def transport(rounds: int, small: bool) -> Figures:
    """COT's exact transport against POT's (`pip install POT`)."""
    n = 100 if small else 1000
    for k in (10, 100, 1000):
        rng = np.random.default_rng(0)
        gain = np.exp(3 * rng.normal(size=(n, k)))
        gain /= gain.sum(axis=1, keepdims=True)
        images, classes = np.ones(n, np.int64), np.bincount(rng.integers(k, size=5 * n), minlength=k)
        ways: dict[str, Callable[[], object]] = {"kit": partial(optimal_plan, gain, images, classes)}
        if find_spec("ot"):
            import ot  # compiled at its first import, with warnings of its own

            ways["POT"] = partial(ot.emd, images / n, classes / classes.sum(), 1 - gain, numItermax=10**8)
        times, what = timed(ways, rounds), f"exact transport of 1,000 images to {k:,} classes"
        yield f"{what}, s", spread(times["kit"])
        if "POT" in times:
            yield f"{what}: POT's `emd` / the kit", spread(times["POT"] / times["kit"])


def by_loader(batches: DataLoader[Any], steps: int) -> None:
    """ORA-A's training as it is mostly written."""
    network = Mlp(6, 8, 0.0)
    optimiser = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1e-6, total_iters=steps)
    for _, (rows, correct) in zip(range(steps), batches, strict=False):
        loss = torch.nn.functional.mse_loss(network(rows), correct)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()


def training(rounds: int, small: bool) -> Figures:
    """ORA-A's steps against a DataLoader's, which collates images, or fetches whole batches."""
    steps, batch = (2, 1000) if small else (10, 10_000)
    rows = torch.rand(200_000, 6)
    correct = torch.rand(len(rows)) < rows[:, 0]
    table = TensorDataset(rows, correct.float())
    whole = DataLoader(table, None, sampler=BatchSampler(RandomSampler(table), batch, drop_last=True))

    def kit() -> None:
        network = Mlp(6, 8, 0.0)
        batches = drawn_images(len(rows), batch, 0, rows.device)
        rates = [0.1 * (1 - step / steps) for step in range(steps)]
        train(network, rows, correct, None, batches, descent(network, 0.9, 5e-4, True), rates)

    collated = DataLoader(table, batch, shuffle=True, drop_last=True)
    loaders = {"images": partial(by_loader, collated, steps), "batches": partial(by_loader, whole, steps)}
    times = timed({"kit": kit, **loaders}, rounds)
    ratios = "; ".join(spread(times[name] / times["kit"]) for name in loaders)
    yield "ORA-A's steps: with PyTorch's DataLoader / the kit: images; whole batches", ratios


MEASURES = {
    measure.__name__: measure
    for measure in (rendering, statistics, distance, networks, methods, fitting, transport, training)
}


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("name", nargs="*", choices=[*MEASURES, []], default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    lines = []
    for name in options.name or MEASURES:
        for what, figure in MEASURES[name](1 if options.small else options.rounds, options.small):
            print(f"{what}: {figure}", flush=True)
            command = f"`OMP_NUM_THREADS=1 python benchmarks/speed/micro.py {name}`"
            measured = f"{pages.checked_out()}, {pages.today()}"
            lines.append({"what": what, "figure": figure, "command": command, "measured": measured})
    if options.write and not options.small:
        pages.merge("speed-figures", lines, "each by its own command")


if __name__ == "__main__":
    main()
