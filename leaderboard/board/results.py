"""How the kit's own methods do on all test sets, by group: a table for organizers and for the docs.

The kit's own methods in a competition: what `unseen predict` wrote to ``submissions/``.
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
"""Groups of methods that cannot be told apart are listed where there are no more: many overlap."""


@dataclass(frozen=True)
class Methods:
    """The valid files in ``submissions/`` that `unseen predict` wrote.

    Attributes:
        predictions: {method: {id: fraction}}; a method's name is its file's.
        warnings: one printable line for every file that was left out, saying why.
    """

    predictions: dict[str, dict[str, float]]
    warnings: tuple[str, ...]


UNKNOWN = (
    "there is no record that `unseen predict` wrote it as it is; predict the method again to show it, "
    "or take the file away where it is a participant's"
)


def method_files(competition: Competition, part: str = "test") -> list[Path]:
    """The files in ``submissions/``, or in ``validation/`` for "val", valid or not, sorted by name."""
    folder = {"test": "submissions", "val": "validation"}[part]
    return sorted((competition.root / folder).glob("*.csv"))


def baseline_names(competition: Competition) -> dict[str, str]:
    """The names of baselines, predicted or shown already, by what they read like."""
    kept = sorted((competition.private / "shown").glob("*.csv"))
    names = [CONSTANT, *predicted_names(competition), *(path.stem.partition("-")[2] for path in kept)]
    return {plain(name): name for name in names}


def read_methods(competition: Competition, part: str = "test") -> Methods:
    """Every method's predictions for the test sets, or for the validation sets ("val"), sorted by name.

    Left out are files that are not valid or cannot be read, whose name cannot be shown, links into
    ``private/``, and files that `unseen predict` did not write, such as a participant's.
    """
    predictions = {}
    warnings = []
    private = competition.private.resolve()
    for path in method_files(competition, part):
        if not path.name.isprintable():
            warnings.append(f"left out {str(path)!r}: its name cannot be shown; rename it")
            continue
        if Path(os.path.realpath(path)).is_relative_to(private):  # resolve() fails on a loop
            warnings.append(f"left out {path}: it leads into {competition.private}")
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
    """One line of the table, in points; nan where a number is unknown or makes no sense.

    Attributes:
        method: the method's name, or `NOISE`.
        rmse, skill, mae, spearman: over all test sets; skill is against `CONSTANT`.
        groups: the RMSE of every group of test sets.
        together: the groups of methods that it is in, which the paired test over families does not part; none
            where too few rows or families count, or beyond the first `statistics.MOST` methods.
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
    """The lines of the table, best first, the noise floor last.

    Beside them what was left out, and why, and the metric that is predicted, where it is not accuracy.
    """

    rows: tuple[Result, ...]
    warnings: tuple[str, ...]
    quantity: str = ""

    def table(self, markdown: bool = False) -> str:
        """The lines as text aligned for a terminal, or as Markdown; notes below."""
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
        """Returns how many pairs of methods the paired test tells apart, and few groups that it does not."""
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
        competition: the organizer's copy.
        metric: which one's predictions are scored; by default the one that ranks.

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
    """The rows, best first, with the groups of methods that the paired test does not part."""
    families = families_of(competition, solution)
    if len(solution) < FEW or len(families) < FEWEST_FAMILIES or not rows:
        return [*rows]
    truth = np.array([row.prediction for row in solution])
    found = np.array([[predictions[each.method][row.id] for row in solution] for each in rows])
    groups = lines_together(families.sums((100 * (found - truth)) ** 2), BOOTSTRAP(0))
    return [replace(row, together=mine) for row, mine in zip(rows, groups, strict=True)]


def tables(competition: Competition, markdown: bool = False) -> str:
    """The table of every metric that is predicted, as text or as Markdown, the one that ranks first.

    Raises:
        UnusableInput: as :func:`results`.
    """
    return "\n\n".join(results(competition, metric).table(markdown) for metric in competition.metrics)


def _in_order(solution: Sequence[SolutionRow]) -> list[str]:
    """The groups: those that a build makes, from the mildest shift on, then any others by name."""
    found = {row.group for row in solution}
    known = [group for group in GROUPS if group in found]
    return [*known, *sorted(found - set(known))]


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, the first flush left and the others flush right."""
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
