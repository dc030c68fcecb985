"""How long a leaderboard takes to be written.

python benchmarks/speed/publish.py [--teams 5000] [--each 20]

Made up: teams whose submissions of 200 predictions get better, in a ledger with its files. Timed are a first
publication, for which every file is read, as after `private/predictions.bin` was lost; another after one more
submission, which is what an organizer waits for; and the private scores at the end.
"""

import argparse
import hashlib
import resource
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
from ledger import make
from tqdm import tqdm

from leaderboard import Ledger, publish, submit, verify
from leaderboard.ledger.store import kept_file
from leaderboard.ledger.teams import team_id
from submission import Competition, write_predictions
from submission.files import sha256
from submission.scoring import SCORER
from submission.seal import SOLUTION
from submission.solution import solution_of

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def fill(competition: Competition, teams: int, each: int) -> None:
    """Enter the submissions as `submit` does, but all in one transaction and without waiting for the disk."""
    rng = np.random.default_rng(0)
    rows = solution_of(competition)
    targets = np.array([row.prediction for row in rows])
    public = np.array([row.usage == "Public" for row in rows])
    solution, ids = sha256(competition.root / SOLUTION), [row.id for row in rows]
    ledger = Ledger(competition.private / "ledger.sqlite")
    skill = rng.uniform(0.03, 0.3, teams)
    with ledger.transaction() as transaction:
        kept_file(competition.private, "").mkdir(exist_ok=True)
        for index in tqdm(range(teams * each), desc="submissions", unit="file"):
            team, turn = index % teams, index // teams
            off = rng.normal(0, skill[team] * (2 - turn / each), len(rows))
            predictions = np.clip(np.round(targets + off, 4), 0, 1)
            lines = [f"{name},{value}\n" for name, value in zip(ids, predictions.tolist(), strict=True)]
            data = f"id,prediction\n{''.join(lines)}".encode()
            digest = hashlib.sha256(data).hexdigest()
            kept_file(competition.private, digest).write_bytes(data)
            squared = (100 * (predictions - targets)) ** 2
            transaction._append(
                START + timedelta(seconds=index),
                "submission",
                entry=index + 1,
                team=f"Team {team}",
                team_id=team_id(f"Team {team}"),
                digest=digest,
                status="scored",
                public=float(np.sqrt(squared[public].mean())),
                private=float(np.sqrt(squared[~public].mean())),
                scorer=SCORER,
                solution=solution,
            )


def timed(label: str, competition: Competition, ended: datetime | None = None) -> None:
    """Publish, and print how long it took."""
    start, used = time.perf_counter(), time.process_time()
    published = publish(competition, ended)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    megabytes = published.html.stat().st_size / 1e6
    size = f"{len(published.standings):,} lines, {megabytes:.1f} MB of HTML"
    print(f"{label:<24}{seconds:6.1f} s ({used:.1f} s of one core)   {size}")


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--teams", type=int, default=5000)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--ladder", action="store_true", help="with the Ladder's feedback")
    parser.add_argument("--verify", action="store_true", help="check the made-up ledger first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        competition = make(Path(folder) / "contest", feedback="ladder" if options.ladder else "rounded")
        fill(competition, options.teams, options.each)
        if options.verify:
            print(f"problems that `unseen verify` finds: {len(verify(competition).problems)}")
        timed("first", competition)
        file = Path(folder) / "one more.csv"
        write_predictions(file, dict.fromkeys(competition.ids("test"), 0.5))
        start = time.perf_counter()
        submit(competition, file, "One More", lambda: START + timedelta(days=30))
        print(f"{'one more submission':<24}{time.perf_counter() - start:6.1f} s")
        timed("rewritten after it", competition)
        timed("with private scores", competition, START + timedelta(days=60))
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
