"""kill -9 over what writes the ledger, at random moments: no submission is lost or doubled.

python benchmarks/attacks/kill.py [--rounds 500]

Lost is a receipt without a row or file, doubled a file with two rows. Each round kills a command at a random
moment; about half end before. At the end every command must work, and `unseen verify` must find nothing. Exit
code 1 otherwise.
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from contest import handed_in, make, parser, unseen

from leaderboard.ledger import opened
from leaderboard.publish import publish
from leaderboard.verify import verify

CHANGES = {
    5: "select --team Team0",
    6: "amend --daily-limit {number} --reason r",
    7: "team team0 rename --to Team0 --reason r",
}
"""The commands that change what counts, by the last digit of the round."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=500)
    rounds, draw, killed, whole = options.parse_args().rounds, random.Random(0), 0, 1.0
    with tempfile.TemporaryDirectory() as name:
        competition = make(Path(name) / "contest", sets=24)
        for number in range(rounds):
            file = handed_in(competition, Path(name) / "mine.csv", number)
            arguments: list[object] = ["score", competition.root, file, "--team", f"team{number % 5}"]
            if number % 10 in CHANGES:
                command, *rest = CHANGES[number % 10].format(number=number).split()
                arguments = [command, competition.root, *rest]
            elif number % 10 == 8:
                label = f"one/test_0002={number % 500 / 500}"
                arguments = ["rescore", competition.root, "--label", label, "--reason", "r"]
            elif number % 10 == 9:
                arguments = ["leaderboard", competition.root]
            process = unseen(*arguments)
            time.sleep(whole * draw.uniform(0.5, 1))
            running = process.poll() is None
            process.kill()
            process.communicate()
            killed += running
            whole *= 1.1 if running else 0.9
        with opened(competition) as ledger:
            entries = ledger.entries()
            rows = {row["hash"] for row in ledger.rows()}
        receipts = (competition.root / "receipts").rglob("*.json")
        lost = sum(json.loads(path.read_text())["row"] not in rows for path in receipts)
        doubled = sum(count - 1 for count in Counter(entry.digest for entry in entries).values())
        publish(competition)
        problems = verify(competition).problems
        last = unseen("score", competition.root, file, "--team", "last")
        last.communicate()
    print(
        f"{rounds} rounds, {killed} killed: {lost} lost, {doubled} doubled of {len(entries)} submissions, "
        f"{len(problems)} problems, last exit code {last.returncode}"
    )
    sys.exit(bool(lost or doubled or problems or last.returncode))


if __name__ == "__main__":
    main()
