"""24 processes submit for one team at once, whose limit is 2 a day: 2 are accepted.

python benchmarks/attacks/crowd.py [--processes 24] [--limit 2]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from contest import handed_in, make, unseen

from leaderboard.ledger import opened
from leaderboard.verify import verify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=24)
    parser.add_argument("--limit", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        competition = make(folder / "contest", sets=24, daily_limit=options.limit)
        files = [handed_in(competition, folder / f"{n}.csv", n) for n in range(options.processes)]
        running = [unseen("score", competition.root, file, "--team", "Ada") for file in files]
        for process in running:
            process.communicate()
        codes = [process.returncode for process in running]
        with opened(competition) as ledger:
            entered = len(ledger.entries())
        problems = verify(competition).problems
    print(
        f"{options.processes} submissions at once, limit {options.limit}: {codes.count(0)} accepted, "
        f"{codes.count(2)} refused, {entered} rows, {len(problems)} problems"
    )
    sys.exit(not codes.count(0) == entered == options.limit or bool(problems))


if __name__ == "__main__":
    main()
