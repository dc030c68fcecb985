"""The boards that are published together, made from what the ledger holds at one moment and from methods."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.columns import Board
from leaderboard.feedback import public_score
from leaderboard.ledger import Entry, Ledger, check_chain, entries_of
from leaderboard.methods import Shown
from leaderboard.solutions import predictions_of, version
from leaderboard.standings import (
    Predictions,
    Standing,
    in_private,
    in_public,
    of_methods,
    standings,
    while_running,
)
from submission.competition import Competition
from submission.metrics import Score
from submission.scoretable import Targets, validation_targets
from submission.solution import COUNTING, SolutionRow


@dataclass(frozen=True)
class Moment:
    """What a ledger holds at one moment: what counts, predictions after the end, targets of each metric."""

    head: str
    entries: tuple[Entry, ...]
    predictions: Predictions
    public: tuple[Targets, ...]  # of each metric, the ranking one first
    private: tuple[Targets, ...]
    sets: int  # number of test sets that count

    @classmethod
    def read(cls, competition: Competition, ledger: Ledger, final: bool) -> "Moment":
        """Returns what an open ledger holds, after the check of its chain; predictions if it is `final`."""
        rows = ledger.rows()
        check_chain(competition, rows)
        entries = tuple(entry for entry in entries_of(rows) if entry.state == "active")
        scored = [entry for entry in entries if entry.status == "scored" and final]
        solution = [row for row in version(competition, ledger) if row.usage in COUNTING]
        targets = Targets.of_solution(competition, solution)
        return cls(
            head=ledger.head,
            entries=entries,
            predictions={each.number: predictions_of(competition, ledger, each) for each in scored},
            public=_of_usage(competition, targets, solution, "Public"),
            private=_of_usage(competition, targets, solution, "Private"),
            sets=len({row.set for row in solution}),
        )


def _of_usage(
    competition: Competition, targets: Targets, solution: Sequence[SolutionRow], usage: str
) -> tuple[Targets, ...]:
    """Returns the targets of the rows of one usage for each metric, the ranking one first."""
    rows = targets.of_ids(row.id for row in solution if row.usage == usage)
    return tuple(rows.by_metric(competition).values())


def running_boards(competition: Competition, moment: Moment, test: Shown, val: Shown) -> list[Board]:
    """Returns the boards before the end: ranks and best public scores, and in practice the methods below."""
    lines = while_running(competition, moment.entries, len(moment.public[0]))
    for method in of_methods(moment.public[:1], test.predictions, test.own):
        rmse = public_score(competition, method.score.rmse)
        lines.append(Standing(method.name, method.kind, Score(rmse, math.nan, math.nan, 0)))
    decimals = competition.decimals
    public = Board("public", standings(lines, None, decimals), decimals, detailed=False)
    return [public, *_on_validation(competition, val)]


def final_boards(
    competition: Competition, moment: Moment, test: Shown, val: Shown, whole: bool
) -> list[Board]:
    """Returns the boards after the end, which decides first; `whole` if they may have scores by group."""
    lines = in_public(competition, moment.public, moment.entries, moment.predictions)
    lines += of_methods(moment.public, test.predictions, test.own)
    public = _board(competition, "public", moment.public, lines, whole)
    lines = in_private(
        competition, moment.private, moment.entries, moment.predictions, before=public.standings
    )
    lines += of_methods(moment.private, test.predictions, test.own)
    private = _board(competition, "private", moment.private, lines, whole)
    return [private, public, *_on_validation(competition, val)]


def _on_validation(competition: Competition, methods: Shown) -> list[Board]:
    if not methods.predictions:
        return []
    parts = tuple(validation_targets(competition).values())
    lines = of_methods(parts, methods.predictions, methods.own)
    return [_board(competition, "validation", parts, lines, whole=True)]


def _board(
    competition: Competition, part: str, parts: Sequence[Targets], lines: Sequence[Standing], whole: bool
) -> Board:
    """Returns a board with all numbers; `parts` are the targets of each metric, the ranking one first."""
    decimals = competition.decimals
    first = parts[0]
    groups = first.group_scores(dict.fromkeys(first.ids, 0.0)) if whole else ()
    return Board(
        part=part,
        standings=standings(lines, first.families, decimals, exact=part == "validation"),
        decimals=decimals,
        noise_floor=round(first.noise_floor, decimals),
        further=(*competition.titles[1:], *groups),
    )
