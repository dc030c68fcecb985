"""Memory, disk, interruption and repetition of a build with the embedded data and `small`.

python benchmarks/speed/build.py [--sets 100] [--size 10000]

Builds a competition of a fifth of the sets and one of all of them and prints the peak memory of each; then
the cache per set; then the time that the finished command takes again, and the time of `predict` with
nothing left to observe. Last, a build of the same settings is killed (SIGKILL) in its middle and resumed:
printed is how many cache entries were kept, and whether every file equals the uninterrupted build's.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNSEEN = [sys.executable, "-m", "unseen"]


def build(folder: Path, sets: int, size: int) -> list[str]:
    """The command."""
    asked = ["--train-sets", str(sets), "--val-sets", "0", "--test-sets", "2", "--set-size", str(size)]
    return [*UNSEEN, "build", str(folder), *asked, "--datacv-splits", "--test-seed", "1"]


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds, and the peak memory of the process in GB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1e6


def entries(folder: Path) -> dict[str, int]:
    """The cache's entries with the time that each was written."""
    found = (folder / "cache").rglob("*.safetensors")
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in found}


def files(folder: Path) -> dict[str, bytes]:
    """Every file but the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def killed(folder: Path, command: list[str], total: int) -> dict[str, int]:
    """Start the build, kill it when half of the cache is written, and tell what it left."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(entries(folder)) < total / 2 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return entries(folder)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--size", type=int, default=10_000)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as temporary:
        few, many = Path(temporary) / "few", Path(temporary) / "many"
        for folder, sets in ((few, options.sets // 5), (many, options.sets)):
            seconds, peak = timed(build(folder, sets, options.size))
            print(f"{sets} sets of {options.size:,}: {seconds:.0f} s, {peak:.2f} GB at most", flush=True)
        shutil.rmtree(few)
        command, cache, whole = build(many, options.sets, options.size), entries(many), files(many)
        size = sum((many / name).stat().st_size for name in cache) / 1e6
        print(f"cache: {size / (options.sets + 2):.2f} MB per set")
        print(f"the same command again: {timed(command)[0]:.1f} s")
        predict = [*UNSEEN, "predict", str(many), "constant", "atc"]
        timed(predict)
        print(f"predict with nothing to observe: {timed(predict)[0]:.1f} s", flush=True)
        shutil.rmtree(many)
        left = killed(many, command, len(cache))
        timed(command)
        again, found = entries(many), files(many)
        kept = sum(again.get(name) == written for name, written in left.items())
        same = sum(found.get(name) == content for name, content in whole.items())
        print(f"killed with {len(left)} of {len(cache)} entries written, {kept} of which were used again")
        print(f"{same} of {len(whole)} files are the same as without the interruption")


if __name__ == "__main__":
    main()
