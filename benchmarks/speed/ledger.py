"""Times of `score` and `leaderboard` with many submissions, as functions of a process.

python benchmarks/speed/ledger.py [--submissions 1000] [--repeat 5]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "attacks"))

from contest import handed_in, make, now

from leaderboard.publish import publish
from leaderboard.submissions import submit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        competition = make(folder / "contest")
        for number in range(options.submissions):
            submit(competition, handed_in(competition, folder / "a.csv", number), f"team {number % 50}", now)
        publish(competition)
        taken: dict[str, list[float]] = {"score": [], "leaderboard": []}
        for number in range(options.repeat):
            file, begun = handed_in(competition, folder / "a.csv", 10**6 + number), time.perf_counter()
            submit(competition, file, "team 1", now)
            middle = time.perf_counter()
            publish(competition)
            taken["score"].append(middle - begun)
            taken["leaderboard"].append(time.perf_counter() - middle)
    for what, seconds in taken.items():
        print(f"{what} with {options.submissions:,} submissions: {1000 * median(seconds):.0f} ms")


if __name__ == "__main__":
    main()
