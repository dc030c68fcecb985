"""Verification that a ledger is unaltered, and a backup of everything that its competition needs."""

import hashlib
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaderboard.ledger import Entry, Ledger, chain_problems, opened
from leaderboard.solutions import predictions_of, version
from submission.competition import DESCRIPTION, Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.files import replacing, temporary_in
from submission.pack import file_entry
from submission.parser import parse
from submission.scoring import SCORER, score_parts
from submission.solution import SolutionRow, counting_rows

BUILT = ("build.json", "solution.csv", "noise.csv", "images.npz")
"""The files of ``private/`` that a build wrote and a backup holds."""
_SAME = 1e-9  # points by which a score may differ between machines


@dataclass(frozen=True)
class Verified:
    """The result of :func:`verify`: numbers of rows and submissions, the head, a line for every problem."""

    rows: int
    submissions: int
    head: str
    problems: tuple[str, ...]


def verify(competition: Competition, heads: Collection[str] = ()) -> Verified:
    """Find rows that were altered or removed, and files and scores that do not match them.

    A chain that was rewritten completely is found by heads that were published earlier: those beside the
    board and in the receipts, and `heads`.
    """
    with opened(competition) as ledger:
        ledger.check_published(competition, heads)
        rows = ledger.rows()
        problems = chain_problems(rows)
        if not problems:  # otherwise rows say nothing about files
            problems += file_problems(competition, ledger)
        submissions = sum(row["event"] == "submission" for row in rows)
        return Verified(len(rows), submissions, ledger.head, tuple(problems))


def file_problems(competition: Competition, ledger: Ledger) -> Iterator[str]:
    """Yields a line for every file, stored prediction and score that does not fit its row."""
    entries = ledger.entries()
    solutions = {
        digest: counting_rows(competition, version(competition, ledger, digest))
        for digest in {entry.solution for entry in entries}
    }
    for entry in entries:
        yield from _entry_problems(competition, ledger, entry, solutions[entry.solution])


def _entry_problems(
    competition: Competition, ledger: Ledger, entry: Entry, solution: Sequence[SolutionRow]
) -> Iterator[str]:
    """Yield the problems of one submission: of its file, its predictions and its score."""
    if not entry.digest:
        return
    data = ledger.file(entry.digest)
    if data is None or hashlib.sha256(data).hexdigest() != entry.digest:
        yield f"the file of submission {entry.number} is missing or was changed"
    elif entry.status == "scored":
        try:
            parsed = parse(data, competition.ids("test"), entry.digest)
            if parsed != predictions_of(competition, ledger, entry):
                yield f"submission {entry.number} has other predictions than its file"
        except (InvalidSubmission, UnusableInput) as error:
            yield f"submission {entry.number}: {error}"
            return
        found = score_parts(parsed, solution)
        entered = np.array([entry.public, entry.private], dtype=np.float64)  # nan for None
        if entry.scorer == SCORER and not np.allclose([*found.values()], entered, rtol=0, atol=_SAME):
            yield f"submission {entry.number} has another score than its file"


def backup(competition: Competition, file: Path) -> str:
    """Write the organizer's private files to one zip file, also while others submit; returns its text."""
    competition.check_output(file, ".zip")
    copied = temporary_in(competition.private, "contest.sqlite")
    members = {f"private/{name}": competition.private / name for name in BUILT}
    described = (competition.root / DESCRIPTION).read_bytes()  # before the ledger, which it follows
    members["private/contest.sqlite"] = copied
    try:
        with opened(competition) as ledger, replacing(file, True, competition.private) as temporary:
            head = ledger.copy(copied)
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
                for name, path in members.items():
                    if path.exists():
                        archive.write(path, name)
                archive.writestr(file_entry(DESCRIPTION), described)
    finally:
        copied.unlink(missing_ok=True)
    return f"{file}, with the ledger up to head {head}"
