"""How long `import unseen`, `--help` of every command, and an estimate from logits take, each as a process.

    python benchmarks/speed/startup.py [--rounds 5] [--only NAME] [--write]

A line each: the median over rounds of seconds of processor and of clock, Python's own start included. They
take turns, so that what else runs slows all alike. Then `unseen.estimate` in a process that has called it
before, and the median and the slowest of all commands' `--help`. --write puts the seconds of the processor
into docs/results.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import unseen
import unseen.cli

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages

IMAGES, CLASSES = 10_000, 10
FILES = ("val.npy", "val_labels.npy", "today.npy")
ESTIMATE = ("--logits", FILES[0], "--labels", FILES[1], "--unlabelled", FILES[2])
LIMITS = {"import unseen": 0.15, "unseen --help": 0.3, "unseen estimate": 6.0, "unseen.estimate, again": 2.0}
"""Seconds of clock on a machine that does nothing else."""

CLOCK = "clock, s"
Seconds = tuple[float, float]
"""Of the processor, and of the clock."""


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    ways = {name: way for name, way in all_ways().items() if options.only in name}
    with tempfile.TemporaryDirectory() as folder:
        for name, values in zip(FILES, logits(), strict=True):
            np.save(Path(folder) / name, values)
        rounds = [{name: seconds(way, folder) for name, way in ways.items()} for _ in range(options.rounds)]
    found = {name: [each[name] for each in rounds] for name in ways}
    if options.only in "unseen.estimate, again":
        found["unseen.estimate, again"] = [estimated() for _ in range(options.rounds + 1)][1:]
    lines = [line(name, times) for name, times in found.items()]
    for each in lines:
        name, processor, clock, aim = each.values()
        print(f"{name:<34}{processor:6.2f} s of processor {clock:6.2f} s of clock  {aim and f'aim {aim} s'}")
    helps = sorted(each["processor, s"] for each in lines if "--help`" in each["what"])
    if helps:
        middle = statistics.median(helps)
        print(f"--help of {len(helps)} commands: median {middle:.2f} s, at most {helps[-1]:.2f} s")
    if options.write:
        kept = [{name: value for name, value in each.items() if name != CLOCK} for each in lines]
        pages.record("speed-startup", kept)


def all_ways() -> dict[str, tuple[str, ...]]:
    """What is run, by its name: words after `python`."""
    command = ("-m", "unseen")
    helps = {f"unseen {name} --help": (*command, *name.split(), "--help") for name in unseen.cli.COMMANDS}
    return {
        "python": ("-c", ""),
        "import unseen": ("-c", "import unseen"),
        "unseen --help": (*command, "--help"),
        "unseen estimate": (*command, "estimate", *ESTIMATE),
        **helps,
    }


def logits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits of labelled images, their labels, and logits of others."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=2 * IMAGES)
    values = (2 * (rng.normal(size=(2 * IMAGES, CLASSES)) + 2 * np.eye(CLASSES)[labels])).astype(np.float32)
    return values[:IMAGES], labels[:IMAGES], values[IMAGES:] / 2


def seconds(words: tuple[str, ...], folder: str) -> Seconds:
    """How long a process takes."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    clock, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, clock


def estimated() -> Seconds:
    """How long the library takes for the same."""
    values = logits()
    processor, clock = time.process_time(), time.perf_counter()
    unseen.estimate(*values)
    return time.process_time() - processor, time.perf_counter() - clock


def line(name: str, times: list[Seconds]) -> dict[str, Any]:
    """What is told of one."""
    processor, clock = (statistics.median(each) for each in zip(*times, strict=True))
    limit = f"{LIMITS[name]:g}" if name in LIMITS else ""
    return {"what": f"`{name}`", "processor, s": processor, CLOCK: clock, "aim, s": limit}


if __name__ == "__main__":
    main()
