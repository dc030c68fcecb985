"""Who stands where: the submission of each team, ranks, intervals and rank groups."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from leaderboard.feedback import public_score, scores_before_end
from leaderboard.ledger import Entry
from leaderboard.pairs import decided_pairs, paired_rank_groups
from submission.arrays import FloatArray, IntArray
from submission.competition import FEW, Competition
from submission.metrics import FEWEST_FAMILIES, Score, skill
from submission.random import BOOTSTRAP
from submission.scoretable import (
    CONSTANT,
    Families,
    Methods,
    Targets,
    constant_predictions,
    tables_of,
    tables_text,
    validation_targets,
)

MOST = 20
"""Number of the best lines that are compared pair by pair."""
Predictions = Mapping[int, Mapping[str, float]]
"""Predictions of submissions by their number, {id: fraction}."""


@dataclass(frozen=True)
class Standing:
    """One line of a board, in points. The numbers that `standings` returns are rounded as they are published.

    With fewer than `FEW` predictions, MAE, correlations and `further` are nan. While the competition runs
    there are only a rank and an RMSE.
    """

    name: str
    kind: str  # "team"; "baseline", a method of the kit; or "yours", of whoever ran `unseen predict`
    score: Score  # nan if the team got none
    errors: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)  # (n,)
    number: int = 0  # of the submission that counts; 0 for a method
    last_submission: str = ""
    submissions: int = 0
    public: "Standing | None" = None  # after the end, a team's line among the public standings
    further: tuple[float, ...] = ()  # RMSE of the metrics that do not rank, then `Targets.group_scores`
    skill: float = math.nan  # against `CONSTANT`, from the published scores where labels are hidden
    rank: int | None = None
    low: float = math.nan  # ends of the 95 % interval of the RMSE, rounded outwards to one decimal less
    high: float = math.nan
    rank_groups: tuple[int, ...] = ()  # numbers, from 1 on; two lines that share none are told apart
    team_id: str = ""

    @property
    def shake_up(self) -> int | None:
        """The number of ranks that the team rose from the public to this standing; None if unknown."""
        if self.public is None or self.public.rank is None or self.rank is None:
            return None
        return self.public.rank - self.rank


def of_methods(parts: Sequence[Targets], methods: Methods, own: Collection[str] = ()) -> list[Standing]:
    """Returns the methods, `own` not the kit's, by the targets of each metric, the ranking one first."""
    return [
        Standing(
            name,
            "yours" if name in own else "baseline",
            parts[0].score(predicted),
            parts[0].errors(predicted),
            further=_further(parts, predicted),
        )
        for name, predicted in methods.items()
    ]


def _further(parts: Sequence[Targets], predicted: Mapping[str, float]) -> tuple[float, ...]:
    others = [part.score(predicted).rmse for part in parts[1:]]
    return (*others, *parts[0].group_scores(predicted).values())


def while_running(competition: Competition, entries: Iterable[Entry], rows: int) -> list[Standing]:
    """Returns the teams with a valid submission and their best score of `rows` rows; nan if none is given."""
    silent = not scores_before_end(competition, rows)
    found = []
    for made, scored in _by_team(entries):
        best = scored[0] if silent else _best(competition, scored)
        rmse = math.nan if silent else public_score(competition, best.public or 0.0)
        found.append(_team(made, best, Score(rmse, math.nan, math.nan, 0)))
    return found


def in_public(
    competition: Competition, parts: Sequence[Targets], entries: Iterable[Entry], predictions: Predictions
) -> list[Standing]:
    """Returns the teams after the end, each with its best public score and all further numbers."""
    found = []
    for made, scored in _by_team(entries):
        best = _best(competition, scored)
        found.append(_scored(parts, made, best, best.public or 0.0, predictions))
    return found


def in_private(
    competition: Competition,
    parts: Sequence[Targets],
    entries: Iterable[Entry],
    predictions: Predictions,
    before: Sequence[Standing],
) -> list[Standing]:
    """Returns the teams after the end, each with its best final submission; `before` are those in public."""
    found = []
    public = {line.name: line for line in before if line.kind == "team"}
    for made, scored in _by_team(entries):
        finals = [(entry.private or 0.0, entry) for entry in scored if entry.final]
        if finals:
            rmse, best = min(finals, key=lambda pair: (round(pair[0], competition.decimals), pair[1].number))
            line = _scored(parts, made, best, rmse, predictions)
            found.append(replace(line, public=public.get(line.name)))
    return found


def _by_team(entries: Iterable[Entry]) -> list[tuple[list[Entry], list[Entry]]]:
    """Returns all submissions and the valid ones of every team with some, in the order of arrival."""
    teams: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.number):
        teams.setdefault(entry.team_id, []).append(entry)
    pairs = ((made, [entry for entry in made if entry.status == "scored"]) for made in teams.values())
    return [(made, scored) for made, scored in pairs if scored]


def _best(competition: Competition, scored: Iterable[Entry]) -> Entry:
    """Returns the submission of a team with the lowest shown score, the earlier of equals."""
    return min(scored, key=lambda entry: public_score(competition, entry.public or 0.0))


def _team(made: Sequence[Entry], entry: Entry, score: Score) -> Standing:
    return Standing(
        name=made[0].team,
        team_id=made[0].team_id,
        kind="team",
        score=score,
        number=entry.number,
        last_submission=f"{made[-1].time:%Y-%m-%d %H:%M:%S}",
        submissions=len(made),
    )


def _scored(
    parts: Sequence[Targets], made: Sequence[Entry], entry: Entry, rmse: float, predictions: Predictions
) -> Standing:
    """Returns a team with one of its submissions and the RMSE that the ledger recorded."""
    predicted = predictions[entry.number]
    line = _team(made, entry, replace(parts[0].score(predicted), rmse=rmse))
    return replace(line, errors=parts[0].errors(predicted), further=_further(parts, predicted))


def standings(
    lines: Sequence[Standing], families: Families | None, decimals: int, exact: bool = False
) -> tuple[Standing, ...]:
    """Returns the lines of a board: ranked teams, then unranked methods, the best of each first.

    In a tie of displayed RMSEs the earlier submission comes first. Teams are compared with teams, methods
    with methods. There are no intervals and tests without `families`, or with too few (`_enough`). Skill is
    that of displayed RMSEs, or, where the labels are public (`exact`), of exact ones.
    """

    def order(line: Standing) -> tuple[bool, float, int]:  # missing scores come last
        rmse = np.nan_to_num(round(line.score.rmse, decimals), nan=np.inf)
        return line.kind != "team", rmse, line.number

    placed = sorted(lines, key=order)
    scores = [line.score if exact else line.score.rounded(decimals) for line in placed]
    constants = [score.rmse for score, line in zip(scores, placed, strict=True) if line.name == CONSTANT]
    constant = constants[0] if constants and families is not None else math.nan
    skills = [skill(score.rmse, constant) for score in scores]
    ranked = _ranked([_rounded(*pair, decimals) for pair in zip(placed, skills, strict=True)], decimals)
    if families is None or not _enough(lines, families):
        return ranked
    compared = ([line for line in ranked if (line.kind == "team") == teams] for teams in (True, False))
    return tuple(line for each in compared if each for line in _with_uncertainty(each, families, decimals))


def _enough(lines: Sequence[Standing], families: Families) -> bool:
    return bool(lines) and len(families.codes) >= FEW and len(families) >= FEWEST_FAMILIES


def _rounded(line: Standing, skill: float, decimals: int) -> Standing:
    score = line.score.rounded(decimals)
    few = line.score.n < FEW
    return replace(
        line,
        score=Score(score.rmse, math.nan, math.nan, score.n) if few else score,
        skill=skill,
        further=tuple(math.nan if few else round(rmse, decimals) for rmse in line.further),
    )


def _ranked(lines: Sequence[Standing], decimals: int) -> tuple[Standing, ...]:
    teams = [line.kind == "team" and not math.isnan(line.score.rmse) for line in lines]
    scores = np.array([line.score.rmse for line, team in zip(lines, teams, strict=True) if team])
    ranks = iter(competition_ranks(scores, decimals).tolist())
    return tuple(
        replace(line, rank=next(ranks)) if team else line for line, team in zip(lines, teams, strict=True)
    )


def _with_uncertainty(lines: Sequence[Standing], families: Families, decimals: int) -> tuple[Standing, ...]:
    """Returns the lines with intervals and tests, rounded coarsely, since they tell of labels."""
    errors = np.stack([line.errors for line in lines])
    step = 10.0 ** (1 - decimals)
    low, high = families.interval(errors)
    groups = rank_groups(lines, families)
    return tuple(
        replace(
            line,
            low=float(np.floor(low[place] / step) * step),
            high=float(np.ceil(high[place] / step) * step),
            rank_groups=groups[place],
        )
        for place, line in enumerate(lines)
    )


def competition_ranks(rmse: FloatArray, decimals: int) -> IntArray:
    """Ranks "1, 2, 2, 4" of displayed scores (t,).

    >>> competition_ranks(np.array([4.004, 2.0, 9.0, 3.996]), 2).tolist()
    [2, 1, 4, 2]
    """
    shown = np.rint(rmse * 10.0**decimals)
    return 1 + np.searchsorted(np.sort(shown), shown)


def rank_groups(lines: Sequence[Standing], families: Families) -> list[tuple[int, ...]]:
    """Returns the rank groups of lines, best first, as in `Standing`: those beyond `MOST` have none."""
    if not _enough(lines, families):
        return [()] * len(lines)
    squares = np.stack([line.errors for line in lines[:MOST]]) ** 2
    return [*paired_rank_groups(squares, families, BOOTSTRAP(0)), *[()] * (len(lines) - MOST)]


def told_apart(targets: Targets, methods: Methods) -> str:
    """Returns sentences about the pairs of methods that are told apart, and those not from the first."""
    lines = sorted(of_methods([targets], methods), key=lambda line: line.score.rmse)
    groups = rank_groups(lines, targets.families)
    if not any(groups):
        return f"No pair of methods is told apart: that needs {FEW} sets of {FEWEST_FAMILIES} families."
    (first, mine), *others = zip(lines, groups, strict=True)
    alike = [line.name for line, theirs in others if not set(mine).isdisjoint(theirs)]
    named = f" Not told apart from {first.name}: {', '.join(alike)}." if alike else ""
    return f"{decided_pairs(groups)}{named}".strip()


def validation_report(competition: Competition, methods: Methods) -> str:
    """Returns a table for each metric of the validation sets, `CONSTANT` too, and who is told apart."""
    methods = {CONSTANT: constant_predictions(competition, "val"), **methods}
    targets = validation_targets(competition)
    groups = {group for part in targets.values() for group in part.groups}
    tables = tables_text(tables_of(competition, targets, methods), groups)
    apart = "\n".join(told_apart(part, methods) for part in targets.values())
    return f"{tables}\n{apart}".rstrip()
