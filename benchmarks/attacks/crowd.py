"""24 processes submit for one team at once, whose limit is 2 a day: 2 are accepted.

python benchmarks/attacks/crowd.py [--processes 24]
"""

import sys
import tempfile
from pathlib import Path

from contest import handed_in, make, parser, unseen

from leaderboard.ledger import opened
from leaderboard.verify import verify

LIMIT = 2


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--processes", type=int, default=24)
    processes = options.parse_args().processes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        competition = make(folder / "contest", sets=24, daily_limit=LIMIT)
        files = [handed_in(competition, folder / f"{n}.csv", n) for n in range(processes)]
        running = [unseen("score", competition.root, file, "--team", "Ada") for file in files]
        for process in running:
            process.communicate()
        codes = [process.returncode for process in running]
        with opened(competition) as ledger:
            entered = len(ledger.entries())
        problems = verify(competition).problems
    print(
        f"{processes} submissions at once, limit {LIMIT}: {codes.count(0)} accepted, "
        f"{codes.count(2)} refused, {entered} rows, {len(problems)} problems"
    )
    sys.exit(not codes.count(0) == entered == LIMIT or bool(problems))


if __name__ == "__main__":
    main()
