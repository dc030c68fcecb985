"""Speed and memory of whole commands: what a user waits for.

    OMP_NUM_THREADS=1 python benchmarks/speed/scale.py NAME [--small] [--write]

NAME is one of
observe       building and observing a set over bare forward passes of as many images, in rounds by turns.
pipeline      observing sets beside a stand-in for a GPU, over the rate of its bare passes, by the clock.
methods       fitting the default methods that read what a build observes to up to 1,000 sets, of up to 10,000
              images whose logits and moments are drawn, and predicting a tenth as many; of two networks.
Times are seconds of the processor unless a figure says otherwise. --small shows that it runs. --write puts
figures or tables into docs/results.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from sklearn.base import clone

from baselines import Estimator
from baselines.contract.families import subset
from starter.contest.tracks import TRACKS
from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import CHUNK, draw_recipes
from starter.data.sets.rendering import FromRecipe
from starter.models.classifiers import ARCHITECTURES, Classifier
from starter.observing.cache import Cache
from starter.observing.image_stats import image_stats
from starter.observing.observation import Lazy, MetaTrain, Moments, Observation, Source
from starter.observing.observe import AHEAD, Observer, observe_all
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


@dataclass(frozen=True)
class Used:
    """Seconds of processors of a process and its children, and GB of the largest of them."""

    processor: float
    memory: float
    text: str


def used(*words: object, folder: Path | None = None) -> Used:
    """Run `python` with these words."""
    command = [sys.executable, *map(str, words)]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    text = child.stdout.read()
    _, status, took = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"python {' '.join(map(str, words))} failed")
    return Used(took.ru_utime + took.ru_stime, took.ru_maxrss / 1e6, text)


def clocked(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[Any, float]:
    """What `work` gives, and seconds, of this process unless by another clock."""
    start = clock()
    found = work()
    return found, clock() - start


def passes(batches: Sequence[torch.Tensor], classifier: Classifier) -> None:
    """Forward passes of batches that lie ready and nothing else."""
    with torch.inference_mode():
        for batch in batches:
            classifier.features_of(batch)


def observed(rendering: FromRecipe, classifier: Classifier) -> None:
    """Render and observe into a fresh cache."""
    with tempfile.TemporaryDirectory() as folder:
        observe_all([rendering], Observer(classifier, Cache(Path(folder))), NEEDS)


def observing(small: bool) -> Figures:
    rng, size = np.random.default_rng(0), 500 if small else 1000
    base = ImageSet("base", rng.integers(256, size=(4000, 32, 32, 3), dtype=np.uint8))
    rendering = FromRecipe(draw_recipes("default", 1, 0, size)[0], base)
    ready = torch.randn(size // CHUNK, CHUNK, 3, 32, 32)
    batches = [batch.to(memory_format=torch.channels_last) for batch in ready]
    for arch in ("resnet56", "repvgg_a0"):
        torch.manual_seed(0)
        exact = Classifier(arch, arch, ARCHITECTURES[arch](10), tuple("0123456789"), *MIDDLE)
        ways = {
            (engine, way): partial(work, of, replace(exact, engine=engine))
            for engine in ENGINES
            for way, work, of in (("bare", passes, batches), ("all", observed, rendering))
        }
        turns = [{name: clocked(way)[1] for name, way in ways.items()} for _ in range(2 if small else 4)][1:]
        for engine in ENGINES:
            ratio = statistics.median(turn[engine, "all"] / turn[engine, "bare"] for turn in turns)
            yield f"build and observe / bare forward passes, {arch}, {engine} float32", f"{ratio:.2f}"
        gain = statistics.median(turn["torch", "bare"] / turn["openvino", "all"] for turn in turns)
        what = "images a second: build and observe by openvino / bare forward passes of torch"
        yield f"{what}, {arch}, float32", f"{gain:.2f}"


@dataclass
class StandIn:
    """What passes images takes so many seconds for each, and no processor."""

    seconds: float
    name = digest = place = "stand-in"
    device = "cpu"
    head_weight = np.zeros((10, 64), np.float32)

    def __call__(self, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        time.sleep(self.seconds * len(images))
        return torch.zeros(len(images), 10), torch.zeros(len(images), 64)


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


WIDTHS = 64, 1280
"""Features of ResNet-56 and RepVGG-A0."""
MOST = 100
"""Sets of which FD is measured; it takes as long for each."""
LEFT = (*SLOW, "agreement")
"""Methods that train for minutes, or need a referee."""


def drawn(folder: Path, sets: int, size: int, width: int) -> MetaTrain:
    """Sets of which the last is the source, surer and oftener right one by one; logits are read when used."""
    rng, classes = np.random.default_rng(0), 10
    truth = rng.integers(classes, size=size)
    logits = open_memmap(folder / "logits.npy", "w+", np.float32, (sets + 1, size, classes))
    for number, own in enumerate(logits):
        own[:] = rng.normal(size=own.shape)
        own[np.arange(size), truth] += 1 + 4 * number / sets
    correct = [own.argmax(axis=1) == truth for own in logits]
    statistics = rng.random((size, 3), np.float32)
    of_all = Moments.of(rng.normal(size=(2 * width, width)) * np.geomspace(1, 0.01, width))

    def seen(number: int) -> Observation:
        moments = Moments(of_all.mean, of_all.covariance * (1 + number / sets), size)
        own = np.array(logits[number])
        return Observation(f"set{number}", "drawn", own, moments, image_stats=statistics)

    source = Source(seen(sets), truth, seen(sets), np.zeros((classes, width)), np.zeros(classes))
    accuracies = np.array([each.mean() for each in correct[:sets]])
    families = [frozenset({str(number % 20)}) for number in range(sets)]
    lazily, labels = Lazy(range(sets), seen), [truth] * sets
    return MetaTrain(source, lazily, accuracies, correct[:sets], families, labels=labels)


def fit(sets: int, size: int) -> None:
    """Print the seconds of each method, and of FD by each width."""
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
    print(json.dumps(seconds))


def fitted_and_predicting(method: Estimator, meta: MetaTrain) -> object:
    """Fit a method, and predict every tenth set."""
    return clone(method).fit(meta).predict(meta.sets[::10])


def of_methods(small: bool) -> Iterator[dict[str, object]]:
    for size, counts in ((1000, (10, 100, 1000)), (10_000, (10, 100))):
        for sets in counts[:1] if small else counts:
            took = used(__file__, "fit", sets, size)
            seconds = json.loads(took.text.splitlines()[-1])
            both = sum(seconds.values()) + sum(each for name, each in seconds.items() if name[:2] != "fd")
            line = {"sets": sets, "images of a set": size, "two networks, s": both}
            slowest = ("gated", "cott", f"fd, {WIDTHS[1]:,} features")
            yield line | {f"{name}, s": seconds[name] for name in slowest} | {"memory, GB": took.memory}


FIGURES = {"observe": observing}
TABLES = {
    "pipeline": (pipeline, "scaling-pipeline"),
    "methods": (of_methods, "scaling-methods"),
}


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["fit"]:
        return fit(int(sys.argv[2]), int(sys.argv[3]))
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("name", choices=[*FIGURES, *TABLES])
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    command = f"benchmarks/speed/scale.py {options.name}"
    if options.name in FIGURES:
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
