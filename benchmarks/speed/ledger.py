"""What the ledger stands: many processes at once, and how fast a submission is scored.

python benchmarks/speed/ledger.py [--processes 32] [--each 50] [--part crowd|speed]

crowd: processes submit at once into one competition, four to a team, each a fifth more than the limit of its
team allows; printed are the rows, the refusals and what `unseen verify` finds. speed: 200 predictions, as a
process and in the library.
"""

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from leaderboard import Ledger, submit, verify
from submission import (
    Competition,
    InvalidSubmission,
    SolutionRow,
    UnusableInput,
    score_submission,
    write_predictions,
    write_sample,
    write_solution,
)
from submission.files import sha256

TEAM_OF = 4
"""Processes that submit for one team."""


def make(root: Path, sets: int = 100, **rules: object) -> Competition:
    """A competition of made-up accuracies for two classifiers, without images."""
    draw = random.Random(0)
    names = [f"test_{number:04d}" for number in range(1, sets + 1)]
    fields = {
        "root": root,
        "name": "made up",
        "track": "accuracy",
        "visibility": "practice",
        "source": "none",
        "classes": ("0", "1"),
        "image_size": (8, 8),
        "subjects": ("one", "two"),
        "sizes": {"train": {"train_0001": 500}, "val": {}, "test": dict.fromkeys(names, 500)},
        "precision": "float32",
        "seed": 0,
        "settings": {},
        **rules,
    }
    draft = Competition(**fields, files={})  # type: ignore[arg-type]
    rows = []
    for index, name in enumerate(draft.ids("test")):
        subject, place = name.split("/")
        usage = "Public" if index % sets < 0.3 * sets else "Private"
        rows.append(SolutionRow(name, draw.randrange(501) / 500, usage, subject, place, "seen"))
    write_solution(draft.private / "solution.csv", rows)
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))
    files = {"sample_submission.csv": sha256(draft.public / "sample_submission.csv")}
    Competition(**fields, files=files).save()  # type: ignore[arg-type]
    return Competition.open(root)


def now() -> datetime:
    """The time."""
    return datetime.now(timezone.utc)


def worker(root: Path, team: str, count: int, start: float) -> None:
    """Submit `count` files, every tenth an invalid one, all of which count; print how many were refused."""
    competition = Competition.open(root)
    path = root.with_name(f"{team} {start} {random.randrange(1 << 60)}.csv")
    time.sleep(max(0.0, start - time.time()))
    refused = 0
    for number in range(count):
        write_predictions(path, {name: random.random() for name in competition.ids("test")})
        if number % 10 == 0:
            path.write_text("no predictions")
        try:
            submit(competition, path, team, now)
        except UnusableInput:
            refused += 1
        except InvalidSubmission:
            pass
    print(refused)


def spawn(*arguments: object) -> subprocess.Popen:
    """This script in another process, to work."""
    command = [sys.executable, __file__, "--worker", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def crowd(processes: int, each: int) -> None:
    """Many processes at once, and print."""
    with tempfile.TemporaryDirectory() as folder:
        limit = TEAM_OF * each
        competition = make(Path(folder) / "contest", total_limit=limit)
        start = time.time() + 0.3 * processes
        workers = [
            spawn(competition.root, f"team {index // TEAM_OF}", each + each // 5, start)
            for index in range(processes)
        ]
        refused = sum(int(process.communicate()[0]) for process in workers)
        seconds = time.time() - start
        entries = Ledger(competition.private / "ledger.sqlite").entries()
        files = {entry.digest for entry in entries if entry.status == "scored"}
        scored = sum(entry.status == "scored" for entry in entries)
        teams = Counter(entry.team for entry in entries)
        found = verify(competition)
    print(f"{processes} processes x {each + each // 5} submissions in {seconds:.0f} s")
    print(f"rows {len(entries)}, refused {refused}, of {processes * (each + each // 5)}")
    print(f"different files among {scored} scored rows: {len(files)}")
    print(f"rows of a team, limit {limit}: {min(teams.values())} to {max(teams.values())}")
    print(f"verify: {len(found.problems)} problems in {found.rows} rows", flush=True)


def speed() -> None:
    """The time that a submission takes, and print."""
    with tempfile.TemporaryDirectory() as folder:
        competition = make(Path(folder) / "contest")
        path = Path(folder) / "mine.csv"
        write_predictions(path, dict.fromkeys(competition.ids("test"), 0.25))
        command = [sys.executable, "-m", "unseen", "score", str(competition.root), str(path), "--team", "a"]
        quiet = subprocess.DEVNULL
        wall, cpu = measured(lambda: subprocess.run(command, check=True, stdout=quiet), 9)
        print(f"200 predictions as a process: {wall:.2f} s, of it {cpu:.2f} on the CPU")
        wall, cpu = measured(lambda: score_submission(competition, path), 100)
        print(f"validated and scored in the library: {1000 * wall:.1f} ms, of it {1000 * cpu:.1f} on the CPU")
        wall, _ = measured(lambda: submit(competition, path, "a", now), 50)
        print(f"validated, scored and entered in the ledger: {1000 * wall:.1f} ms", flush=True)


def measured(call: Callable[[], object], times: int) -> tuple[float, float]:
    """The medians of the time and of the CPU time, of this process and those it started, in seconds."""
    found = []
    for _ in range(times):
        wall, cpu = time.perf_counter(), cpu_time()
        call()
        found.append((time.perf_counter() - wall, cpu_time() - cpu))
    walls, cpus = zip(*found, strict=True)
    return statistics.median(walls), statistics.median(cpus)


def cpu_time() -> float:
    """Seconds on the CPU until now."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--part", choices=("crowd", "speed"))
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        root, team, count, start = options.worker
        worker(Path(root), team, int(count), float(start))
        return
    if options.part in (None, "crowd"):
        crowd(options.processes, options.each)
    if options.part in (None, "speed"):
        speed()


if __name__ == "__main__":
    main()
