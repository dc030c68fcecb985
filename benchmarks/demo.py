"""Wall-clock time and peak memory of `unseen demo` in a fresh folder.

python benchmarks/demo.py
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
        subprocess.run([sys.executable, "-m", "unseen", "demo"], cwd=folder, check=True)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"unseen demo: {seconds:.0f} s, {peak:.2f} GB at most")


if __name__ == "__main__":
    main()
