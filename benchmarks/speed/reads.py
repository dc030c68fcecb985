"""How often `publish` and `unseen.evaluate` open and hash the files of a competition.

    OMP_NUM_THREADS=1 python benchmarks/speed/reads.py [FOLDER]

Builds a small competition of each track with 12 and 6 predicted methods in FOLDER, or takes those that are
there. Prints for each call the files below its folder that were opened for reading, those opened
more than once, and SHA-256 that were computed.
"""

import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import unseen
from leaderboard.publish import publish
from submission import UnusableInput

METHODS = {"accuracy": 12, "ood": 6}
EVALUATED = ("constant", "confscore", "entropy", "atc", "fd", "cott", "nuclear", "mano")


class Count:
    """Counts of opened files and of hashes while a call runs."""

    def __init__(self) -> None:
        self.root = ""
        self.opened: Counter[str] = Counter()
        self.hashed = 0
        sys.addaudithook(self._see)
        self._sha256, hashlib.sha256 = hashlib.sha256, self._hash  # type: ignore[assignment]

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.root and event == "open":
            path, mode, flags = arguments
            reading = mode == "r" or mode == "rb" or (mode is None and not flags & 3)
            text = str(path)
            if reading and text.startswith(self.root) and "/cache/" not in text and Path(text).is_file():
                self.opened[text] += 1

    def _hash(self, *arguments: Any, **named: Any) -> Any:
        self.hashed += bool(self.root)
        return self._sha256(*arguments, **named)

    def of(self, root: Path, call: Callable[[], object]) -> str:
        """Returns the counts of one call."""
        self.opened.clear()
        self.hashed = 0
        self.root = str(root)
        call()
        self.root = ""
        again = sum(count > 1 for count in self.opened.values())
        total = sum(self.opened.values())
        return f"{len(self.opened)} files opened {total} times, {again} of them again, {self.hashed} SHA-256"


def predicted(folder: Path, track: str) -> Any:
    """Returns a competition with the predictions of so many methods."""
    contest = unseen.build(folder / track, preset="small", track=track, test_seed=1 << 40)
    names = iter(unseen.methods(track).query("runs != 'if named'").index)
    while len(list((contest.root / "submissions").glob("*.csv"))) < METHODS[track]:
        with suppress(UnusableInput):  # it reads what these competitions lack
            unseen.predict(contest, next(names))
    return contest


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(sys.argv[1] if sys.argv[1:] else name)
        contests = {track: predicted(folder, track) for track in METHODS}
        unseen.evaluate(contests["accuracy"], EVALUATED)  # observes what is missing
        count = Count()
        for track, contest in contests.items():
            figures = count.of(contest.root, partial(publish, contest))
            print(f"publish, {METHODS[track]} methods: {figures}")
        contest = contests["accuracy"]
        table = None

        def evaluate() -> None:
            nonlocal table
            table = unseen.evaluate(contest, EVALUATED)

        print(f"evaluate, {len(EVALUATED)} methods: {count.of(contest.root, evaluate)}")
        print(f"its repr: {count.of(contest.root, lambda: repr(table))}")


if __name__ == "__main__":
    main()
