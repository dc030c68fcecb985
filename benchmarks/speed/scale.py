"""Speed, memory and precision: what a user waits for, and what faster arithmetic changes.

    OMP_NUM_THREADS=1 python benchmarks/speed/scale.py NAME [--device cuda] [--small] [--write]

NAME is one of
observe       building and observing a set over bare forward passes of as many images, in rounds by turns;
              with --device, images a second of both there, by the clock.
imagenet      methods that predict a set of ImageNet's size, the median of three sets that are drawn.
training      gradients of the oracles' networks, in rounds by turns with autograd and a matrix product.
pipeline      observing sets beside a stand-in for a GPU, over the rate of its bare passes, by the clock.
methods       fitting the default methods that read what a build observes to up to 1,000 sets, of up to 10,000
              images whose logits and moments are drawn, and predicting a tenth as many; of two networks.
precision     logits and errors of methods in a GPU's TF32, emulated, and in bfloat16, beside IEEE's float32,
              on CIFAR-10's test images; UNSEEN_DATA is as for benchmarks/results/cifar10.py.
Times are seconds of the processor unless a figure says otherwise. --small shows that it runs. --write puts
figures or tables into docs/results.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from sklearn.base import clone
from torch.utils.flop_counter import FlopCounterMode

from baselines import Estimator
from baselines.contract.families import subset
from oracle.networks import Attention, Mlp
from oracle.training import Program, traced
from starter.contest.tracks import TRACKS
from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import CHUNK, draw_recipes
from starter.data.sets.rendering import FromRecipe
from starter.models.classifiers import ARCHITECTURES, Classifier
from starter.models.classifiers.engine import float32_on
from starter.observing.cache import Cache
from starter.observing.image_stats import image_stats
from starter.observing.observation import Lazy, MetaTrain, Moments, Observation, Source
from starter.observing.observe import AHEAD, Observer, observe_all
from submission.arrays import FloatArray
from submission.competition import ENGINES
from unseen.api.methods import DEFAULT, SLOW, methods_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages
import real

NEEDS = TRACKS["accuracy"].needs
MIDDLE = ((0.5,) * 3, (0.25,) * 3)
"""Mean and standard deviation by which random networks normalise."""
Figures = Iterator[tuple[str, str]]
"""What was measured, and the figure."""


def clocked(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[Any, float]:
    """What `work` gives, and seconds, of this process unless by another clock."""
    start = clock()
    found = work()
    return found, clock() - start


def passes(batches: Sequence[torch.Tensor], classifier: Classifier) -> None:
    """Forward passes of batches that lie ready and nothing else; the last is waited for."""
    with torch.inference_mode():
        for batch in batches:
            features = classifier.features_of(batch)
    features.cpu()


def observed(sets: Sequence[FromRecipe], classifier: Classifier) -> None:
    """Render and observe into a fresh cache."""
    with tempfile.TemporaryDirectory() as folder:
        observe_all(sets, Observer(classifier, Cache(Path(folder))), NEEDS)


def with_random_weights(arch: str) -> Classifier:
    """A classifier of ten classes."""
    torch.manual_seed(0)
    return Classifier(arch, arch, ARCHITECTURES[arch](10), tuple("0123456789"), *MIDDLE)


def beside(device: str, small: bool) -> Figures:
    """What a device reaches alone, in batches of 2,000, and in the kit, whose sets are rendered beside it."""
    images = 2000 if small else 100_000
    rng = np.random.default_rng(0)
    base = ImageSet("base", rng.integers(256, size=(10_000, 32, 32, 3), dtype=np.uint8))
    for arch, form in product(("resnet56", "repvgg_a0"), ("float32", "bfloat16")):
        classifier = replace(with_random_weights(arch), precision=form, device=device)
        batches = [classifier.normalised(base.images[:2000])] * (images // 2000)
        passes(batches, classifier)
        alone = clocked(partial(passes, batches, classifier), time.perf_counter)[1]
        computes = form if form == "bfloat16" else f"{form} {float32_on(device)}".strip()
        what = f"images a second on {device}, {arch}, {computes}"
        yield f"{what}: bare forward passes", f"{images / alone:,.0f}"
        for size in (1000, min(10_000, images)):
            sets = [FromRecipe(recipe, base) for recipe in draw_recipes("default", images // size, 0, size)]
            took = clocked(partial(observed, sets, classifier), time.perf_counter)[1]
            figure = f"{images / took:,.0f}; {alone / took:.2f}"
            yield f"{what}: build and observe sets of {size:,}; share of the bare rate", figure


def observing(small: bool) -> Figures:
    rng, size = np.random.default_rng(0), 500 if small else 1000
    base = ImageSet("base", rng.integers(256, size=(4000, 32, 32, 3), dtype=np.uint8))
    rendering = FromRecipe(draw_recipes("default", 1, 0, size)[0], base)
    ready = torch.randn(size // CHUNK, CHUNK, 3, 32, 32)
    batches = [batch.to(memory_format=torch.channels_last) for batch in ready]
    for arch in ("resnet56", "repvgg_a0"):
        exact = with_random_weights(arch)
        ways = {
            (engine, way): partial(work, of, replace(exact, engine=engine))
            for engine in ENGINES
            for way, work, of in (("bare", passes, batches), ("all", observed, [rendering]))
        }
        turns = [{name: clocked(way)[1] for name, way in ways.items()} for _ in range(2 if small else 4)][1:]
        for engine in ENGINES:
            ratio = statistics.median(turn[engine, "all"] / turn[engine, "bare"] for turn in turns)
            yield f"build and observe / bare forward passes, {arch}, {engine} float32", f"{ratio:.2f}"
        gain = statistics.median(turn["torch", "bare"] / turn["openvino", "all"] for turn in turns)
        what = "images a second: build and observe by openvino / bare forward passes of torch"
        yield f"{what}, {arch}, float32", f"{gain:.2f}"


def imagenet(small: bool) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        meta = drawn(Path(folder), 3, *((100, 32, 20) if small else (1000, 2048, 1000)))
        seconds = dict[str, float]()
        for name, method in methods_of("accuracy").items():
            if name not in SLOW and {*method.needs} <= {*NEEDS}:
                fitted = clone(method).fit(meta)
                turns = [clocked(partial(fitted.predict, [each]))[1] for each in meta.sets]
                seconds[name] = statistics.median(turns)
    slowest = sorted((name for name in seconds if seconds[name] >= 0.05), key=lambda name: -seconds[name])
    what = "methods, 1,000 drawn classes (easy transport), 2,048 features: s a set of 1,000, from .05 on"
    yield what, "; ".join(f"`{name}` {seconds[name]:.2f}" for name in slowest)


def training(small: bool) -> Figures:
    rows, square, table = 1000 if small else 10_000, torch.rand(1024, 1024), torch.rand(50_000, 8)
    for name, network in {"A": Mlp(6, 8, 0.0), "B": Attention(6, 8, 0.1, "one", 3)}.items():
        autograd = partial(traced, network, table, torch.randint(len(table), (rows,)))
        with FlopCounterMode(display=False) as counter:
            autograd()
        program = partial(Program(network, table, rows).run, autograd.args[2])
        ways = (program, autograd, partial(torch.mm, square, square))
        took, plain, product = np.median([[clocked(way)[1] for way in ways] for _ in range(41)], axis=0)
        rate, peak = counter.get_total_flops() / took / 1e9, 2 * len(square) ** 3 / product / 1e9
        what = f"gradients of ORA-{name} for {rows:,} rows: operations; GFLOP/s"
        figure = f"{counter.get_total_flops():.2g}; {rate:.0f}; {rate / peak:.2f}; {plain / took:.2f}"
        yield f"{what}; share of a matrix product's; autograd's time / theirs", figure


BANDWIDTH = 12e9
"""Bytes a second of the stand-in's copies, as of PCI Express 3.0 with 16 lanes."""


@dataclass
class StandIn:
    """What passes images takes so many seconds for each and copies there and back, and no processor."""

    seconds: float
    name = digest = place = "stand-in"
    device = "cpu"
    head_weight = np.zeros((10, 64), np.float32)

    def __call__(self, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        logits, features = torch.zeros(len(images), 10), torch.zeros(len(images), 64)
        copied = images.nbytes + logits.nbytes + features.nbytes
        time.sleep(self.seconds * len(images) + copied / BANDWIDTH)
        return logits, features


class Beside(Observer):
    """Observes as beside a GPU."""

    ahead = AHEAD


def pipeline(small: bool) -> Iterator[dict[str, object]]:
    rng, images = np.random.default_rng(0), 20_000 if small else 100_000
    base = ImageSet("base", rng.integers(256, size=(10_000, 32, 32, 3), dtype=np.uint8))
    for size in (500, 1000, 10_000):
        sets = [FromRecipe(recipe, base) for recipe in draw_recipes("default", images // size, 0, size)]
        render = partial(lambda sets: [image_stats(chunk) for each in sets for chunk in each.chunks()], sets)
        shares = []
        for _ in range(1 if small else 2):
            bare = clocked(render, time.perf_counter)[1] / 0.6  # what rendering takes of a pass
            with tempfile.TemporaryDirectory() as folder:
                observer = Beside(StandIn(bare / images), Cache(Path(folder)))
                took = clocked(partial(observe_all, sets, observer, NEEDS), time.perf_counter)[1]
            shares.append(bare / took)
        yield {"images of a set": size, "share of the bare rate": statistics.median(shares)}


def meta_train(source: Source, sets: Sequence[Observation], labels: Sequence[NDArray[np.int64]]) -> MetaTrain:
    """Meta-train sets with these labels, of 20 families by turns."""
    correct = [each.predicted == truth for each, truth in zip(sets, labels, strict=True)]
    families = [frozenset({str(number % 20)}) for number in range(len(sets))]
    return MetaTrain(source, sets, np.array([*map(np.mean, correct)]), correct, families, labels=labels)


WIDTHS = 64, 1280
"""Features of ResNet-56 and RepVGG-A0."""
MOST = 100
"""Sets of which FD is measured; it takes as long for each."""
LEFT = (*SLOW, "agreement")
"""Methods that train for minutes, or need a referee."""


def drawn(folder: Path, sets: int, size: int, width: int, classes: int = 10) -> MetaTrain:
    """Sets of which the last is the source, surer and oftener right one by one; logits are read when used."""
    rng = np.random.default_rng(0)
    truth = rng.integers(classes, size=size)
    logits = open_memmap(folder / "logits.npy", "w+", np.float32, (sets + 1, size, classes))
    for number, own in enumerate(logits):
        own[:] = rng.normal(size=own.shape)
        own[np.arange(size), truth] += 1 + 4 * number / sets
    statistics = rng.random((size, 3), np.float32)
    of_all = Moments.of(rng.normal(size=(2 * width, width)) * np.geomspace(1, 0.01, width))

    def seen(number: int) -> Observation:
        moments = Moments(of_all.mean, of_all.covariance * (1 + number / sets), size)
        own = np.array(logits[number])
        return Observation(f"set{number}", "drawn", own, moments, image_stats=statistics)

    source = Source(seen(sets), truth, seen(sets), np.zeros((classes, width)), np.zeros(classes))
    return meta_train(source, Lazy(range(sets), seen), [truth] * sets)


def fit(sets: int, size: int) -> None:
    """Print the seconds of each method, and of FD by each width; and the memory that was needed, in GB."""
    kit, seconds = methods_of("accuracy"), dict[str, float]()
    reading = [name for name in DEFAULT["accuracy"] if {*kit[name].needs} <= {*NEEDS} and name not in LEFT]
    with tempfile.TemporaryDirectory() as folder:
        for width in WIDTHS:
            meta = drawn(Path(folder), sets, size, width)
            for name in reading if width == min(WIDTHS) else ("fd",):
                rows = np.arange(min(sets, MOST) if name == "fd" else sets)
                work = partial(fitted_and_predicting, kit[name], subset(meta, rows))
                took = clocked(work)[1] * sets / len(rows)
                seconds[f"{name}, {width:,} features" if name == "fd" else name] = took
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps([seconds, memory]))


def fitted_and_predicting(method: Estimator, meta: MetaTrain) -> object:
    """Fit a method, and predict every tenth set."""
    return clone(method).fit(meta).predict(meta.sets[::10])


def of_methods(small: bool) -> Iterator[dict[str, object]]:
    for size in (1000, 10_000):
        for sets in (10,) if small else (10, 100, 1000):
            command = [sys.executable, __file__, "fit", str(sets), str(size)]
            text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            seconds, memory = json.loads(text.splitlines()[-1])
            both = sum(seconds.values()) + sum(each for name, each in seconds.items() if name[:2] != "fd")
            line = {"sets": sets, "images of a set": size, "two networks, s": both}
            slowest = ("gated", "cott", f"fd, {WIDTHS[1]:,} features")
            yield line | {f"{name}, s": seconds[name] for name in slowest} | {"memory, GB": memory}


def rounded(values: torch.Tensor) -> torch.Tensor:
    """Float32 with 10 bits of the mantissa, as TF32 has: to the nearest, ties to even."""
    bits = values.view(torch.int32)
    return (bits + 0xFFF + (bits >> 13 & 1) & -0x2000).view(torch.float32)


def in_tf32(classifier: Classifier) -> Classifier:
    """A copy whose convolutions read TF32 and sum float32; the last layer is IEEE's, as in PyTorch."""
    found = replace(classifier)
    for layer in found.deployed.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.weight.data = rounded(layer.weight.data)
            layer.register_forward_pre_hook(lambda _, inputs: (rounded(inputs[0]),))
    return found


def judged(classifier: Classifier, sets: Sequence[ImageSet]) -> tuple[FloatArray, dict[str, float]]:
    """Logits of the second half of the sets, and RMSE there, in points, of methods fitted to the first."""
    reference, train, *others = sets
    needs = ("moments", "features", "image_stats")
    with tempfile.TemporaryDirectory() as folder:
        observer = Observer(classifier, Cache(Path(folder)))
        source, seen = real.observed(observer, reference, train, *others, needs=needs)
        meta = meta_train(source, seen, [each.truth for each in others])
        learnt, rest = np.split(np.arange(len(seen)), 2)
        errors = dict[str, float]()
        for name, method in methods_of("accuracy").items():
            if name not in SLOW and {*method.needs} <= {*needs}:
                fitted = clone(method).fit(subset(meta, learnt))
                found = fitted.predict([seen[number] for number in rest])
                errors[name] = 100 * float(np.sqrt(np.mean((found - meta.targets[rest]) ** 2)))
    return np.concatenate([seen[number].logits for number in rest]), errors


def precision(small: bool) -> Iterator[dict[str, object]]:
    real.require("weights/resnet56.safetensors", "weights/repvgg_a0.safetensors")
    reference, base = real.held_out(1000, 200) if small else real.held_out()
    recipes = draw_recipes("default", 8 if small else 24, 0, 300)
    sets = [reference, real.images("train", len(reference)), *(recipe.render(base) for recipe in recipes)]
    for arch in ("resnet56", "repvgg_a0"):
        exact = replace(real.classifier(arch), engine="torch")
        logits, errors = judged(exact, sets)
        for name, other in {"TF32": in_tf32(exact), "bfloat16": replace(exact, precision="bfloat16")}.items():
            theirs, rough = judged(other, sets)
            moved = {method: abs(rough[method] - errors[method]) for method in errors}
            most = max(moved, key=moved.__getitem__)
            changed = (theirs.argmax(axis=1) != logits.argmax(axis=1)).mean()
            yield {
                "network": arch,
                "convolutions in": name,
                "largest logit": f"{abs(logits).max():.1f}",
                "largest difference": f"{abs(theirs - logits).max():.2g}",
                "mean difference": f"{abs(theirs - logits).mean():.2g}",
                "other predictions, %": 100 * float(changed),
                "largest change of an RMSE, points": f"{moved[most]:.2f} (`{most}`, of {errors[most]:.2f})",
                "median change, points": statistics.median(moved.values()),
            }


FIGURES = {"observe": observing, "imagenet": imagenet, "training": training}
TABLES = {
    "pipeline": (pipeline, "scaling-pipeline"),
    "methods": (of_methods, "scaling-methods"),
    "precision": (precision, "scaling-precision"),
}


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["fit"]:
        return fit(int(sys.argv[2]), int(sys.argv[3]))
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("name", choices=[*FIGURES, *TABLES])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", help="observe: where networks run, as cuda")
    options = parser.parse_args()
    command = f"benchmarks/speed/scale.py {options.name}"
    if options.device:
        figures = beside(options.device, options.small)
        pages.tell(figures, f"{command} --device {options.device}", options.write)
    elif options.name in FIGURES:
        pages.tell(FIGURES[options.name](options.small), command, options.write)
    else:
        measure, table = TABLES[options.name]
        lines: list[dict[str, Any]] = []
        for line in measure(options.small):
            print(*(f"{each:.2f}" if isinstance(each, float) else each for each in line.values()), flush=True)
            lines.append(line)
        if options.write:
            pages.record(table, lines, command=f"{pages.ONE_THREAD} {command}")


if __name__ == "__main__":
    main()
