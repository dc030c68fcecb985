"""Verification that a ledger is unchanged: its chain, its files, its scores, and the published heads."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from leaderboard.ledger.chain import COLUMNS, GENESIS, chain_problems, order_problems
from leaderboard.ledger.heads import told_heads
from leaderboard.ledger.kept import kept_predictions
from leaderboard.ledger.ledger import DamagedLedger, Entry, Ledger
from leaderboard.ledger.store import held_files
from leaderboard.ledger.versions import read_version, settle_interrupted
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import sha256
from submission.scoring import SCORER, score_against
from submission.solution import SolutionRow, counting_rows

_SAME = 1e-9  # points by which a score may differ between machines


@dataclass(frozen=True)
class Verified:
    """The result of :func:`verify`.

    Attributes:
        rows: Number of events in the ledger.
        submissions: Number of submissions among them.
        head: Newest hash of the chain; "unreadable" if the file is damaged.
        problems: A line for everything that was changed or lost.
    """

    rows: int
    submissions: int
    head: str
    problems: tuple[str, ...]


def verify(competition: Competition, heads: Collection[str] = ()) -> Verified:
    """Find rows that were altered, removed, reordered or lost, and files and scores that do not match them.

    A chain that was rewritten completely is found by heads that were published earlier: those in DIR's
    leaderboard files and in ``private/head``, and `heads`.

    Args:
        competition: Organizer's copy of the competition.
        heads: Heads that were published earlier; the head of an empty ledger, all zeros, matches any chain.

    Raises:
        UnusableInput: this is a participant's copy, or the ledger cannot be opened.
    """
    ledger = Ledger(competition.require_private() / "ledger.sqlite")
    published = {f"--head {head}": head for head in heads} | told_heads(ledger.path)
    held = held_files(competition.private)
    try:
        written, rows = ledger.written(), ledger.rows()
    except DamagedLedger as error:
        return Verified(0, 0, "unreadable", (str(error),))
    problems = chain_problems(rows)
    if written > len(rows):
        problems.append(f"{written} rows were written, but there are {len(rows)}: rows were removed")
    known = {GENESIS, *(row[-1] for row in rows)}
    problems += [
        f"{where}: no row has this hash, so the chain was rewritten or cut"
        for where, head in published.items()
        if head not in known
    ]
    submissions = sum(row[COLUMNS.index("event")] == "submission" for row in rows)
    if not problems:  # otherwise rows say nothing about files
        try:
            settle_interrupted(competition, ledger)
            problems = [*order_problems(rows), *_file_problems(competition, ledger, held)]
        except UnusableInput as error:
            problems = [str(error)]
    return Verified(len(rows), submissions, str(rows[-1][-1]) if rows else GENESIS, tuple(problems))


def _file_problems(competition: Competition, ledger: Ledger, held: Collection[Path]) -> list[str]:
    """Returns a line for each kept file that is missing, changed or unlisted, and for each wrong score."""
    solutions: dict[str, tuple[SolutionRow, ...] | None] = {}
    entries = ledger.entries()
    problems = []
    for entry in entries:
        if entry.solution not in solutions:
            solutions[entry.solution] = _counting(competition, entry.solution)
        problems += _entry_problems(competition, ledger, entry, solutions[entry.solution])
    named = {entry.digest for entry in entries}
    return problems + [
        f"no row names the kept file {path}: rows were lost" for path in held if path.name not in named
    ]


def _entry_problems(
    competition: Competition, ledger: Ledger, entry: Entry, solution: tuple[SolutionRow, ...] | None
) -> list[str]:
    """Returns the problems of one submission: with its file, or its score on the solution that it names."""
    path = ledger.file(entry)
    if entry.digest and not path.is_file():
        return [f"the file of submission {entry.number} is missing: {path}"]
    if entry.digest and sha256(path) != entry.digest:
        return [f"the file of submission {entry.number} was changed: {path}"]
    if solution is None:
        return [f"the solution of submission {entry.number} is not kept: {entry.solution}"]
    if entry.status == "scored" and entry.scorer == SCORER:
        try:
            found = score_against(kept_predictions(competition, ledger, entry), solution)
        except UnusableInput as error:
            return [str(error)]
        if not _alike(found.public.rmse, entry.public) or not _alike(found.private.rmse, entry.private):
            return [f"submission {entry.number} has another score than its file"]
    return []


def _counting(competition: Competition, digest: str) -> tuple[SolutionRow, ...] | None:
    """Returns the counting rows of the solution with this SHA-256; None if it is not kept."""
    rows = read_version(competition, digest)
    return None if rows is None else counting_rows(competition, rows)


def _alike(found: float, entered: float | None) -> bool:
    return entered is not None and math.isclose(found, entered, abs_tol=_SAME)
