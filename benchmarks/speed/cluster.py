"""Builds on a Dask cluster: speed, what a set costs, the scheduler's rate, and workers that are killed.

    export OMP_NUM_THREADS=1 UNSEEN_DATA=FOLDER
    python benchmarks/speed/cluster.py speed [--sets 40] [--size 1000] [--rounds 1]
    python benchmarks/speed/cluster.py set [--size 1000]
    python benchmarks/speed/cluster.py tasks [--count 5000]
    python benchmarks/speed/cluster.py kill [--rounds 20]

`speed` builds the same competition (CIFAR-10's test images, ResNet-56; a tenth of the sets are test sets)
without a cluster, with one and with two local workers, in turn, each in a process of its own. Wall time is
what counts on quiet cores. Beside it stands what the processors did, which others on the machine change less:
the time that the process without a cluster computed / (that of the client + that of the busiest worker).
Without UNSEEN_DATA it is the embedded data and `small`. `set` measures one set's rendering, forward passes,
statistics and writing, and its bytes. `tasks` hands out tasks that do nothing. `kill` builds small
competitions on two workers, kills one with SIGKILL at a random time, and compares every file with a build
without a cluster.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from starter.classifiers import load_classifier, new_network, save_classifier
from starter.classifiers.classifier import Classifier
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD
from starter.competition.cluster import Cluster, connected
from starter.making.build import build
from starter.observing.cache import Cache
from starter.observing.image_stats import image_stats
from starter.observing.observe import Observer, compute
from starter.sets.recipe import draw_recipes
from starter.sets.rendering import FromRecipe
from starter.sources.glyphs.digits import CLASSES
from starter.sources.sources import load_source
from starter.tracks.accuracy.settings import AccuracySettings
from starter.tracks.tracks import TRACKS

ARMS = ("none", "local:1", "local:2")


def settings(sets: int, size: int, folder: Path) -> AccuracySettings:
    """On real data where UNSEEN_DATA says where it is; else on embedded data, with an untrained `small`."""
    test = max(2, sets // 10)
    counts = {"train_sets": sets - test, "val_sets": 0, "test_sets": test, "set_size": size}
    if data := os.environ.get("UNSEEN_DATA"):
        weights = f"resnet56={data}/weights/resnet56.safetensors"
        return AccuracySettings(source=f"{data}/cifar10.zip/test", classifiers=(weights,), **counts)  # type: ignore[arg-type]
    path = folder / "untrained.safetensors"
    if not path.exists():
        network = new_network("small", len(CLASSES))
        save_classifier(Classifier("small", "small", network, CLASSES, SMALL_MEAN, SMALL_STD), path)
    return AccuracySettings(classifiers=(f"untrained={path}",), **counts)  # type: ignore[arg-type]


def arm(where: str, sets: int, size: int) -> None:
    """Build once and print wall time, and what this process and each worker computed."""
    start, workers_cpu = time.perf_counter(), [0.0]
    with tempfile.TemporaryDirectory() as folder, connected(None if where == "none" else where) as workers:
        build(Path(folder) / "contest", settings(sets, size, Path(folder)), 1, cluster=workers)
        if workers:
            workers_cpu = list(workers.client.run(time.process_time).values())
    wall = time.perf_counter() - start
    print(json.dumps({"wall": wall, "client": time.process_time(), "workers": workers_cpu}))


def speed(sets: int, size: int, rounds: int) -> None:
    """All arms in turn, in processes of their own."""
    found: dict[str, list[dict]] = {where: [] for where in ARMS}
    for _ in range(rounds):
        for where in ARMS:
            options = ["--sets", str(sets), "--size", str(size), "--where", where]
            done = subprocess.run(
                [sys.executable, __file__, "arm", *options], stdout=-1, stderr=-3, check=True
            )
            one = json.loads(done.stdout.splitlines()[-1])
            found[where].append(one)
            cpu = one["client"] + max(one["workers"])
            load = os.getloadavg()[0]
            print(
                f"{where}: {one['wall']:.0f} s; computed: client {one['client']:.1f} s, workers "
                f"{', '.join(f'{each:.1f}' for each in one['workers'])} s, one after the other {cpu:.1f} s; "
                f"load {load:.1f}",
                flush=True,
            )
    wall = {where: statistics.median(one["wall"] for one in ones) for where, ones in found.items()}
    path = {
        where: statistics.median(one["client"] + max(one["workers"]) for one in ones)
        for where, ones in found.items()
    }
    for name, times in (("wall", wall), ("computed", path)):
        print(
            f"{name}: two workers {times['none'] / times['local:2']:.2f} times as fast as one process; "
            f"overhead of one worker {100 * (times['local:1'] / times['none'] - 1):.0f} %"
        )


def one_set(size: int) -> None:
    """Seconds of this process for one set, as the median of three, and bytes of its entries."""
    with tempfile.TemporaryDirectory() as folder:
        asked = settings(40, size, Path(folder))
        splits = load_source(asked.source, None, 0)
        classifier = load_classifier(asked.classifiers[0], splits.classes)
        observer = Observer(classifier, Cache(Path(folder)))
        times: dict[str, list[float]] = {"render": [], "forward": [], "statistics": [], "write": []}
        for recipe in draw_recipes("default", 4, 0, size):
            rendering = FromRecipe(recipe, splits.meta_base)
            chunks, rendered = clocked(lambda r=rendering: list(r.chunks()))
            _, forward = clocked(lambda c=chunks: [classifier(chunk) for chunk in c])
            _, told = clocked(lambda c=chunks: [image_stats(chunk) for chunk in c])
            arrays = compute(rendering, classifier, ("logits", *TRACKS["accuracy"].needs))
            _, written = clocked(
                lambda a=arrays, r=rendering: [
                    observer.cache.store(part, observer.key(part, r), a[part]) for part in a
                ]
            )
            for name, value in zip(times, (rendered, forward, told, written), strict=True):
                times[name].append(value)
        for name, values in times.items():
            print(f"{name}: {1000 * statistics.median(values[1:]):.1f} ms of computing per set of {size:,}")
        for part in ("logits", *TRACKS["accuracy"].needs):
            paths = (Path(folder) / part).iterdir()
            print(f"{part}: {np.mean([path.stat().st_size for path in paths]):,.0f} bytes per set")


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives, and the processor's time that it took."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def tasks(count: int) -> None:
    """The scheduler's rate with tasks of the kind that a build has, which do nothing."""
    with connected("local:2") as workers:
        assert workers is not None
        client = workers.client
        client.gather(client.map(len, ["", ""], pure=False))
        names = [f"train_{number:06d}" for number in range(count)]
        start, cpu = time.perf_counter(), time.process_time()
        futures = client.map(
            nothing, names, shared=("token",), key=[("nothing", name) for name in names], batch_size=1000
        )
        client.gather(futures)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(
            f"{count:,} tasks: {count / wall:,.0f} a second; client and scheduler computed "
            f"{1e3 * cpu / count:.2f} ms for each, so {count / cpu:,.0f} a second at most; "
            f"load {os.getloadavg()[0]:.1f}"
        )


def nothing(name: str, shared: tuple[str, ...]) -> str:
    """A task without work."""
    return ""


def files(root: Path) -> dict[str, bytes]:
    """Every file but the lock."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def kill(rounds: int) -> None:
    """Builds in each of which a worker dies."""
    os.environ.pop("UNSEEN_DATA", None)
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        asked = settings(20, 60, folder)
        build(folder / "reference/contest", asked, 1)
        expected, same, lasted = files(folder / "reference/contest"), 0, 2.0
        for number in range(rounds):
            root = folder / f"{number}/contest"
            victim, moment = draw.randrange(2), draw.random()
            with connected("local:2") as workers:
                assert workers is not None
                lasted, hit = killed_build(workers, asked, root, victim, moment * lasted)
            same += files(root) == expected
            print(
                f"round {number + 1}: killed after {hit:.1f} s, built after {lasted:.1f} s; {same} identical",
                flush=True,
            )
    print(f"{same} of {rounds} builds are identical to the reference")


def killed_build(
    workers: Cluster, asked: AccuracySettings, root: Path, victim: int, delay: float
) -> tuple[float, float]:
    """Build, killing a worker `delay` seconds after the first entry; how long the build took, and when."""
    workers.client.wait_for_workers(2)
    pid = list(workers.client.cluster.workers.values())[victim].pid
    start, hit = time.perf_counter(), [0.0]

    def strike() -> None:
        while not (root / "cache").is_dir():
            time.sleep(0.01)
        time.sleep(delay / 2)
        hit[0] = time.perf_counter() - start
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=strike)
    killer.start()
    build(root, asked, 1, cluster=workers)
    lasted = time.perf_counter() - start
    killer.join()
    return lasted, hit[0]


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("part", choices=("speed", "set", "tasks", "kill", "arm"))
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--where", choices=(*ARMS, "local:4"), default="none")
    options = parser.parse_args()
    parts = {
        "speed": lambda: speed(options.sets, options.size, options.rounds or 1),
        "set": lambda: one_set(options.size),
        "tasks": lambda: tasks(options.count),
        "kill": lambda: kill(options.rounds or 20),
        "arm": lambda: arm(options.where, options.sets, options.size),
    }
    parts[options.part]()


if __name__ == "__main__":
    main()
