"""Versions of the solution, and scoring of every submission by a new one.

``private/solution.csv`` is the version that was built; corrected ones are in the ledger, which names the
newest.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from leaderboard.ledger import Entry, Ledger, opened
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.scoring import SCORER, SubmissionScore, score_against
from submission.solution import (
    COUNTING,
    SolutionRow,
    counting_rows,
    parse_solution,
    solution_bytes,
    whole_solution,
)
from submission.tracks import TRACKS

LONGEST_REASON = 500
ROUNDING = 1e-6
"""Largest difference between a label and a fraction of the set's images, so that six decimals are enough."""


@dataclass(frozen=True)
class Rescored:
    """The result of :func:`rescore`.

    Attributes:
        solution: SHA-256 of the new version of the solution.
        entries: Number of submissions that were scored again.
        head: Newest hash of the ledger's chain.
    """

    solution: str
    entries: int
    head: str


def newest_solution(competition: Competition) -> tuple[SolutionRow, ...]:
    """Returns all rows of the newest version of the solution, voided ones included (organizers only)."""
    with opened(competition) as ledger:
        return version(competition, ledger, ledger.solution())


def counting_solution(competition: Competition) -> tuple[SolutionRow, ...]:
    """Returns the rows of the newest version that count for the metric that ranks."""
    return counting_rows(competition, newest_solution(competition))


def version(competition: Competition, ledger: Ledger, digest: str | None) -> tuple[SolutionRow, ...]:
    """Returns all rows of the version with this SHA-256; those that were built for None."""
    data = None if digest is None else ledger.version(digest)
    if data is not None:
        return parse_solution(data, f"version {digest} of the solution", competition.ids("test"))
    built = whole_solution(competition)
    if digest not in (None, hashlib.sha256(solution_bytes(built)).hexdigest()):
        raise UnusableInput(f"version {digest} of the solution is missing: restore it from a backup")
    return built


def predictions_of(competition: Competition, ledger: Ledger, entry: Entry) -> dict[str, float]:
    """Returns the predictions of a scored submission, {id: fraction}."""
    return dict(zip(competition.ids("test"), ledger.predictions(entry.digest).tolist(), strict=True))


def rescore(
    competition: Competition,
    labels: Mapping[str, float],
    voids: Collection[str],
    reason: str,
    clock: Callable[[], datetime],
) -> Rescored:
    """Correct labels, void sets, and score every submission again, in one recorded step.

    The ledger keeps the old versions of the solution and the old scores.

    Args:
        competition: Organizer's copy of the competition.
        labels: Corrected targets, {id: fraction}.
        voids: Names of test sets that no longer count, for all subjects.
        reason: Reason, one line, which is recorded.
        clock: Function that returns the present time, with its time zone.
    """
    if not reason.strip() or not reason.isprintable() or len(reason) > LONGEST_REASON:
        raise UnusableInput(f"--reason must be a line of up to {LONGEST_REASON} characters")
    with opened(competition, writing=True) as ledger:
        before = version(competition, ledger, ledger.solution())
        rows = corrected(competition, before, labels, voids)
        if rows == before:
            raise UnusableInput(
                "nothing would change: give a --label ID=FRACTION or a --void SET that is not recorded yet"
            )
        counting = counting_rows(competition, rows)
        scored = [entry for entry in ledger.entries() if entry.status == "scored"]
        found = {
            entry.number: score_against(predictions_of(competition, ledger, entry), counting)
            for entry in scored
        }
        now, solution = clock(), ledger.keep_version(solution_bytes(rows))
        ledger.append(now, "solution", scorer=SCORER, solution=solution, note=reason.strip())
        for number, score in found.items():
            ledger.append(now, "score", entry=number, scorer=SCORER, solution=solution, **points(score))
        return Rescored(solution, len(found), ledger.head)


def points(score: SubmissionScore) -> dict[str, float]:
    """Returns the columns of an event with a score, RMSE in points."""
    return {"public": score.public.rmse, "private": score.private.rmse}


def corrected(
    competition: Competition,
    rows: Sequence[SolutionRow],
    labels: Mapping[str, float],
    voids: Collection[str],
) -> tuple[SolutionRow, ...]:
    """Returns the rows of a solution with other labels and without the voided sets."""
    voided = {row.set for row in rows if row.usage not in COUNTING} | set(voids)
    for name, label in labels.items():
        if name not in competition.ids("test"):
            raise UnusableInput(f"--label {name}: there is no such id in the test sets")
        if competition.set_of(name) in voided:
            raise UnusableInput(f"--label {name}: its set is voided")
        _check_share(competition, name, label)
    for name in voids:
        if name not in competition.sets("test"):
            raise UnusableInput(f"--void {name}: there is no such test set")
    found = tuple(
        replace(
            row,
            prediction=float(labels.get(row.id, row.prediction)),
            usage="Ignored" if row.set in voids else row.usage,
        )
        for row in rows
    )
    for usage in COUNTING:
        if not any(row.usage == usage for row in found):
            raise UnusableInput(f"--void: no {usage.lower()} set would be left to score on")
    return found


def _check_share(competition: Competition, name: str, label: float) -> None:
    """Refuse a label that is no fraction, or should be a fraction k / n of the set's images and is not."""
    size = competition.sizes["test"][competition.set_of(name)]
    if not 0 <= label <= 1:
        raise UnusableInput(f"--label {name}: a label is a fraction in [0, 1]")
    if not TRACKS[competition.track].deviations and abs(label - round(label * size) / size) > ROUNDING:
        near = [f"{count / size:.6f}" for count in (math.floor(label * size), math.ceil(label * size))]
        raise UnusableInput(
            f"--label {name}: {label:g} is not a fraction of the set's {size:,} images, such as "
            f"{' or '.join(near)}"
        )
