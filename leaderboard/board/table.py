"""The lines of a leaderboard as they are published: ranked, rounded and with intervals; and as CSV.

The module is long because it has the columns of the CSV together with the fields of a line.
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from leaderboard.board.statistics import Families, Uncertainty, uncertainty
from leaderboard.ledger.teams import team_id
from submission.arrays import FloatArray
from submission.metrics import Score, skill
from submission.page import harmless

COLUMNS = (
    *("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount"),  # Kaggle's
    "Kind",
)
DETAILS = (
    *("MAE", "Spearman", "Skill", "NoiseFloor"),
    *("ScoreLow", "ScoreHigh", "RankLow", "RankHigh", "FirstShare", "AboveP", "Groups"),
)
BEFORE = ("PublicScore", "PublicRank", "ShakeUp")
CONSTANT = "constant"
"""Name of the baseline against which skill is measured: the mean of the meta-train sets for every set."""
FEW = 10
"""Smallest number of predictions for publishing more than RMSE, and for showing baselines before the end."""
P_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0)
"""Bounds of p-values; a p-value is published as the smallest of these that it does not exceed."""


@dataclass(frozen=True)
class Contender:
    """A team with the submission that represents it, or a baseline, before rounding.

    Attributes:
        name, kind: As in `Standing`.
        score: Score at full precision.
        errors: Errors on the scored rows (n,), in points; nan if unknown, empty if only the score is used.
        number: Number of the submission; 0 for a baseline.
        last_submission, submissions, history: As in `Standing`.
        public: After the end, the team's line among the public standings.
        further: RMSE of each metric that does not rank, at full precision.
    """

    name: str
    kind: str
    score: Score
    errors: FloatArray = field(default_factory=lambda: np.zeros(0))
    number: int = 0
    last_submission: str = ""
    submissions: int = 0
    history: tuple[tuple[str, float], ...] = ()
    public: "Standing | None" = None
    further: tuple[float, ...] = ()


@dataclass(frozen=True)
class Standing:
    """One line of a leaderboard. All numbers are rounded as they are published.

    Attributes:
        name: Name of the team or the baseline.
        kind: "team" or "baseline".
        score: Score in points; nan if the team got no score. MAE and Spearman are nan with fewer than `FEW`
            predictions, and while the competition runs.
        skill: Skill against `CONSTANT`, from the published scores; nan if there is no such baseline.
        rank: Rank 1, 2, 2, 4, ...; None for a baseline, and for a team without a score.
        last_submission: Time in UTC, "YYYY-MM-DD hh:mm:ss"; "" for a baseline.
        submissions: Number of the team's submissions, invalid ones included; 0 for a baseline.
        low, high: Ends of the 95 % interval of the RMSE in points, rounded outwards to one decimal less; nan
            if unknown.
        best, worst: Ends of the 95 % interval of the rank; None if unknown.
        first: P(rank 1), to one decimal; nan if unknown.
        above: p-value against the line above, rounded up to one of `P_BOUNDS`; nan if unknown.
        groups: Numbers of the groups of lines that the paired test does not tell apart
            (`statistics.Uncertainty`); empty if unknown.
        history: Times at which the team's displayed score improved, with the new score; the first score
            included.
        public: After the end, the line among the public standings; None before, and for baselines.
        further: RMSE of each metric that does not rank, in points; nan with fewer than `FEW` predictions.
    """

    name: str
    kind: str
    score: Score
    skill: float
    rank: int | None = None
    last_submission: str = ""
    submissions: int = 0
    low: float = math.nan
    high: float = math.nan
    best: int | None = None
    worst: int | None = None
    first: float = math.nan
    above: float = math.nan
    groups: tuple[int, ...] = ()
    history: tuple[tuple[str, float], ...] = ()
    public: "Standing | None" = None
    further: tuple[float, ...] = ()

    @property
    def shake_up(self) -> int | None:
        """The number of ranks that the team rose from the public to this standing; None if unknown."""
        if self.public is None or self.public.rank is None or self.rank is None:
            return None
        return self.public.rank - self.rank


@dataclass(frozen=True)
class Board:
    """A leaderboard.

    Attributes:
        part: "public", "private" or "validation", the sets that it scores.
        standings: Lines, best first.
        noise_floor: Noise floor of these sets in points, rounded; nan if it is not published.
        further: Titles of the metrics that do not rank.
        detailed: True if it shows more than rank, name, score and number of submissions.
    """

    part: str
    standings: tuple[Standing, ...]
    noise_floor: float = math.nan
    further: tuple[str, ...] = ()
    detailed: bool = True

    @property
    def decided(self) -> str:
        """A sentence about the pairs of lines that the paired test tells apart: see `shown_pairs`."""
        return shown_pairs([line.groups for line in self.standings])


def standings(
    contenders: Sequence[Contender], families: Families | None, decimals: int
) -> tuple[Standing, ...]:
    """Returns the lines of the leaderboard, best first: ranked teams, and unranked baselines.

    Teams have competition ranks ("1, 2, 2, 4") by the displayed RMSE, so that order and display agree. In a
    tie the earlier submission comes first, below a baseline with the same score. Intervals and tests are left
    out with fewer than `FEW` rows or too few families.

    Args:
        contenders: Teams and baselines, in any order.
        families: Families of the scored rows; None for ranks and scores only.
        decimals: Number of decimals of published scores.
    """
    placed = sorted(contenders, key=lambda each: (*_place(each.score.rmse, decimals), each.number))
    if families is None:
        return _ranked([replace(_line(each, math.nan, decimals), further=()) for each in placed])
    found = [each.score for each in contenders if each.kind == "baseline" and each.name == CONSTANT]
    constant = published(found[0], decimals).rmse if found else math.nan
    lines = [_line(each, constant, decimals) for each in placed]
    if len(families.codes) >= FEW and lines:
        squared = np.stack([each.errors for each in placed]) ** 2
        ranked = np.array([line.kind == "team" for line in lines])
        known = uncertainty(squared, families, ranked, decimals)
        if known is not None:
            lines = [_uncertain(line, known, place, decimals) for place, line in enumerate(lines)]
    return _ranked(lines)


def _place(rmse: float, decimals: int) -> tuple[bool, float]:
    """Returns the sort key of a score: the displayed value; missing scores come last."""
    return math.isnan(rmse), 0.0 if math.isnan(rmse) else round(rmse, decimals)


def published(score: Score, decimals: int) -> Score:
    """Returns the score as it is published: rounded, and with fewer than `FEW` predictions only the RMSE.

    >>> published(Score(rmse=4.9849, mae=3.14159, spearman=0.77777, n=3), 2)
    Score(rmse=4.98, mae=nan, spearman=nan, n=3)
    """
    score = score.rounded(decimals)
    return score if score.n >= FEW else replace(score, mae=math.nan, spearman=math.nan)


def leaderboard_csv(board: Board, decimals: int) -> str:
    """Returns the text of ``leaderboard.csv``: Kaggle's columns and the kind of line; unknown numbers are "".

    A detailed board has the kit's own columns too. ``leaderboard_private.csv`` also has the public score, its
    rank and the shake-up. The scores of the metrics that do not rank come last. Names that a spreadsheet
    would read as a formula get a ``'`` in front.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    private = board.part == "private"
    further = [f"Score {title}" for title in board.further]
    header = [*COLUMNS, *(DETAILS if board.detailed else ()), *(BEFORE if private else ())]
    writer.writerow([*header, *further])
    for line in board.standings:
        cells = _cells(line, decimals, board.detailed)
        details = _details(line, board.noise_floor, decimals) if board.detailed else []
        before = _before(line, decimals) if private else []
        writer.writerow([*cells, *details, *before, *(shown(value, decimals) for value in line.further)])
    return stream.getvalue()


def shown(value: float, decimals: int) -> str:
    """Returns a number as it is published; "" for nan.

    >>> shown(4.987, 2), shown(float("nan"), 2)
    ('4.99', '')
    """
    return "" if math.isnan(value) else f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"  # no "-0.00"


def shown_ratio(value: float, decimals: int) -> str:
    """Returns Spearman's correlation or a skill as text, with at least two decimals.

    >>> shown_ratio(0.876, 1)
    '0.88'
    """
    return shown(value, max(decimals, 2))


def shown_count(value: int | None) -> str:
    """Returns a count as text; "" for None."""
    return "" if value is None else str(value)


def shown_shake_up(line: Standing) -> str:
    """Returns the number of ranks that a team rose (+) or fell (-) as text; "" if unknown."""
    return "" if line.shake_up is None else f"{line.shake_up:+d}".replace("+0", "0")


def shown_interval(line: Standing, decimals: int) -> str:
    """Returns the interval of the RMSE as text, such as "4.8–5.3"; "" if unknown."""
    if math.isnan(line.low):
        return ""
    return f"{shown(line.low, decimals - 1)}–{shown(line.high, decimals - 1)}"


def shown_share(share: float) -> str:
    """Returns a probability in percent as text, such as "30 %"; "" for nan."""
    return "" if math.isnan(share) else f"{100 * share:.0f} %"


def shown_p(value: float) -> str:
    """Returns a p-value as text, by its bound.

    >>> shown_p(0.05), shown_p(1.0), shown_p(float("nan"))
    ('≤ 0.05', '> 0.5', '')
    """
    if math.isnan(value):
        return ""
    return f"> {P_BOUNDS[-2]:g}" if value == P_BOUNDS[-1] else f"≤ {value:g}"


def shown_groups(groups: Sequence[int]) -> str:
    """Returns the numbers of groups as text, such as "1 2"; "" if there are none."""
    return " ".join(map(str, groups))


def shown_pairs(groups: Iterable[Sequence[int]]) -> str:
    """Returns a sentence about the pairs of lines that are told apart; "" if no pair was compared.

    >>> shown_pairs([(1,), (1, 2), (2,), ()])
    'The paired test tells 1 of 3 pairs of lines (33 %) apart, at .05 over all pairs (Holm).'
    """
    apart = [set(one).isdisjoint(other) for one, other in combinations(filter(None, groups), 2)]
    if not apart:
        return ""
    share = f"{sum(apart)} of {len(apart)} pairs of lines ({100 * sum(apart) / len(apart):.0f} %)"
    return f"The paired test tells {share} apart, at .05 over all pairs (Holm)."


def _line(each: Contender, constant: float, decimals: int) -> Standing:
    score = published(each.score, decimals)
    return Standing(
        name=each.name,
        kind=each.kind,
        score=score,
        skill=skill(score.rmse, constant),
        last_submission=each.last_submission,
        submissions=each.submissions,
        history=each.history,
        public=each.public,
        further=tuple(round(value, decimals) if score.n >= FEW else math.nan for value in each.further),
    )


def _uncertain(line: Standing, found: Uncertainty, place: int, decimals: int) -> Standing:
    """Returns the line with its uncertainty, rounded coarsely, since numbers help to probe for labels."""
    ranked, above = bool(found.best[place]), float(found.above[place])
    step = 10.0 ** (1 - decimals)
    return replace(
        line,
        low=float(np.floor(found.low[place] / step) * step),
        high=float(np.ceil(found.high[place] / step) * step),
        best=int(found.best[place]) if ranked else None,
        worst=int(found.worst[place]) if ranked else None,
        first=round(float(found.first[place]), 1) if ranked else math.nan,
        above=next((bound for bound in P_BOUNDS if above <= bound), math.nan),
        groups=found.groups[place],
    )


def _ranked(lines: Sequence[Standing]) -> tuple[Standing, ...]:
    ranked: list[Standing] = []
    teams: list[Standing] = []
    for line in lines:
        if line.kind == "team" and not math.isnan(line.score.rmse):
            tied = teams and teams[-1].score.rmse == line.score.rmse
            line = replace(line, rank=teams[-1].rank if tied else len(teams) + 1)
            teams.append(line)
        ranked.append(line)
    return tuple(ranked)


def shown_score(line: Standing, decimals: int, detailed: bool) -> str:
    """Returns the score as text; on a board without details, a baseline's has at most one decimal."""
    return shown(line.score.rmse, decimals if detailed or line.kind == "team" else min(decimals, 1))


def _cells(line: Standing, decimals: int, detailed: bool) -> list[object]:
    team = line.kind == "team"
    return [
        shown_count(line.rank),
        team_id(line.name) if team else "",
        harmless(line.name),
        line.last_submission,
        shown_score(line, decimals, detailed),
        line.submissions if team else "",
        line.kind,
    ]


def _details(line: Standing, noise_floor: float, decimals: int) -> list[str]:
    return [
        shown(line.score.mae, decimals),
        *(shown_ratio(value, decimals) for value in (line.score.spearman, line.skill)),
        shown(noise_floor, decimals),
        *(shown(x, decimals - 1) for x in (line.low, line.high)),
        *(shown_count(x) for x in (line.best, line.worst)),
        shown(line.first, 1),
        shown(line.above, 2),
        shown_groups(line.groups),
    ]


def _before(line: Standing, decimals: int) -> list[str]:
    """Returns the cells about the public leaderboard: score, rank and shake-up."""
    if line.public is None:
        return ["", "", ""]
    return [
        shown(line.public.score.rmse, decimals),
        shown_count(line.public.rank),
        shown_count(line.shake_up),
    ]
