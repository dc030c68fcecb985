"""Who stands where on a part of the test sets, as it is published: rounded, with intervals; and as CSV.

One module, since the columns of the CSV and the fields of a line follow one another.
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
"""The baseline that skill is measured against: the meta-train mean for every set."""
FEW = 10
"""With fewer predictions RMSE alone is published, and before the end no baseline's: they tell labels."""
P_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0)
"""A p-value is published as the least of these that it does not exceed."""


@dataclass(frozen=True)
class Contender:
    """A team with the submission that stands for it, or a baseline, before anything is rounded.

    Attributes:
        name, kind: as in `Standing`.
        score: at full precision.
        errors: (n,) on the scored rows, in points; nan where they are not known, none where none count.
        number: of the submission; 0 for a baseline.
        last_submission, submissions, history: as in `Standing`.
        public: after the end, the team's line among the public standings.
        further: the RMSE of each metric that does not rank, at full precision.
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
        name: the team's or the baseline's name.
        kind: "team" or "baseline".
        score: in points; nan where none was told. MAE and Spearman are nan with fewer than `FEW` predictions,
            and while the competition runs.
        skill: against `CONSTANT`, from the published scores; nan where there is no such baseline.
        rank: 1, 2, 2, 4, ...; None for a baseline, and for a team that was told no score.
        last_submission: UTC, "YYYY-MM-DD hh:mm:ss"; empty for a baseline.
        submissions: how many the team made, invalid ones among them; 0 for a baseline.
        low, high: the 95 % interval of the RMSE in points, widened to one decimal less; nan where unknown.
        best, worst: the 95 % interval of the rank; None where unknown.
        first: P(rank 1), to one decimal; nan where unknown.
        above: the p-value against the line above, rounded up to one of `P_BOUNDS`; nan where unknown.
        groups: the numbers of the groups that it is in: two lines share one where the paired test does not
            part them (`statistics.Uncertainty`); none where that is unknown.
        history: when the team's displayed score fell, and to what; the score before the first.
        public: after the end, the line among the public standings; None before, and for baselines.
        further: the RMSE of each metric that does not rank, in points; nan with fewer than `FEW` predictions.
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
        """How many ranks the team rose from the public to this standing; None where there are not both."""
        if self.public is None or self.public.rank is None or self.rank is None:
            return None
        return self.public.rank - self.rank


@dataclass(frozen=True)
class Board:
    """A leaderboard.

    Attributes:
        part: "public", "private" or "validation", the sets that it scores.
        standings: its lines, best first.
        noise_floor: of these sets, in points, rounded; nan where it is not told.
        further: titles of the metrics that do not rank.
        detailed: whether there is more than rank, name, score and number of submissions.
    """

    part: str
    standings: tuple[Standing, ...]
    noise_floor: float = math.nan
    further: tuple[str, ...] = ()
    detailed: bool = True

    @property
    def decided(self) -> str:
        """How many pairs of lines the paired test tells apart: see `shown_pairs`."""
        return shown_pairs([line.groups for line in self.standings])


def standings(
    contenders: Sequence[Contender], families: Families | None, decimals: int
) -> tuple[Standing, ...]:
    """The leaderboard, best first: teams, and baselines, pinned and unranked.

    Teams have competition ranks ("1, 2, 2, 4") by the RMSE as displayed, so that order and display agree;
    inside a tie the earlier submission stands first, below a baseline of the same score. Intervals and tests
    are left out with fewer than `FEW` rows or too few families.

    Args:
        contenders: in any order.
        families: of the scored rows; None for ranks and scores alone.
        decimals: of published scores.
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
    """What scores are sorted by: as displayed, and none last."""
    return math.isnan(rmse), 0.0 if math.isnan(rmse) else round(rmse, decimals)


def published(score: Score, decimals: int) -> Score:
    """What of a score is published: rounded, and with fewer than `FEW` predictions RMSE alone.

    >>> published(Score(rmse=4.9849, mae=3.14159, spearman=0.77777, n=3), 2)
    Score(rmse=4.98, mae=nan, spearman=nan, n=3)
    """
    score = score.rounded(decimals)
    return score if score.n >= FEW else replace(score, mae=math.nan, spearman=math.nan)


def leaderboard_csv(board: Board, decimals: int) -> str:
    """The text of ``leaderboard.csv``: Kaggle's columns, and the kind of line; unknown numbers are empty.

    A detailed one has ours, that of ``leaderboard_private.csv`` the public score, its rank and the shake-up
    behind. Last come the scores of the metrics that do not rank.
    Names that a spreadsheet would take for a formula get a ``'`` in front.
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
    """A number as it is published; empty for nan.

    >>> shown(4.987, 2), shown(float("nan"), 2)
    ('4.99', '')
    """
    return "" if math.isnan(value) else f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"  # no "-0.00"


def shown_ratio(value: float, decimals: int) -> str:
    """Spearman's correlation or a skill, to two decimals at least: one tells little between 0 and 1.

    >>> shown_ratio(0.876, 1)
    '0.88'
    """
    return shown(value, max(decimals, 2))


def shown_count(value: int | None) -> str:
    """A count; empty for None."""
    return "" if value is None else str(value)


def shown_shake_up(line: Standing) -> str:
    """How many ranks a team rose (+) or fell (-); empty where that is unknown."""
    return "" if line.shake_up is None else f"{line.shake_up:+d}".replace("+0", "0")


def shown_interval(line: Standing, decimals: int) -> str:
    """The interval of the RMSE, "4.8–5.3"; empty where it is unknown."""
    if math.isnan(line.low):
        return ""
    return f"{shown(line.low, decimals - 1)}–{shown(line.high, decimals - 1)}"


def shown_share(share: float) -> str:
    """A probability in tens of percent, such as "30 %"; empty for nan."""
    return "" if math.isnan(share) else f"{100 * share:.0f} %"


def shown_p(value: float) -> str:
    """A p-value by its bound.

    >>> shown_p(0.05), shown_p(1.0), shown_p(float("nan"))
    ('≤ 0.05', '> 0.5', '')
    """
    if math.isnan(value):
        return ""
    return f"> {P_BOUNDS[-2]:g}" if value == P_BOUNDS[-1] else f"≤ {value:g}"


def shown_groups(groups: Sequence[int]) -> str:
    """The groups of lines that are not told apart, "1 2"; empty where that is unknown."""
    return " ".join(map(str, groups))


def shown_pairs(groups: Iterable[Sequence[int]]) -> str:
    """How many pairs of lines with these groups are told apart, as a sentence; empty where none was compared.

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
    """The line with what is known of it, coarser than its score: each further number helps to probe."""
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
    """The score; that of a baseline to one decimal at most where nothing else is said of it."""
    return shown(line.score.rmse, decimals if detailed or line.kind == "team" else min(decimals, 1))


def _cells(line: Standing, decimals: int, detailed: bool) -> list[object]:
    team = line.kind == "team"
    return [
        shown_count(line.rank),
        team_id(line.name) if team else "",
        _harmless(line.name),
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
    """What the public leaderboard said."""
    if line.public is None:
        return ["", "", ""]
    return [
        shown(line.public.score.rmse, decimals),
        shown_count(line.public.rank),
        shown_count(line.shake_up),
    ]


def _harmless(text: str) -> str:
    """`text` such that a spreadsheet does not run it: one line, no formula."""
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return f"'{line}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else line
