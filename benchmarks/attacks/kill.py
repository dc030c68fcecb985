"""kill -9 over score, rescore and leaderboard at random moments: no submission is lost or doubled.

python benchmarks/attacks/kill.py [--rounds 500]

A submission is lost if its team has a receipt, but it has no row or no file, and doubled if its file has two
rows. Each round starts a command in a process of its own and kills it at a random moment of the time that the
first one took. At the end every command must work, and `unseen verify` must find nothing. Exit code 1
otherwise.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from contest import handed_in, make, unseen

from leaderboard.history import read_receipts
from leaderboard.ledger import opened
from leaderboard.publish import publish
from leaderboard.verify import verify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    rounds, draw = parser.parse_args().rounds, random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        competition = make(folder / "contest", sets=24)
        begun = time.monotonic()
        unseen(
            "score", competition.root, handed_in(competition, folder / "a.csv", rounds), "--team", "a"
        ).wait()
        killed, whole = 0, time.monotonic() - begun
        for number in range(rounds):
            arguments: list[object] = ["score", competition.root]
            arguments += [handed_in(competition, folder / "mine.csv", number), "--team", f"team {number % 7}"]
            if number % 10 == 8:
                share = number % 500 / 500
                arguments = [
                    "rescore",
                    competition.root,
                    "--label",
                    f"one/test_0002={share}",
                    "--reason",
                    "r",
                ]
            elif number % 10 == 9:
                arguments = ["leaderboard", competition.root]
            process = unseen(*arguments)
            time.sleep(whole * draw.uniform(0.4, 1.1))
            killed += process.poll() is None
            process.kill()
            process.communicate()
        with opened(competition) as ledger:
            entries = ledger.entries()
        rows = {entry.hash for entry in entries}
        lost = sum(receipt["row"] not in rows for receipt in read_receipts(competition))
        doubled = sum(count - 1 for count in Counter(entry.digest for entry in entries).values())
        publish(competition)
        problems = verify(competition).problems
        last = unseen("score", competition.root, folder / "mine.csv", "--team", "last")
        last.communicate()
    print(
        f"{rounds} rounds, {killed} killed: {lost} lost, {doubled} doubled of {len(entries)} submissions, "
        f"{len(problems)} problems, last exit code {last.returncode}"
    )
    sys.exit(bool(lost or doubled or problems or last.returncode))


if __name__ == "__main__":
    main()
