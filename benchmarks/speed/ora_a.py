"""Training ORA-A: steps a second against a plain DataLoader loop, and the memory of DataCV's whole table.

python benchmarks/speed/ora_a.py [--steps 60] [--rounds 5] [--networks] [--peak]

All loops train the same network on the same table with the same batch size and optimiser. The plain one has
DataLoader(TensorDataset(rows, correct), batch_size, shuffle=True), as it is mostly written; a second has the
DataLoader fetch whole batches (a BatchSampler as its sampler), so that nothing is collated. Printed: medians
of steps/s and of the rounds' ratios; then the peak of memory of a process of its own that fits ORA-A on
1,000 made-up sets of 10,000 images: six indicators measured and scaled, and 20 steps with the adjustment of
the loss, which has an array of its own. The sets themselves are made one by one, as a cache is read.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from oracle import OraA
from oracle.networks import Attention, Mlp
from oracle.training import descent, drawn_images, train
from starter.observing.observation import MetaTrain, Moments, Observation, Source

BATCH = 10_000
PAPER = 30_000
DATACV = 1000, 10_000
WHOLE = "whole batches"


def trained(network: torch.nn.Module, steps: int, rows: torch.Tensor, correct: torch.Tensor) -> None:
    """The paper's training, of fewer steps."""
    rates = [0.1 * (1 - step / steps) for step in range(steps)]
    batches = drawn_images(len(rows), BATCH, 0, rows.device)
    train(network, rows, correct, None, batches, descent(network, 0.9, 5e-4, True), rates)


def plain(batches: Iterable[list[torch.Tensor]], steps: int) -> None:
    """A loop as anyone would write it."""
    network = Mlp(6, 8, 0.0)
    optimiser = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1e-6, total_iters=steps)
    for _, (rows, correct) in zip(range(steps), forever(batches), strict=False):
        loss = torch.nn.functional.mse_loss(network(rows), correct)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()


def forever(batches: Iterable[list[torch.Tensor]]) -> Iterator[list[torch.Tensor]]:
    """The batches over and over."""
    while True:
        yield from batches


def compare(steps: int, rounds: int) -> None:
    """Print steps/s of the kit's trainer and of the two references."""
    rows = torch.rand(200_000, 6)
    correct = torch.rand(len(rows)) < rows[:, 0]
    table = TensorDataset(rows, correct.float())
    whole = BatchSampler(RandomSampler(table), BATCH, drop_last=True)
    loaders = {
        "DataLoader": DataLoader(table, BATCH, shuffle=True, drop_last=True),
        WHOLE: DataLoader(table, None, sampler=whole),
    }
    trained(Mlp(6, 8, 0.0), 1, rows, correct)
    plain(loaders[WHOLE], 1)  # PyTorch imports more of itself on the first step
    taken: dict[str, list[float]] = {"kit": [], **{name: [] for name in loaders}}
    for _ in range(rounds):
        start = time.perf_counter()
        trained(Mlp(6, 8, 0.0), steps, rows, correct)
        taken["kit"].append(time.perf_counter() - start)
        for name, loader in loaders.items():
            start = time.perf_counter()
            plain(loader, steps)
            taken[name].append(time.perf_counter() - start)
    for name, seconds in taken.items():
        ratio = statistics.median(other / kit for other, kit in zip(seconds, taken["kit"], strict=True))
        print(
            f"{name}: {steps / statistics.median(seconds):.1f} steps/s, the kit is {ratio:.2f} times as fast"
        )


@dataclass(frozen=True)
class MadeUp(Sequence[Observation]):
    """Observations of random logits and statistics, each made when it is asked for, as a cache is read."""

    m: int
    n: int

    def __len__(self) -> int:
        return self.m

    def __getitem__(self, index: int) -> Observation:  # type: ignore[override]
        if not 0 <= index < self.m:
            raise IndexError(index)
        rng = np.random.default_rng(index)
        logits = rng.standard_normal((self.n, 10), np.float32)
        logits[:, 0] += 3
        moments = Moments(rng.random(64), np.eye(64) * (1 + rng.random()), self.n)
        return Observation(
            f"set{index}", "made-up", logits, moments, image_stats=rng.random((self.n, 3), np.float32)
        )


def peak() -> None:
    """Fit ORA-A on all sets, of few steps, and print the peak of resident memory."""
    sets = MadeUp(*DATACV)
    correct = [np.zeros(sets.n, np.bool_) for _ in range(sets.m)]
    for rows in correct:
        rows[: sets.n // 4] = True
    source = Source(sets[0], np.zeros(sets.n, np.int64), sets[1], np.zeros((10, 64)), np.zeros(10))
    meta = MetaTrain(source, sets, np.full(sets.m, 0.25), correct, [frozenset()] * sets.m)
    before = peak_memory()
    OraA(iterations=20, batch_size=BATCH).fit(meta)
    after = peak_memory()
    print(f"{sets.m:,} sets of {sets.n:,}: {after:,} MB at the peak, {before:,} of them before the fit")


def networks(steps: int) -> None:
    """Print each network's steps a second of CPU time, and the hours that the paper's 30,000 take."""
    rows = torch.rand(200_000, 6)
    correct = torch.rand(len(rows)) < rows[:, 0]
    for name, network, count in (
        ("ora-a", Mlp(6, 8, 0.0), steps),
        ("ora-b, one token", Attention(6, 8, 0.1, "one", 3), steps),
        ("ora-b, a token an indicator", Attention(6, 8, 0.1, "indicators", 3), max(steps // 5, 1)),
    ):
        trained(network, 1, rows, correct)
        start = time.process_time()
        trained(network, count, rows, correct)
        rate = count / (time.process_time() - start)
        print(f"{name}: {rate:.2f} steps/s of CPU time, {PAPER / rate / 3600:.2f} hours for {PAPER:,}")


def peak_memory() -> int:
    """The process's own peak of resident memory in MB, as Linux has it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 // 10**6 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peak", action="store_true", help="only the memory")
    parser.add_argument("--networks", action="store_true", help="only the steps/s of ORA-A and ORA-B")
    options = parser.parse_args()
    if options.peak:
        peak()
        return
    print(f"{torch.get_num_threads()} threads, batch of {BATCH:,}")
    if options.networks:
        networks(options.steps)
        return
    compare(options.steps, options.rounds)
    subprocess.run([sys.executable, __file__, "--peak"], check=True)


if __name__ == "__main__":
    main()
