"""How time and memory of a build grow with the number of sets, in one process, on two and on four workers.

    OMP_NUM_THREADS=1 python benchmarks/speed/growth.py [--sets 10 100 1000] [--size 20] [--write]

Each build is one of the embedded data with an untrained `small`, in a process of its own, as
`cluster.py arm` makes it: sets of few images, so that what a set costs beside its forward passes is seen.
Printed: seconds of processor time on the longest path (that of the process, or the client's and the busiest
worker's one after the other), which does not count the wait for a core: four workers on two cores take longer
by the clock. And the most memory of any one process. --write puts the lines into docs/results and draws
docs/images/growth.png.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from starter.images.figure import new_figure, save_png

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages

HERE = Path(__file__).resolve().parent
WAYS = {"none": "one process", "local:2": "two workers", "local:4": "four workers"}
COLUMNS = {"computed, s": "processor time, s", "memory, GB": "most memory of a process, GB"}


def grown(where: str, sets: int, size: int) -> dict[str, object]:
    """One build: its line."""
    options = ("--sets", str(sets), "--size", str(size), "--where", where)
    environment = {name: value for name, value in os.environ.items() if name != "UNSEEN_DATA"}
    command = [sys.executable, str(HERE / "cluster.py"), "arm", *options]
    child = subprocess.Popen(command, stdout=-1, stderr=-3, text=True, env=environment)
    assert child.stdout is not None
    text = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    told = json.loads(text.splitlines()[-1])
    return {
        "where": WAYS[where],
        "sets": sets,
        "computed, s": told["client"] + max(told["workers"]),
        "memory, GB": used.ru_maxrss / 1e6,
    }


def draw(lines: Sequence[dict[str, object]], path: Path) -> None:
    """Draw time and memory by the number of sets, a line for each way."""
    figure = new_figure(7, 2.8)
    for axes, (column, title) in zip(figure.subplots(1, 2), COLUMNS.items(), strict=True):
        for way in WAYS.values():
            mine = [line for line in lines if line["where"] == way]
            axes.semilogx(
                [line["sets"] for line in mine], [line[column] for line in mine], marker="o", label=way
            )
        axes.set(xlabel="sets", title=title)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    save_png(figure, path, dpi=80)


def main() -> None:
    """Measure, print and draw."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--sets", type=int, nargs="+", default=(10, 100, 1000))
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = []
    for where in WAYS:
        for sets in options.sets:
            lines.append(grown(where, sets, options.size))
            way, _, computed, memory = lines[-1].values()
            print(f"{way}, {sets:,} sets of {options.size}: {computed:.1f} s, {memory:.2f} GB", flush=True)
    if options.write:
        counts = " ".join(map(str, options.sets))
        command = f"OMP_NUM_THREADS=1 python benchmarks/speed/growth.py --sets {counts} --size {options.size}"
        pages.record("speed-growth", lines, command=command)
        draw(lines, pages.ROOT / "docs/images/growth.png")


if __name__ == "__main__":
    main()
