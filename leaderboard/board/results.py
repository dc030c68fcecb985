"""The scores of the kit's methods on all test sets, by group: a table for organizers and for the docs.

The methods are those whose predictions `unseen predict` wrote to ``submissions/``.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from leaderboard.board.part import families_of, sampling_noise
from leaderboard.board.statistics import lines_together
from leaderboard.board.table import CONSTANT, FEW, shown, shown_pairs
from leaderboard.ledger.teams import plain
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.intervals import FEWEST_FAMILIES
from submission.metrics import skill
from submission.predicted import is_predicted, predicted_names
from submission.random import BOOTSTRAP
from submission.scoring import score_rows, validate
from submission.solution import SolutionRow, solution_of

MOST_GROUPS = 3
"""Largest number of groups of methods that cannot be told apart for which the groups are listed."""


@dataclass(frozen=True)
class Methods:
    """The valid files in ``submissions/`` that `unseen predict` wrote.

    Attributes:
        predictions: Predictions {method: {id: fraction}}, where a method is named after its file.
        warnings: One line for every file that was left out, with the reason.
    """

    predictions: dict[str, dict[str, float]]
    warnings: tuple[str, ...]


UNKNOWN = (
    "there is no record that `unseen predict` wrote its present content; predict the method again to show "
    "it, or remove the file if it is a participant's"
)


def method_files(competition: Competition, part: str = "test") -> list[Path]:
    """Returns the files in ``submissions/``, for "val" in ``validation/``, valid or not, sorted by name."""
    folder = {"test": "submissions", "val": "validation"}[part]
    return sorted((competition.root / folder).glob("*.csv"))


def baseline_names(competition: Competition) -> dict[str, str]:
    """Returns the names of baselines that were predicted or shown, by the names that a team may not take.

    These are their letters and digits (`plain`), alone and with the word that follows them on the board.
    """
    kept = sorted((competition.private / "shown").glob("*.csv"))
    names = [CONSTANT, *predicted_names(competition), *(path.stem.partition("-")[2] for path in kept)]
    return {reads: name for name in names for reads in (plain(name), f"{plain(name)}baseline")}


def read_methods(competition: Competition, part: str = "test") -> Methods:
    """Returns the predictions of every method for the test sets, or validation sets ("val"), sorted by name.

    Files are left out if they are invalid, unreadable or links into ``private/``, if their name cannot be
    printed, or if `unseen predict` did not write them, such as a participant's.
    """
    predictions = {}
    warnings = []
    private = competition.private.resolve()
    for path in method_files(competition, part):
        if not path.name.isprintable():
            warnings.append(f"left out {str(path)!r}: its name cannot be printed; rename it")
            continue
        if Path(os.path.realpath(path)).is_relative_to(private):  # resolve() fails on a loop
            warnings.append(f"left out {path}: it is a link into {competition.private}")
            continue
        try:
            found = validate(competition, path, part)
        except InvalidSubmission as error:
            more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            warnings.append(f"left out {path}: {error.problems[0]}{more}")
        except UnusableInput as error:
            warnings.append(f"left out {error}")
        else:
            if is_predicted(competition, path):
                predictions[path.stem] = found
            else:
                warnings.append(f"left out {path}: {UNKNOWN}")
    return Methods(predictions, tuple(warnings))


NOISE = "noise floor"
GROUPS = ("seen", "unseen", "natural", "natural-few")
UNITS = (
    "RMSE and MAE in percentage points, lower is better; "
    f"the {NOISE} is the sampling noise of the true values."
)


@dataclass(frozen=True)
class Result:
    """One line of the table, in points; nan for numbers that are unknown or undefined.

    Attributes:
        method: Name of the method, or `NOISE`.
        rmse, skill, mae, spearman: Scores over all test sets; the skill is against `CONSTANT`.
        groups: RMSE of every group of test sets.
        together: Numbers of the groups of methods, not told apart by the paired test over families, to which
            it belongs; empty if there are too few rows or families, or beyond the first `statistics.MOST`
            methods.
    """

    method: str
    rmse: float
    skill: float = math.nan
    mae: float = math.nan
    spearman: float = math.nan
    groups: Mapping[str, float] = field(default_factory=dict)
    together: tuple[int, ...] = ()


@dataclass(frozen=True)
class Results:
    """The table of results.

    Attributes:
        rows: Lines, best first, the noise floor last.
        warnings: One line for every file that was left out, with the reason.
        quantity: Title of the predicted metric; "" for accuracy.
    """

    rows: tuple[Result, ...]
    warnings: tuple[str, ...]
    quantity: str = ""

    def table(self, markdown: bool = False) -> str:
        """Returns the table as aligned text for a terminal, or as Markdown, with notes below it."""
        groups = list(self.rows[0].groups)
        header = ["method", "RMSE", "skill", "MAE", "Spearman", *groups]
        cells = [
            [
                row.method,
                *(shown(value, 2) for value in (row.rmse, row.skill, row.mae, row.spearman)),
                *(shown(row.groups[group], 2) for group in groups),
            ]
            for row in self.rows
        ]
        body = _markdown([header, *cells]) if markdown else _aligned([header, *cells])
        title = f"{self.quantity}\n\n" if self.quantity else ""
        return "\n".join([f"{title}{body}\n\n{UNITS}", *self._decided()])

    def _decided(self) -> list[str]:
        """Returns lines about the paired test: the share of pairs told apart, and groups that are not."""
        groups = [row.together for row in self.rows]
        together = [
            ", ".join(row.method for row in self.rows if number in row.together)
            for number in sorted(set().union(*groups))
            if sum(number in mine for mine in groups) > 1
        ]
        told = [f"Not told apart: {'; '.join(together)}."] if 0 < len(together) <= MOST_GROUPS else []
        return [line for line in (shown_pairs(groups), *told) if line]


def results(competition: Competition, metric: str | None = None) -> Results:
    """Score every file in ``submissions/`` on all test sets and on each group of them (organizers only).

    Args:
        competition: Organizer's copy of the competition.
        metric: Metric whose predictions are scored; None for the one that ranks.

    Raises:
        UnusableInput: this is a participant's copy.
    """
    solution = solution_of(competition, metric)
    groups = {group: [row for row in solution if row.group == group] for group in _in_order(solution)}
    methods = read_methods(competition)
    overall = {name: score_rows(found, solution) for name, found in methods.predictions.items()}
    constant = overall[CONSTANT].rmse if CONSTANT in overall else math.nan
    rows = [
        Result(
            method=name,
            rmse=score.rmse,
            skill=skill(score.rmse, constant),
            mae=score.mae,
            spearman=score.spearman,
            groups={
                group: score_rows(methods.predictions[name], part).rmse for group, part in groups.items()
            },
        )
        for name, score in overall.items()
    ]
    noise = {group: sampling_noise(competition, part) for group, part in groups.items()}
    floor = Result(NOISE, sampling_noise(competition, solution), groups=noise)
    rows = _grouped(sorted(rows, key=lambda row: row.rmse), methods.predictions, competition, solution)
    quantity = "" if competition.track == "accuracy" else competition.quantity(solution[0].subject)
    return Results((*rows, floor), methods.warnings, quantity)


def _grouped(
    rows: Sequence[Result],
    predictions: Mapping[str, Mapping[str, float]],
    competition: Competition,
    solution: Sequence[SolutionRow],
) -> list[Result]:
    """Returns the rows, best first, with the groups of methods that the paired test does not tell apart."""
    families = families_of(competition, solution)
    if len(solution) < FEW or len(families) < FEWEST_FAMILIES or not rows:
        return [*rows]
    truth = np.array([row.prediction for row in solution])
    found = np.array([[predictions[each.method][row.id] for row in solution] for each in rows])
    groups = lines_together(families.sums((100 * (found - truth)) ** 2), BOOTSTRAP(0))
    return [replace(row, together=mine) for row, mine in zip(rows, groups, strict=True)]


def tables(competition: Competition, markdown: bool = False) -> str:
    """Returns the tables of all predicted metrics, as text or as Markdown; the ranking metric comes first.

    Raises:
        UnusableInput: as :func:`results`.
    """
    return "\n\n".join(results(competition, metric).table(markdown) for metric in competition.metrics)


def _in_order(solution: Sequence[SolutionRow]) -> list[str]:
    """Returns the groups: those that a build makes, from the mildest shift on, then all others by name."""
    found = {row.group for row in solution}
    known = [group for group in GROUPS if group in found]
    return [*known, *sorted(found - set(known))]


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Returns the lines as text, with the first column aligned left and the others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for first, *rest in lines:
        right = "".join(f"  {cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        texts.append(f"{first:<{widths[0]}}{right}".rstrip())
    return "\n".join(texts)


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(lines[0]) - 1)]
    header, *body = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rule, *body])
