"""Wall-clock and CPU time, and peak memory, of `unseen demo` in a fresh folder.

python benchmarks/speed/demo.py [--track ood]
"""

import resource
import subprocess
import sys
import tempfile
import time


def main() -> None:
    """Run and print; the demo's own output comes first."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "unseen", "demo", *sys.argv[1:]], cwd=folder, check=True)
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
    command = " ".join(["unseen demo", *sys.argv[1:]])
    print(f"{command}: {seconds:.0f} s, {cpu:.0f} s of CPU, {peak:.2f} GB at most")


if __name__ == "__main__":
    main()
