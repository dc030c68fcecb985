"""Corrections of labels and voiding of sets; every submission is scored again, and the change is recorded."""

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from leaderboard.ledger.kept import kept_predictions
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.versions import keep_version, settle
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.scoring import SCORER, SubmissionScore, score_against
from submission.solution import COUNTING, SolutionRow, counting_rows, solution_bytes, whole_solution
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
        unread: A line for every submission whose file cannot be read; restore the file and run the same
            command again.
    """

    solution: str
    entries: int
    head: str
    unread: tuple[str, ...] = ()


def rescore(
    competition: Competition,
    labels: Mapping[str, float],
    voids: Collection[str],
    reason: str,
    clock: Callable[[], datetime],
) -> Rescored:
    """Correct labels, void sets, and score every readable submission again, in one recorded step.

    The old version of the solution is kept, and the ledger records when each version came into force and the
    old scores. Submissions wait in the meantime. An interrupted correction is done either completely or not
    at all.

    Args:
        competition: Organizer's copy of the competition.
        labels: Corrected targets, {id: fraction}.
        voids: Names of test sets that no longer count, for all subjects.
        reason: Reason, one line, which is recorded.
        clock: Function that returns the present time, with its time zone.

    Raises:
        UnusableInput: an id or a set is unknown; a label is no fraction of the set's images, or its set is
            voided; nothing would change; or no public or no private row would remain. Then nothing is
            changed.
    """
    if not reason.strip() or not reason.isprintable() or len(reason) > LONGEST_REASON:
        raise UnusableInput(f"--reason must be a line of up to {LONGEST_REASON} characters")
    ledger = Ledger(competition.require_private() / "ledger.sqlite")
    with ledger.transaction() as transaction:
        settle(competition, transaction)
    before = whole_solution(competition)
    rows = corrected(competition, before, labels, voids)
    scores, _ = _scored(competition, ledger, rows, {})
    with ledger.transaction() as transaction:
        settle(competition, transaction)
        if whole_solution(competition) != before:
            raise UnusableInput("somebody else corrected the solution in the meantime: run this again")
        scores, unread = _scored(competition, ledger, rows, scores)
        if rows == before and not scores:
            raise UnusableInput(
                "nothing would change: give a --label ID=FRACTION or a --void SET that is not recorded yet"
            )
        keep_version(competition, (competition.private / "solution.csv").read_bytes())
        solution = keep_version(competition, solution_bytes(rows))
        transaction.rescore(clock(), solution, reason.strip(), scores, SCORER)
    with ledger.transaction() as transaction:
        settle(competition, transaction)
    return Rescored(solution, len(scores), ledger.head(), unread)


def corrected(
    competition: Competition,
    rows: Sequence[SolutionRow],
    labels: Mapping[str, float],
    voids: Collection[str],
) -> tuple[SolutionRow, ...]:
    """Returns the rows of a solution with other labels and without the voided sets.

    Raises:
        UnusableInput: as :func:`rescore`.
    """
    voided = {row.set for row in rows if row.usage not in COUNTING}
    for name, label in labels.items():
        if name not in competition.ids("test"):
            raise UnusableInput(f"--label {name}: there is no such id in the test sets")
        if not 0 <= label <= 1:
            raise UnusableInput(f"--label {name}: a label is a fraction in [0, 1]")
        if competition.set_of(name) in voids:
            raise UnusableInput(f"--label {name}: its set is voided in the same command")
        if competition.set_of(name) in voided:
            raise UnusableInput(f"--label {name}: its set was voided before and no longer counts")
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
    """Raise UnusableInput if the label should be a fraction k / n of the set's images, and is not."""
    size = competition.sizes["test"][competition.set_of(name)]
    if not TRACKS[competition.track].deviations and abs(label - round(label * size) / size) > ROUNDING:
        near = [f"{count / size:.6f}" for count in (math.floor(label * size), math.ceil(label * size))]
        raise UnusableInput(
            f"--label {name}: {label:g} is not a fraction of the set's {size:,} images, such as "
            f"{' or '.join(near)}"
        )


def _scored(
    competition: Competition,
    ledger: Ledger,
    rows: Sequence[SolutionRow],
    known: Mapping[int, SubmissionScore],
) -> tuple[dict[int, SubmissionScore], tuple[str, ...]]:
    """Returns the new scores, by number, of valid submissions that were scored on other rows, and warnings.

    Scores in `known` are not computed again. A submission whose file cannot be read has no new score.
    """
    counting, solution = counting_rows(competition, rows), hashlib.sha256(solution_bytes(rows)).hexdigest()
    found, unread = {}, []
    for entry in ledger.entries():
        if entry.status == "scored" and entry.solution != solution:
            try:
                found[entry.number] = known.get(entry.number) or score_against(
                    kept_predictions(competition, ledger, entry), counting
                )
            except UnusableInput as error:
                unread.append(f"submission {entry.number} keeps its old score: {error}")
    return found, tuple(unread)
